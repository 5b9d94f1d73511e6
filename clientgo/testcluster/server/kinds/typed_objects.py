"""Objects of built-in kinds, read by their OpenAPI type as servers in typed languages read them.

Promises: ``read_typed`` refuses wrong types, drops and reports unknown fields, leaves out what Go
leaves out (nulls, empty lists and maps, zero values of fields that are no pointers), writes unset
times and lists as null where Go does, writes quantities in their canonical form, and sets the
defaults of the published schema, so that a response has the form of a server with typed objects.
``validate_typed`` finds missing required fields and unknown enumeration values of kinds without a
table.

Upstream has a Go struct for each type, from which the OpenAPI documents are made.
"""

from __future__ import annotations

import base64
import functools
import gzip
from collections.abc import Callable
from importlib.resources import files
from typing import Any, NamedTuple

from clientgo.meta.decoding import decode
from clientgo.meta.json_values import WholeFloat, copy_json
from clientgo.meta.repeated_values import RepeatedValues, value_key
from clientgo.meta.timestamps import canonical_micro_time, canonical_time
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.schema.openapi import OpenAPIType
from clientgo.testcluster.server.kinds.tables.type_names import REPEATED_TYPES, short_name
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text.quantities import canonical_quantity

_INTEGER_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_HEADER = frozenset({"apiVersion", "kind", "metadata"})


_MICRO_TIME = ".MicroTime"


class TypeMismatchError(ValueError):
    """A field holds a value of the wrong type; the message names both."""


