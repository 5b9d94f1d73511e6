"""The annotation in which client-side `kubectl apply` keeps what it applied.

Objects that older kubectls applied can be applied on the server without conflicts, and the
annotation is kept up to date for them. All of this is for the manager `kubectl` alone. Source:
`internal/lastapplied*.go` in k8s.io/apimachinery/pkg/util/managedfields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clientgo.meta.json_values import JSONObject, canonical_json
from clientgo.testcluster.fields.managed_fields.compare import compare_values
from clientgo.testcluster.fields.managed_fields.fields.field_set import EMPTY, FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType
from clientgo.testcluster.fields.managed_fields.fields.typed_values import (
    TypedValueError,
    check_value,
    fields_of,
)

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_MAX_ANNOTATIONS_BYTES = 256 * 1024  # what the API allows an object's annotations in all


def has_last_applied(obj: JSONObject) -> bool:
    """Tell whether client-side apply has been used on the object."""
    return bool(_annotations(obj).get(LAST_APPLIED))


def with_last_applied(obj: JSONObject, config: JSONObject) -> JSONObject:
    """Return `obj` with `config` written down as what was applied, if it is not too long."""
    annotations = dict(_annotations(obj))
    annotations.pop(LAST_APPLIED, None)
    text = _encoded(config)
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    if size + len(LAST_APPLIED) + len(text.encode()) <= _MAX_ANNOTATIONS_BYTES:
        annotations[LAST_APPLIED] = text
    return obj | {"metadata": obj["metadata"] | {"annotations": annotations}}


def allowed_conflicts(live: JSONObject, api_version: str, field_type: FieldType) -> FieldSet:
    """Return the fields that client-side apply has set and that no manager has changed since.

    Empty if there is no annotation, or one that can't be read or is of another version.
    """
    try:
        last_applied = json.loads(_annotations(live).get(LAST_APPLIED, ""))
        check_value(last_applied, field_type)
        check_value(live, field_type)
    except (TypedValueError, ValueError, RecursionError):
        return EMPTY
    if not isinstance(last_applied, dict) or last_applied.get("apiVersion") != api_version:
        return EMPTY
    changed = compare_values(last_applied, live, field_type)
    applied = fields_of(last_applied, field_type)
    return applied - changed.modified - changed.added - changed.removed


def _encoded(config: JSONObject) -> str:
    metadata = config.get("metadata", {})
    if LAST_APPLIED in (metadata.get("annotations") or {}):
        annotations = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
        config = config | {"metadata": metadata | {"annotations": annotations}}
    return canonical_json(config) + "\n"


def _annotations(obj: JSONObject) -> Mapping[str, Any]:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
