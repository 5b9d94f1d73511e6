"""Resources inside resources (``x-kubernetes-embedded-resource``).

Promises: a cause for an embedded resource with a wrong apiVersion or kind, or with metadata that
is no object.

Does not promise: checks of its labels and names. The caller finds the resources with
`embedded_resources`.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.schema.json_schema import JSONSchema

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def validate_embedded_resources(value: Any, schema: JSONSchema, path: str = "") -> list[FieldError]:
    """Return what is wrong with the identity of the resources embedded anywhere in `value`."""
    errors: list[FieldError] = []
    for where, resource in embedded_resources(value, schema, path):
        _check_identity(resource, where, errors)
    return errors


def embedded_resources(
    value: Any, schema: JSONSchema, path: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and content of each resource embedded anywhere in `value`."""
    if isinstance(value, dict):
        if schema.embedded_resource:
            yield path, value
        for name, member in value.items():
            if not isinstance(member, dict | list):
                continue
            if name in schema.properties:
                member_path = field_path.child(path, name)
                yield from embedded_resources(member, schema.properties[name], member_path)
            elif schema.value_schema is not None:
                member_path = field_path.key(path, name)
                yield from embedded_resources(member, schema.value_schema, member_path)
    elif isinstance(value, list) and schema.item_schema is not None:
        for position, item in enumerate(value):
            yield from embedded_resources(
                item, schema.item_schema, field_path.index(path, position)
            )


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