def read_typed(obj: Object, openapi_type: OpenAPIType) -> tuple[Object, tuple[str, ...]]:
    """Return an object in its typed form, and the paths of the unknown fields it had.

    The header (apiVersion, kind, metadata) is copied unchanged.

    Raises:
        TypeMismatchError: a field has the wrong type.
    """
    unknown: list[str] = []
    header = {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
    body = {key: value for key, value in obj.items() if key not in _HEADER}
    read = _reader(openapi_type)(body, "", "", unknown)
    for name in _HEADER:  # the defaults of what was left out
        read.pop(name, None)
    return header | read, tuple(unknown)


Reader = Callable[[Any, str, str, list[str]], Any]
"""Returns a value in its typed form. The other arguments are the path above the value, what the
value adds to it, and the paths of unknown fields so far."""


@functools.cache
def _reader(openapi_type: OpenAPIType) -> Reader:
    """Return the reader of a type; a struct reads its fields' types when it first needs them."""
    node = openapi_type.node
    kind = openapi_type.type
    if node.get("format") == "int-or-string":
        return _read_int_or_string
    if kind == "object":
        if node.get("properties") is None and not _is_empty_struct(openapi_type):
            return _map_reader(openapi_type.values)
        read = _Struct(openapi_type).read
        is_repeated = short_name(openapi_type.name) in REPEATED_TYPES
        return _for_new_values(read) if is_repeated else read
    if kind == "array":
        return _array_reader(openapi_type.items)
    if kind == "string":
        return _string_reader(openapi_type)
    if kind == "integer":
        return _integer_reader(node.get("format", ""))
    if kind == "" and openapi_type.is_quantity:
        return _read_quantity
    if _SCHEMA_OR in openapi_type.name:
        return _schema_or_reader(openapi_type)
    return {"number": _read_number, "boolean": _read_boolean}.get(kind, _read_anything)


_FREE_FORM = frozenset({"FieldsV1", "Patch", "RawExtension"})
"""Types that hold any object; the documents describe them as those without fields."""


def _is_empty_struct(openapi_type: OpenAPIType) -> bool:
    """Return True for a type that has no fields, such as the status subresource of a definition."""
    name = openapi_type.name.rpartition(".")[2]
    return openapi_type.values is None and name != "" and name not in _FREE_FORM


def _for_new_values(read: Reader) -> Reader:
    """Read a value that was seen before without looking at its fields; none was unknown."""
    known = RepeatedValues()

    def read_new(value: Any, above: str, name: str, unknown: list[str]) -> Any:
        key = value_key(value)
        result = known.result(key)
        if result is None:
            count = len(unknown)
            result = read(value, above, name, unknown)
            if len(unknown) == count:
                known.remember(key, result)
        return result

    return read_new


class _Struct:
    """Reads the objects of a struct."""

    def __init__(self, openapi_type: OpenAPIType) -> None:
        self._type = openapi_type

    @functools.cached_property
    def _plan(self) -> _Plan:
        return _plan(self._type)

    def read(self, value: Any, above: str, name: str, unknown: list[str]) -> dict[str, Any]:
        """Return an object in its typed form."""
        if not isinstance(value, dict):
            raise _mismatch(value, above + name, "object")
        plan = self._plan
        fields = plan.fields
        read: dict[str, Any] = {}
        inner = f"{above}{name}." if name else ""
        for key, member in value.items():
            field = fields.get(key)
            if field is None:
                unknown.append(inner + key)
            elif member is not None:
                taken, read_member, drops_empty, drops_zero = field
                kept = member if type(member) is taken else read_member(member, inner, key, unknown)
                is_dropped = not kept and (
                    drops_empty if isinstance(kept, list | dict) else drops_zero
                )
                if not is_dropped:
                    read[key] = kept
        for key, default, read_default in plan.defaults:
            if key not in read:
                read[key] = read_default(copy_json(default), "", key, [])
        for key in plan.nulls:
            read.setdefault(key, None)
        return read


def zero_value(openapi_type: OpenAPIType) -> Object:
    """Return an object that no field is set in, with the fields that are always written.

    The header is left out.
    """
    return {
        name: value for name, value in _zero_fields(openapi_type).items() if name not in _HEADER
    }


def _zero_fields(openapi_type: OpenAPIType) -> Object:
    if openapi_type.node.get("properties") is None:
        return {}
    _, written = _zero_values().get(short_name(openapi_type.name), _NO_ZEROS)
    zero: Object = dict(written)
    for name, value in written.items():
        field_type = openapi_type.field(name)
        if value == {} and field_type is not None:
            zero[name] = _zero_fields(field_type)
    return zero


def _map_reader(members: OpenAPIType | None) -> Reader:
    def read(value: Any, above: str, name: str, unknown: list[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _mismatch(value, above + name, "object")
        if members is None:
            return value  # any JSON is allowed
        inner = f"{above}{name}." if name else ""
        read_member, taken = _reader(members), _taken_type(members)
        return {
            key: member
            if type(member) is taken
            else _zero(members)
            if member is None
            else read_member(member, inner, key, unknown)
            for key, member in value.items()
        }

    return read


_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "boolean": False}


def _zero(openapi_type: OpenAPIType) -> Any:
    """Return what null means in a list or map: the zero value of the member type."""
    if openapi_type.is_quantity:
        return "0"
    if openapi_type.field_names:
        return _reader(openapi_type)({}, "", "", [])
    if openapi_type.node.get("format") == "date-time":
        return None
    return _ZEROS.get(openapi_type.type)


class _Field(NamedTuple):
    """How a field of a struct is read."""

    taken: type | None
    """Values of this type are taken as they are; None if there is no such type."""
    read: Reader
    drops_empty: bool
    """An empty list or map is left out."""
    drops_zero: bool
    """A zero number, text or flag is left out."""


class _Plan(NamedTuple):
    """How the objects of a struct are read."""

    fields: dict[str, _Field]
    defaults: tuple[tuple[str, Any, Reader], ...]
    nulls: tuple[str, ...]
    """Fields that are written as null if they are unset."""


@functools.cache
def _plan(openapi_type: OpenAPIType) -> _Plan:
    """Return how a struct is read; its header, if it has one, is not."""
    left_out, written = _zero_values().get(short_name(openapi_type.name), _NO_ZEROS)
    required = openapi_type.node.get("required", ())
    fields: dict[str, _Field] = {}
    defaults = []
    for name in openapi_type.field_names:
        field = openapi_type.field(name)
        if field is None:
            continue
        is_collection = field.type == "array" or field.values is not None
        drops_empty = is_collection and name not in required
        drops_empty = drops_empty and (short_name(openapi_type.name), name) not in _EMPTY_IS_SET
        read = _reader(field)
        fields[name] = _Field(_taken_type(field), read, drops_empty, name in left_out)
        default = field.node.get("default", written.get(name))
        if default or (default is not None and name not in left_out):
            defaults.append((name, default, read))
    nulls = [
        name
        for name, zero in written.items()
        if zero is None and name in fields and name not in _HEADER
    ]
    return _Plan(fields, tuple(defaults), tuple(nulls))


def _taken_type(openapi_type: OpenAPIType) -> type | None:
    """Return the type of the values that are their own typed form."""
    if openapi_type.type == "string" and "format" not in openapi_type.node:
        return str
    return bool if openapi_type.type == "boolean" else None


# An empty list is left out when it is written, so it reads as none. In these, a default stands for
# none only, and upstream's validation sees the empty list.
_EMPTY_IS_SET = frozenset({("autoscaling.v2.HPAScalingRules", "policies")})


_ZeroValues = tuple[list[str], dict[str, Any]]
"""The fields of a type that are left out if they are zero, and how others are written if unset."""

_NO_ZEROS: _ZeroValues = ([], {})


@functools.cache
def _zero_values() -> dict[str, _ZeroValues]:
    """Return how types write unset fields; see ``hack/pack_zero_values.py``."""
    file = files("clientgo.testcluster.server.kinds").joinpath("data", "zero_values.json.gz")
    return decode(gzip.decompress(file.read_bytes()), dict[str, _ZeroValues])


def _array_reader(items: OpenAPIType | None) -> Reader:
    def read(value: Any, above: str, name: str, unknown: list[str]) -> list[Any]:
        path = above + name
        if not isinstance(value, list):
            raise _mismatch(value, path, "array")
        if items is None:
            return value
        read_item = _reader(items)
        return [
            _zero(items) if item is None else read_item(item, path, f"[{index}]", unknown)
            for index, item in enumerate(value)
        ]

    return read


_LINE_BREAKS = {ord("\r"): None, ord("\n"): None}
"""Go's decoder skips them."""


def _string_reader(openapi_type: OpenAPIType) -> Reader:
    match openapi_type.node.get("format"):
        case "byte":
            return _read_base64
        case "date-time":
            is_micro = openapi_type.name.endswith(_MICRO_TIME)
            return functools.partial(
                _read_time, canonical_micro_time if is_micro else canonical_time
            )
    return _read_text


def _read_text(value: Any, above: str, name: str, _unknown: list[str]) -> str:
    if not isinstance(value, str):
        raise _mismatch(value, above + name, "string")
    return value


def _read_base64(value: Any, above: str, name: str, unknown: list[str]) -> str:
    text = _read_text(value, above, name, unknown)
    try:
        data = base64.b64decode(text.translate(_LINE_BREAKS), validate=True)
    except ValueError as error:  # also for text that is not ASCII
        raise TypeMismatchError(f"illegal base64 data in {above}{name}: {error}") from error
    return base64.b64encode(data).decode()


def _read_time(
    canonical: Callable[[str], str], value: Any, above: str, name: str, unknown: list[str]
) -> str:
    text = _read_text(value, above, name, unknown)
    try:
        return canonical(text)
    except ValueError as error:
        raise TypeMismatchError(f"parsing time in {above}{name}: {error}") from error


def _read_int_or_string(value: Any, above: str, name: str, _unknown: list[str]) -> int | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | WholeFloat) or not isinstance(value, int):
        raise _mismatch(value, above + name, "int32")
    if value not in _INTEGER_RANGES["int32"]:
        raise TypeMismatchError(f"{above}{name}: {value} is out of range of int32")
    return value


def _integer_reader(width: str) -> Reader:
    allowed = _INTEGER_RANGES.get(width)

    def read(value: Any, above: str, name: str, _unknown: list[str]) -> int:
        if isinstance(value, bool | WholeFloat) or not isinstance(value, int):
            raise _mismatch(value, above + name, "int")
        if allowed is not None and value not in allowed:
            raise TypeMismatchError(f"{above}{name}: {value} is out of range of {width}")
        return value

    return read


def _read_number(value: Any, above: str, name: str, _unknown: list[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(value, above + name, "number")
    return value


def _read_boolean(value: Any, above: str, name: str, _unknown: list[str]) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(value, above + name, "bool")
    return value


def _read_anything(value: Any, _above: str, _name: str, _unknown: list[str]) -> Any:
    return value


_SCHEMA_OR = "JSONSchemaPropsOr"
"""Begins the names of types whose values are a schema, or a flag or list in its place."""


def _schema_or_reader(openapi_type: OpenAPIType) -> Reader:
    """Return the reader of such a type. Unknown fields below are left out, but not reported.

    Upstream: ``UnmarshalJSON`` of the type, in apiextensions ``v1/marshal.go``.
    """
    schema, _, instead = openapi_type.name.partition("Or")
    schema_type = openapi_type.another(schema)

    def read(value: Any, above: str, name: str, _unknown: list[str]) -> Any:
        if isinstance(value, dict):
            return _reader(schema_type)(value, above, name, [])
        if instead == "Bool":
            return _read_boolean(value, above, name, [])
        if not isinstance(value, list):
            return None
        members = None if instead == "StringArray" else schema_type
        return _array_reader(members)(value, above, name, [])

    return read


def _read_quantity(value: Any, above: str, name: str, _unknown: list[str]) -> str:
    """Return a quantity in its canonical form."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _mismatch(value, above + name, "Quantity")
    try:
        return canonical_quantity(str(value).strip())
    except ValueError as error:
        raise TypeMismatchError(f"parsing quantity in {above}{name}: {error}") from error


_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}


def _mismatch(value: Any, path: str, wanted: str) -> TypeMismatchError:
    found = _JSON_NAMES.get(type(value), "number")
    return TypeMismatchError(f"cannot unmarshal {found} into field {path} of type {wanted}")


# The documents call every list required that is always written, even if it is empty. Upstream's
# validation requires an item in most of them, but not in these.
_MAY_BE_EMPTY = frozenset({("LimitRange", "spec.limits"), ("CSINode", "spec.drivers")})


def validate_typed(obj: Object, openapi_type: OpenAPIType) -> list[FieldError]:
    """Return the missing required fields and the unknown enumeration values."""
    errors: list[FieldError] = []
    body = {name: value for name, value in obj.items() if name not in _HEADER}
    _validate(body, openapi_type, "", errors)
    kind = obj.get("kind", "")
    return [
        error
        for error in errors
        if error.field not in _HEADER and (kind, error.field) not in _MAY_BE_EMPTY
    ]


@functools.cache
def _takes_all(openapi_type: OpenAPIType) -> bool:
    """Return True if no value of a type has errors: texts, numbers, and lists and maps of them."""
    if openapi_type.field_names or openapi_type.node.get("enum"):
        return False
    return all(map(_takes_all, filter(None, (openapi_type.items, openapi_type.values))))


def _validate(value: Any, openapi_type: OpenAPIType, path: str, errors: list[FieldError]) -> None:
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        for name, member in value.items():
            if (field := openapi_type.field(name)) and not _takes_all(field):
                _validate(member, field, f"{prefix}{name}", errors)
        errors += [
            FieldError.required(f"{prefix}{name}")
            for name in openapi_type.node.get("required", ())
            if value.get(name) in (None, "", [])
        ]
    elif isinstance(value, list) and (items := openapi_type.items):
        for index, item in enumerate(value):
            _validate(item, items, f"{path}[{index}]", errors)
    elif (allowed := openapi_type.node.get("enum")) and value not in allowed:
        errors.append(FieldError.not_supported(path, value, allowed))
