"""Remove the fields that a schema does not specify.

Promises: `prune` returns the value without unknown fields, and their paths in order.
``x-kubernetes-preserve-unknown-fields`` keeps unknown fields at its level only. The identity and
metadata of a resource stay, also of an embedded one.

Does not promise: pruning inside metadata.

Upstream changes the object in place. Here the input stays, and the result shares its unchanged
parts.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.validation import field_path
from clientgo.testcluster.schema.json_schema import JSONSchema

RESOURCE_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
"""The fields of a resource whose types the server knows."""


def prune(value: Any, schema: JSONSchema, *, is_resource: bool = True) -> tuple[Any, list[str]]:
    """Return `value` without the fields that `schema` does not specify, and their sorted paths.

    With `is_resource` the value is a whole object, whose metadata is left alone.
    """
    dropped: list[str] = []
    keep_meta = is_resource or schema.embedded_resource
    pruned = _prune(value, schema, field_path.ROOT, dropped, keep_meta)
    return pruned, sorted(dropped)


def _prune(
    value: Any, schema: JSONSchema | None, path: str, dropped: list[str], keep_meta: bool
) -> Any:
    if isinstance(value, dict):
        return _prune_object(value, schema, path, dropped, keep_meta)
    if isinstance(value, list):
        return _prune_list(value, schema, path, dropped)
    return value


def _prune_object(
    value: dict[str, Any],
    schema: JSONSchema | None,
    path: str,
    dropped: list[str],
    keep_meta: bool,
) -> dict[str, Any]:
    result = value
    for name, member in value.items():
        if keep_meta and name in RESOURCE_FIELDS:
            continue
        member_path = field_path.child(path, name)
        if schema is not None and schema.specifies(name):
            member_schema = schema.member_schema(name)
            kept = _prune(member, member_schema, member_path, dropped, _is_embedded(member_schema))
            if kept is not member:
                result = dict(value) if result is value else result
                result[name] = kept
        elif schema is None or not schema.preserve_unknown_fields:
            dropped.append(member_path)
            result = dict(value) if result is value else result
            del result[name]
    return result


def _prune_list(
    value: list[Any], schema: JSONSchema | None, path: str, dropped: list[str]
) -> list[Any]:
    item_schema = schema.item_schema if schema is not None else None
    if item_schema is None and schema is not None and schema.preserve_unknown_fields:
        return value
    embedded = _is_embedded(item_schema)
    items = [
        _prune(item, item_schema, field_path.index(path, position), dropped, embedded)
        for position, item in enumerate(value)
    ]
    unchanged = all(new is old for new, old in zip(items, value, strict=True))
    return value if unchanged else items


def _is_embedded(schema: JSONSchema | None) -> bool:
    return schema is not None and schema.embedded_resource
