"""The greatest sizes of values, from a schema.

Promises: `bounds_of` returns the greatest number of items, entries or bytes of every value that
an expression can use, from the limits of the schema or the size of a request.

Follows ``SchemaDeclType`` of ``k8s.io/apiserver/pkg/cel/common``.
"""

from __future__ import annotations

from clientgo.testcluster.cel.bounds import MAX_REQUEST, Bounds, Kind
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.rules.schema_types import escape, with_names

_BYTES_A_CHARACTER = 4
_LARGEST = MAX_REQUEST - 2  # within quotes or brackets


_TEXT_FORMATS = {
    "duration": Bounds(Kind.OTHER, size=32, smallest=3),
    "date": Bounds(Kind.OTHER, size=12, smallest=12),
    "date-time": Bounds(Kind.OTHER, size=32, smallest=21),
}


def bounds_of(schema: JSONSchema, *, is_resource: bool = False) -> Bounds | None:
    """Return the bounds for a schema, or None if its values are not visible."""
    if schema.int_or_string:
        return Bounds(Kind.OTHER, size=_text_size(schema))
    if is_resource:
        schema = with_names(schema)
    match schema.type:
        case "array":
            return _list_bounds(schema)
        case "object" if schema.value_schema is not None:
            return _map_bounds(schema, schema.value_schema)
        case "object":
            return _object_bounds(schema)
        case "string":
            return _text_bounds(schema)
        case "boolean":
            return Bounds(Kind.OTHER, smallest=4)
        case "number" | "integer":
            return Bounds(Kind.OTHER)
    return None


def _list_bounds(schema: JSONSchema) -> Bounds | None:
    items = schema.item_schema
    element = bounds_of(items, is_resource=items.embedded_resource) if items else None
    if element is None:
        return None
    size = schema.max_items
    if size is None:
        size = _LARGEST // (element.smallest + 1)
    return Bounds(Kind.LIST, size=max(size, 0), smallest=2, element=element)


def _map_bounds(schema: JSONSchema, values: JSONSchema) -> Bounds | None:
    element = bounds_of(values, is_resource=values.embedded_resource)
    if element is None:
        return None
    size = schema.max_properties
    if size is None:
        size = _LARGEST // (element.smallest + len('"":,') + 2)
    return Bounds(Kind.MAP, size=max(size, 0), smallest=2, element=element)


def _object_bounds(schema: JSONSchema) -> Bounds:
    fields: dict[str, Bounds] = {}
    smallest = 2
    for name, member in schema.properties.items():
        bounds = bounds_of(member, is_resource=member.embedded_resource)
        if bounds is None:
            continue
        escaped = escape(name)
        if escaped is not None:
            fields[escaped] = fields[name] = bounds
        if name in schema.required and member.default is None:
            smallest += len(name) + bounds.smallest + len('"":,')
    return Bounds(Kind.OBJECT, smallest=smallest, fields=fields)


def _text_bounds(schema: JSONSchema) -> Bounds:
    known = _TEXT_FORMATS.get(schema.format or "")
    if known is not None:
        return known
    return Bounds(Kind.TEXT, size=_text_size(schema), smallest=2)


def _text_size(schema: JSONSchema) -> int:
    if schema.max_length is not None:
        factor = 1 if schema.format == "byte" else _BYTES_A_CHARACTER
        return max(schema.max_length, 0) * factor
    if schema.enum and not schema.int_or_string:
        return max((len(text.encode()) for text in schema.enum if isinstance(text, str)), default=0)
    return _LARGEST
