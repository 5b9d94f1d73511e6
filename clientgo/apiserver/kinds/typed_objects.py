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
from importlib.resources import files
from typing import Any, NamedTuple

from clientgo.apiserver.kinds.tables.kind_table import short_name
from clientgo.apiserver.storage.storage import Object
from clientgo.meta.decoding import decode
from clientgo.meta.json_values import WholeFloat, copy_json
from clientgo.meta.timestamps import canonical_micro_time, canonical_time
from clientgo.schema.field_errors import FieldError
from clientgo.schema.openapi import OpenAPIType
from clientgo.text.quantities import canonical_quantity

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
    read = _read_object(body, openapi_type, "", unknown, skip=_HEADER)
    return header | read, tuple(unknown)


def _read(value: Any, openapi_type: OpenAPIType, path: str, unknown: list[str]) -> Any:
    match openapi_type.type:
        case _ if openapi_type.node.get("format") == "int-or-string":
            return _read_int_or_string(value, path)
        case "object":
            if not isinstance(value, dict):
                raise _mismatch(value, path, "object")
            return _read_object(value, openapi_type, path, unknown)
        case "array":
            return _read_array(value, openapi_type, path, unknown)
        case "string":
            return _read_string(value, openapi_type, path)
        case "integer":
            return _read_integer(value, openapi_type, path)
        case "number":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _mismatch(value, path, "number")
        case "boolean":
            if not isinstance(value, bool):
                raise _mismatch(value, path, "bool")
        case "" if openapi_type.is_quantity:
            return _read_quantity(value, path)
    return value


def _read_object(
    value: dict[str, Any],
    openapi_type: OpenAPIType,
    path: str,
    unknown: list[str],
    skip: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    plan = _plan(openapi_type)
    if plan is None:
        return _read_map(value, openapi_type, path, unknown)
    read: dict[str, Any] = {}
    prefix = f"{path}." if path else ""
    for name, member in value.items():
        field = plan.fields.get(name)
        if field is None:
            unknown.append(prefix + name)
        elif member is not None:
            kept = _read(member, field.type, prefix + name, unknown)
            if kept or not field.drops(kept):
                read[name] = kept
    for name, default, field_type in plan.defaults:
        if name not in read and name not in skip:
            read[name] = _read(copy_json(default), field_type, name, [])
    for name in plan.nulls:
        read.setdefault(name, None)
    return read


def zero_value(openapi_type: OpenAPIType) -> Object:
    """Return an object that no field is set in, with the fields that are always written.

    The header is left out.
    """
    return {
        name: value for name, value in _zero_fields(openapi_type).items() if name not in _HEADER
    }


def _zero_fields(openapi_type: OpenAPIType) -> Object:
    plan = _plan(openapi_type)
    if plan is None:
        return {}
    required = openapi_type.node.get("required", ())
    zero: Object = dict.fromkeys((*required, *plan.nulls))
    for name, default, field_type in plan.defaults:
        if default == {}:
            zero[name] = _zero_fields(field_type)
        elif name in zero:
            zero[name] = default
    return zero


def _read_map(
    value: dict[str, Any], openapi_type: OpenAPIType, path: str, unknown: list[str]
) -> dict[str, Any]:
    members = openapi_type.values
    if members is None:
        return value  # any JSON is allowed
    return {
        key: _zero(members)
        if member is None
        else _read(member, members, f"{path}.{key}" if path else key, unknown)
        for key, member in value.items()
    }


_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "boolean": False}


def _zero(openapi_type: OpenAPIType) -> Any:
    """Return what null means in a list or map: the zero value of the member type."""
    if openapi_type.is_quantity:
        return "0"
    if openapi_type.field_names:
        return _read_object({}, openapi_type, "", [])
    return _ZEROS.get(openapi_type.type)


class _Field(NamedTuple):
    """How a field of a struct is read."""

    type: OpenAPIType
    drops_empty: bool
    """An empty list or map is left out."""
    drops_zero: bool
    """A zero number, text or flag is left out."""

    def drops(self, value: Any) -> bool:
        """Return True if an empty or zero value is left out."""
        if isinstance(value, list | dict):
            return self.drops_empty
        return self.drops_zero


