"""Objects of built-in kinds, read by their OpenAPI type as servers in typed languages read them.

Promises: ``read_typed`` refuses wrong types, drops and reports unknown fields, leaves out nulls
(except times of conditions) and empty lists and maps, writes quantities in their canonical form,
and sets the defaults of the published schema, so that a response has the form of a server with
typed objects. ``validate_typed`` finds missing required fields and unknown enumeration values.

Does not promise zero values: the schema does not say whether ``replicas: 0`` means "unset", so the
client's value stays.

Upstream has a Go struct for each type, from which the OpenAPI documents are made.
"""

from __future__ import annotations

import base64
import binascii
import functools
from typing import Any

from clientgo.apiserver.storage.storage import Object
from clientgo.meta.json_values import WholeFloat, copy_json
from clientgo.meta.timestamps import parse_time
from clientgo.schema.field_errors import FieldError
from clientgo.schema.openapi import OpenAPIType
from clientgo.text.quantities import canonical_quantity

_INTEGER_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_TIME = "date-time"
_CONDITIONS = "status.conditions"
"""Where times are always written, as null if they are unset; elsewhere they are left out."""
_HEADER = frozenset({"apiVersion", "kind", "metadata"})


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
        case "" if openapi_type.node.get("oneOf") == _QUANTITY:
            return _read_quantity(value, path)
    return value


def _read_object(
    value: dict[str, Any],
    openapi_type: OpenAPIType,
    path: str,
    unknown: list[str],
    skip: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    declared = openapi_type.node.get("properties")
    if declared is None and openapi_type.values is None:
        return value  # any JSON is allowed
    read: dict[str, Any] = {}
    for name, member in value.items():
        where = f"{path}.{name}" if path else name
        field = openapi_type.field(name)
        if field is None:
            unknown.append(where)
        elif member is None:
            if declared is None:
                read[name] = _null_member(field)
        elif (
            (kept := _read(member, field, where, unknown)) not in ([], {})
            or _keeps_empty(field)
            or name in openapi_type.node.get("required", ())
        ):
            read[name] = kept
    for name, default in _defaults(openapi_type):
        if name not in read and name not in skip and (field := openapi_type.field(name)):
            read[name] = _read(copy_json(default), field, name, [])
    return read


def zero_value(openapi_type: OpenAPIType) -> Object:
    """Return an object that no field is set in, with the fields that are always written."""
    zero: Object = {
        name: None for name in openapi_type.node.get("required", ()) if name not in _HEADER
    }
    for name, default in _defaults(openapi_type):
        if name not in _HEADER and (name in zero or default == {}):
            field = openapi_type.field(name)
            zero[name] = zero_value(field) if field and default == {} else default
    return zero


def _null_member(field: OpenAPIType) -> Any:
    """Return what null means in a map: the zero value of its member type."""
    if field.node.get("oneOf") == _QUANTITY:
        return "0"
    return "" if field.type == "string" else None


def _keeps_empty(field: OpenAPIType) -> bool:
    """Return True if an empty value is kept: a struct such as ``emptyDir``, no list or map."""
    return field.type != "array" and field.values is None


@functools.cache
def _defaults(openapi_type: OpenAPIType) -> tuple[tuple[str, Any], ...]:
    """Return the fields that have a default, with it."""
    fields = ((name, openapi_type.field(name)) for name in openapi_type.field_names)
    return tuple(
        (name, field.node["default"])
        for name, field in fields
        if field is not None and "default" in field.node
    )


def _read_array(value: Any, openapi_type: OpenAPIType, path: str, unknown: list[str]) -> list[Any]:
    if not isinstance(value, list):
        raise _mismatch(value, path, "array")
    items = openapi_type.items
    if items is None:
        return value
    read = [_read(item, items, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if path == _CONDITIONS:
        unset = dict.fromkeys(_time_fields(items))
        read = [{**unset, **item} for item in read]
    return read


@functools.cache
def _time_fields(openapi_type: OpenAPIType) -> tuple[str, ...]:
    """Return the fields of an object that are times."""
    fields = ((name, openapi_type.field(name)) for name in openapi_type.field_names)
    return tuple(name for name, field in fields if field and field.node.get("format") == _TIME)


def _read_string(value: Any, openapi_type: OpenAPIType, path: str) -> str:
    if not isinstance(value, str):
        if openapi_type.node.get("format") == "int-or-string" and isinstance(value, int):
            return value  # type: ignore[return-value]  # declared as text, and either in fact
        raise _mismatch(value, path, "string")
    match openapi_type.node.get("format"):
        case "byte":
            try:
                base64.b64decode(value, validate=True)
            except binascii.Error as error:
                raise TypeMismatchError(f"illegal base64 data in {path}: {error}") from error
        case "date-time":
            try:
                parse_time(value)
            except ValueError as error:
                raise TypeMismatchError(f"parsing time in {path}: {error}") from error
    return value


def _read_integer(value: Any, openapi_type: OpenAPIType, path: str) -> int:
    if isinstance(value, bool | WholeFloat) or not isinstance(value, int):
        raise _mismatch(value, path, "int")
    allowed = _INTEGER_RANGES.get(openapi_type.node.get("format", ""))
    if allowed is not None and value not in allowed:
        raise TypeMismatchError(f"{path}: {value} is out of range of {openapi_type.node['format']}")
    return value


_QUANTITY = [{"type": "string"}, {"type": "number"}]
"""The alternatives by which the documents describe a quantity."""


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
