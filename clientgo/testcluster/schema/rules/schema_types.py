"""The types and values of expressions, from a schema.

Promises: `declare` returns the CEL type of a schema and a function that converts JSON into values
of it: with timestamps, durations and bytes parsed, and property names escaped. Preserved unknown
fields are not visible to expressions. To read a value of another type than its schema, which an
object has that is older than the schema, is an error of the evaluation.

Follows ``SchemaDeclType`` of ``k8s.io/apiserver/pkg/cel/common``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.meta.json_values import WholeFloat
from clientgo.testcluster.cel import types
from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.types import CelType, ObjectType
from clientgo.testcluster.cel.values import Duration, KeyedList, SetList, Timestamp
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.util.text.durations import parse_duration

Converter = Callable[[Any], Any]

_TEXT = JSONSchema(type="string")
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function"}
    | {"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_READABLE_AS_WRITTEN = _RESERVED - {"true", "false", "null", "in"}
"""Reserved words that are names after a dot: expressions can write them escaped or as they are."""
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[./-]")
_ESCAPABLE = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class Declared:
    """The CEL type of a schema, and a converter for its values."""

    type: CelType
    convert: Converter


def escape(name: str) -> str | None:
    """Return a property name as expressions write it, or None if they cannot."""
    if name in _RESERVED:
        return f"__{name}__"
    if _ESCAPABLE.fullmatch(name) is None:
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def _hidden(name: str) -> str:
    """Return where a converted object has a member that no expression can name.

    Such members decide if objects are equal.
    """
    return f".{name}"


def declare(schema: JSONSchema, *, is_resource: bool = False) -> Declared | None:
    """Return the declaration for a schema, or None if its values are not visible.

    Kind, apiVersion and the names in metadata of a resource are always visible.
    """
    if schema.int_or_string:
        return Declared(types.DYN, _fitting((str, int, float), _number_as_written))
    if is_resource:
        schema = with_names(schema)
    match schema.type:
        case "array":
            return _declare_list(schema)
        case "object" if schema.value_schema is not None:
            return _declare_map(schema.value_schema)
        case "object":
            return _declare_object(schema)
        case "string":
            return _TEXT_FORMATS.get(schema.format or "", _STRING)
        case "boolean":
            return Declared(types.BOOL, _fitting((bool,), _same))
        case "number":
            return Declared(types.DOUBLE, _fitting((int, float), float))
        case "integer":
            return Declared(types.INT, _fitting((int, float), int))
    return None


def with_names(schema: JSONSchema) -> JSONSchema:
    """Return the schema of a resource with the fields that are always visible.

    A schema that specifies all of them stays as it is.
    """
    declared = schema.properties.get("metadata", JSONSchema())
    texts = [schema.properties.get(name, JSONSchema()).type for name in ("kind", "apiVersion")]
    if texts == ["string", "string"] and declared.type == "object" and declared.properties:
        return schema
    metadata = JSONSchema(type="object", properties={"name": _TEXT, "generateName": _TEXT})
    named = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": metadata}
    return msgspec.structs.replace(schema, properties={**schema.properties, **named})


def _declare_list(schema: JSONSchema) -> Declared | None:
    items = schema.item_schema
    declared = declare(items, is_resource=items.embedded_resource) if items is not None else None
    if declared is None:
        return None
    convert = declared.convert

    wrap: Converter = _same
    if schema.list_type == "set":
        wrap = SetList
    elif schema.list_type == "map":
        names = tuple(escape(name) or _hidden(name) for name in schema.list_map_keys)
        wrap = lambda items: KeyedList(items, names)  # noqa: E731

    def convert_items(value: Any) -> Any:
        items = [convert(item) for item in value]
        return _UNFIT if _UNFIT in items else wrap(items)

    return Declared(types.list_of(declared.type), _fitting((list,), convert_items))


def _declare_map(values: JSONSchema) -> Declared | None:
    declared = declare(values, is_resource=values.embedded_resource)
    if declared is None:
        return None
    convert = declared.convert

    def convert_values(value: Any) -> Any:
        values = {name: convert(item) for name, item in value.items()}
        return _UNFIT if _UNFIT in values.values() else values

    return Declared(types.map_of(types.STRING, declared.type), _fitting((dict,), convert_values))


def _declare_object(schema: JSONSchema) -> Declared:
    fields: dict[str, CelType] = {}
    converters: dict[str, tuple[tuple[str, ...], Converter]] = {}
    for name, member in schema.properties.items():
        declared = declare(member, is_resource=member.embedded_resource)
        escaped = escape(name)
        if declared is not None and escaped is not None:
            names = (escaped, name) if name in _READABLE_AS_WRITTEN else (escaped,)
            fields.update(dict.fromkeys(names, declared.type))
            converters[name] = (names, declared.convert)

    def convert(value: Any) -> Any:
        result = {}
        for name, member in value.items():
            known = converters.get(name)
            if known is None:
                result[_hidden(name)] = member
            elif member is not None:  # a field that is null is absent
                names, convert_member = known
                result.update(dict.fromkeys(names, convert_member(member)))
        return _PartlyUnfit(result) if _UNFIT in result.values() else result

    return Declared(ObjectType("object", fields=fields), _fitting((dict,), convert))


def _same(value: Any) -> Any:
    return value


def _number_as_written(value: Any) -> Any:
    return float(value) if isinstance(value, WholeFloat) else value


class _Unfit:
    """A value of another type than its schema."""


_UNFIT = _Unfit()


class _PartlyUnfit(dict[str, Any]):
    """An object with fields of another type than their schemas: reading these is an error."""

    cel_type = CelType(types.MAP_NAME)

    def __getitem__(self, name: str) -> Any:
        return fit(super().__getitem__(name))

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field."""
        return fit(super().get(name, default))

    def items(self) -> Any:
        """Return names and fields."""
        return [(name, self[name]) for name in self]


def fit(value: Any) -> Any:
    """Return a converted value.

    Raises:
        CelEvaluationError: it has not the type of its schema.
    """
    if value is _UNFIT:
        raise CelEvaluationError("invalid data, expected a value of the type of its schema")
    return value


def _fitting(kinds: tuple[type, ...], convert: Converter) -> Converter:
    """Return a converter for values of some types, and for null."""

    def convert_fitting(value: Any) -> Any:
        if value is None:
            return None
        fits = isinstance(value, kinds) and (type(value) is not bool or bool in kinds)
        return convert(value) if fits else _UNFIT

    return convert_fitting


def _parsing(parse: Converter, what: str) -> Converter:
    """Return a converter for text that the format check of the schema accepts."""

    def convert(value: Any) -> Any:
        try:
            return parse(value)
        except (ValueError, binascii.Error) as error:
            raise CelEvaluationError(f"{value!r} is not a {what}") from error

    return _fitting((str,), convert)


def _parse_date(text: str) -> Timestamp:
    return Timestamp.parse(f"{text}T00:00:00Z")


_STRING = Declared(types.STRING, _fitting((str,), _same))
_TEXT_FORMATS = {
    "byte": Declared(types.BYTES, _parsing(base64.b64decode, "base64 text")),
    "date": Declared(types.TIMESTAMP, _parsing(_parse_date, "date")),
    "date-time": Declared(types.TIMESTAMP, _parsing(Timestamp.parse, "time")),
    "duration": Declared(
        types.DURATION, _parsing(lambda text: Duration(parse_duration(text)), "duration")
    ),
}