class _Plan(NamedTuple):
    """How the objects of a struct are read."""

    fields: dict[str, _Field]
    defaults: tuple[tuple[str, Any, OpenAPIType], ...]
    nulls: tuple[str, ...]
    """Fields that are written as null if they are unset."""


@functools.cache
def _plan(openapi_type: OpenAPIType) -> _Plan | None:
    """Return how a struct is read; None for maps and for any JSON."""
    if openapi_type.node.get("properties") is None:
        return None
    left_out, nulls = _zero_values().get(short_name(openapi_type.name), _NO_ZEROS)
    required = openapi_type.node.get("required", ())
    fields: dict[str, _Field] = {}
    defaults = []
    for name in openapi_type.field_names:
        field = openapi_type.field(name)
        if field is None:
            continue
        is_collection = field.type == "array" or field.values is not None
        drops_empty = is_collection and name not in required
        fields[name] = _Field(field, drops_empty, name in left_out)
        if field.node.get("default") or (name not in left_out and "default" in field.node):
            defaults.append((name, field.node["default"], field))
    nulls = [name for name in nulls if name in fields and name not in _HEADER]
    return _Plan(fields, tuple(defaults), tuple(nulls))


_NO_ZEROS: tuple[list[str], list[str]] = ([], [])


@functools.cache
def _zero_values() -> dict[str, tuple[list[str], list[str]]]:
    """Return how types write unset fields; see ``hack/pack_zero_values.py``."""
    file = files("clientgo.apiserver.kinds").joinpath("data", "zero_values.json.gz")
    return decode(gzip.decompress(file.read_bytes()), dict[str, tuple[list[str], list[str]]])


def _read_array(value: Any, openapi_type: OpenAPIType, path: str, unknown: list[str]) -> list[Any]:
    if not isinstance(value, list):
        raise _mismatch(value, path, "array")
    items = openapi_type.items
    if items is None:
        return value
    return [
        _zero(items) if item is None else _read(item, items, f"{path}[{index}]", unknown)
        for index, item in enumerate(value)
    ]


_LINE_BREAKS = {ord("\r"): None, ord("\n"): None}
"""Go's decoder skips them."""


def _read_string(value: Any, openapi_type: OpenAPIType, path: str) -> str:
    if not isinstance(value, str):
        raise _mismatch(value, path, "string")
    match openapi_type.node.get("format"):
        case "byte":
            try:
                data = base64.b64decode(value.translate(_LINE_BREAKS), validate=True)
            except ValueError as error:  # also for text that is not ASCII
                raise TypeMismatchError(f"illegal base64 data in {path}: {error}") from error
            return base64.b64encode(data).decode()
        case "date-time":
            is_micro = openapi_type.name.endswith(_MICRO_TIME)
            try:
                return canonical_micro_time(value) if is_micro else canonical_time(value)
            except ValueError as error:
                raise TypeMismatchError(f"parsing time in {path}: {error}") from error
    return value


def _read_int_or_string(value: Any, path: str) -> int | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | WholeFloat) or not isinstance(value, int):
        raise _mismatch(value, path, "int32")
    if value not in _INTEGER_RANGES["int32"]:
        raise TypeMismatchError(f"{path}: {value} is out of range of int32")
    return value


def _read_integer(value: Any, openapi_type: OpenAPIType, path: str) -> int:
    if isinstance(value, bool | WholeFloat) or not isinstance(value, int):
        raise _mismatch(value, path, "int")
    allowed = _INTEGER_RANGES.get(openapi_type.node.get("format", ""))
    if allowed is not None and value not in allowed:
        raise TypeMismatchError(f"{path}: {value} is out of range of {openapi_type.node['format']}")
    return value


def _read_quantity(value: Any, path: str) -> str:
    """Return a quantity in its canonical form."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _mismatch(value, path, "Quantity")
    try:
        return canonical_quantity(str(value).strip())
    except ValueError as error:
        raise TypeMismatchError(f"parsing quantity in {path}: {error}") from error


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


def _validate(value: Any, openapi_type: OpenAPIType, path: str, errors: list[FieldError]) -> None:
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        for name, member in value.items():
            if field := openapi_type.field(name):
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
