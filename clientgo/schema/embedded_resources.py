"""Resources inside resources (``x-kubernetes-embedded-resource``): their identity.

Promises: an embedded resource without a proper apiVersion or kind, or whose metadata is not an
object, is reported.

Does not promise: validation of the embedded metadata's labels, names and so on.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta``.
"""

from __future__ import annotations

import re
from typing import Any

from . import field_path
from .field_errors import FieldError
from .json_schema import JSONSchema

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def validate_embedded_resources(value: Any, schema: JSONSchema, path: str = "") -> list[FieldError]:
    """Return what is wrong with the identity of the resources embedded anywhere in `value`."""
    errors: list[FieldError] = []
    _walk(value, schema, path, errors)
    return errors


def _walk(value: Any, schema: JSONSchema, path: str, errors: list[FieldError]) -> None:
    if isinstance(value, dict):
        if schema.embedded_resource:
            _check_identity(value, path, errors)
        for name, member in value.items():
            if not isinstance(member, dict | list):
                continue
            if name in schema.properties:
                _walk(member, schema.properties[name], field_path.child(path, name), errors)
            elif schema.value_schema is not None:
                _walk(member, schema.value_schema, field_path.key(path, name), errors)
    elif isinstance(value, list) and schema.item_schema is not None:
        for position, item in enumerate(value):
            _walk(item, schema.item_schema, field_path.index(path, position), errors)


def _check_identity(value: dict[str, Any], path: str, errors: list[FieldError]) -> None:
    for name in ("apiVersion", "kind"):
        where = field_path.child(path, name)
        text = value.get(name)
        if name not in value:
            errors.append(FieldError.required(where))
        elif not isinstance(text, str):
            errors.append(FieldError.invalid(where, text, "must be a string"))
        elif not text:
            errors.append(FieldError.invalid(where, text, "must not be empty"))
        elif name == "apiVersion" and text.count("/") > 1:
            detail = f"unexpected GroupVersion string: {text}"
            errors.append(FieldError.invalid(where, text, detail))
        elif name == "kind" and (len(text) > 63 or not _KIND.fullmatch(text.lower())):
            detail = "may have mixed case, but should otherwise match: a DNS-1035 label"
            errors.append(FieldError.invalid(where, text, detail))
    if not isinstance(value.get("metadata", {}), dict):
        where = field_path.child(path, "metadata")
        errors.append(FieldError.invalid(where, value["metadata"], "must be an object"))
