"""Set the defaults of a schema.

Promises: `apply_defaults` sets missing properties that have a default, also inside other
defaults, list items and map values. A null where null is not allowed is replaced by the default.
`drop_nulls` removes those that have none from objects.

Does not promise: a valid result. Validate it afterwards.

Upstream changes the object in place. Here the input stays, and the result shares its unchanged
parts.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.json_values import copy_json
from clientgo.testcluster.schema.json_schema import JSONSchema


def apply_defaults(value: Any, schema: JSONSchema) -> Any:
    """Return `value` with the defaults of `schema` filled in."""
    if isinstance(value, dict):
        return _default_object(value, schema)
    if isinstance(value, list):
        return _default_list(value, schema)
    return value


def _default_object(value: dict[str, Any], schema: JSONSchema) -> dict[str, Any]:
    result = value
    for name, member in value.items():
        member_schema = schema.member_schema(name)
        if member_schema is None:
            continue
        new = _default_null(member, member_schema)
        new = apply_defaults(new, member_schema)
        if new is not member:
            result = dict(value) if result is value else result
            result[name] = new
    for name, member_schema in schema.properties.items():
        if member_schema.default is not None and name not in result:
            result = dict(value) if result is value else result
            result[name] = apply_defaults(copy_json(member_schema.default), member_schema)
    return result


def _default_list(value: list[Any], schema: JSONSchema) -> list[Any]:
    item_schema = schema.item_schema
    if item_schema is None:
        return value
    items = [apply_defaults(_default_null(item, item_schema), item_schema) for item in value]
    unchanged = all(new is old for new, old in zip(items, value, strict=True))
    return value if unchanged else items


def _default_null(value: Any, schema: JSONSchema) -> Any:
    """Return the default in place of a null that the schema does not allow."""
    if value is None and not schema.nullable and schema.default is not None:
        return copy_json(schema.default)
    return value


def drop_nulls(value: Any, schema: JSONSchema) -> Any:
    """Return `value` without the members that are null, may not be, and have no default."""
    if isinstance(value, list) and schema.item_schema is not None:
        items = [drop_nulls(item, schema.item_schema) for item in value]
        unchanged = all(new is old for new, old in zip(items, value, strict=True))
        return value if unchanged else items
    if not isinstance(value, dict):
        return value
    result = value
    for name, member in value.items():
        member_schema = schema.member_schema(name)
        if member_schema is None:
            continue
        dropped = member is None and not member_schema.nullable and member_schema.default is None
        new = member if dropped else drop_nulls(member, member_schema)
        if dropped or new is not member:
            result = dict(value) if result is value else result
            if dropped:
                del result[name]
            else:
                result[name] = new
    return result
