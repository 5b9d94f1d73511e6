"""Decoding JSON into types: safe in several threads, strict first, lenient on request.

msgspec works out how to decode a Struct when it first sees it, without a lock: two threads that
do so at the same moment crash the process (seen with 0.22). So all decoding into types goes
through this module, which works types out one at a time. After that decoding needs no lock.

`convert_leniently` is for JSON that a strict decoder refuses: nulls where the API means absent,
numbers as text. `convert_misfitting` is for an object that is older than the rules of its type; it
is only tried last, so that decoding is not slower. What still does not fit raises
`msgspec.ValidationError` with the field's path.
"""

from __future__ import annotations

import enum
import functools
import threading
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import Struct, structs

from clientgo.meta.json_values import without_nulls
from clientgo.meta.nesting import too_deep

T = TypeVar("T")

_working_out = threading.RLock()
_decoders: dict[tuple[Any, bool], msgspec.json.Decoder[Any]] = {}


def decoder(into: type[T], *, strict: bool = True) -> msgspec.json.Decoder[T]:
    """The decoder of a type; one for the whole process."""
    found = _decoders.get((into, strict))
    if found is None:
        with _working_out:
            found = _decoders.setdefault((into, strict), msgspec.json.Decoder(into, strict=strict))
    return found


def decode(raw: bytes | str | msgspec.Raw, into: type[T], *, strict: bool = True) -> T:
    """JSON into a type; raises ``msgspec.DecodeError`` and ``msgspec.ValidationError``."""
    try:
        return decoder(into, strict=strict).decode(raw)
    except RecursionError as error:
        text = raw.encode() if isinstance(raw, str) else bytes(raw)
        raise msgspec.DecodeError(too_deep(text)) from error


def convert(value: Any, into: type[T], *, strict: bool = True) -> T:
    """Plain JSON values into a type; raises ``msgspec.ValidationError``."""
    decoder(into)
    try:
        return msgspec.convert(value, into, strict=strict)
    except RecursionError as error:
        raise msgspec.ValidationError(too_deep(b"")) from error


def convert_leniently(value: Any, into: type[T]) -> T:
    """Convert plain JSON values into ``into``: scalars are coerced, nulls dropped if need be."""
    # By way of JSON: a header keeps part of it (``msgspec.Raw``), which no conversion makes.
    try:
        try:
            return decode(msgspec.json.encode(value), into, strict=False)
        except msgspec.ValidationError:
            return decode(msgspec.json.encode(without_nulls(value)), into, strict=False)
    except RecursionError as error:
        raise msgspec.ValidationError(too_deep(b"")) from error


def convert_misfitting(value: Any, into: type[T]) -> tuple[T, list[str]]:
    """Convert plain JSON values that break rules of ``into``; return what does not fit, by path.

    Where a rule is broken (choices, patterns, bounds, lengths) a field has what is there. A
    required field that is missing is an empty list, mapping or part, or else None: a 0, as in Go,
    would be a value that nobody wrote. Raises ``msgspec.ValidationError`` for a value of another
    JSON type.
    """
    decoder(into)
    found: list[str] = []
    return _read(value, into, "", found, strict=False), found


def _read(value: Any, into: Any, path: str, found: list[str], *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, into, strict=strict)
    except msgspec.ValidationError as error:
        refusal = error
    bare = _without_rules(into)
    origin, before = get_origin(bare) or bare, len(found)
    result: Any
    if origin in (Union, UnionType):
        return _read_as_one_of(value, bare, path, found, refusal)
    if isinstance(value, dict) and isinstance(origin, type) and issubclass(origin, Struct):
        result = _read_struct(value, bare, path, found, strict=strict)
    elif isinstance(value, dict) and origin in (dict, Mapping):
        result = {
            key: _read(item, get_args(bare)[1], f"{path}.{key}", found, strict=strict)
            for key, item in value.items()
        }
    elif isinstance(value, list) and origin in (list, tuple):
        result = origin(
            _read(item, get_args(bare)[0], f"{path}[{position}]", found, strict=strict)
            for position, item in enumerate(value)
        )
    else:
        result = _read_scalar(value, bare, path, refusal, strict=strict)
    if len(found) == before:
        found.append(f"{path.lstrip('.')}: {refusal}")
    return result


def _read_struct(
    value: dict[str, Any], into: Any, path: str, found: list[str], *, strict: bool
) -> Any:
    fields: dict[str, Any] = {}
    for field in _fields(into):
        item, where = value.get(field.encode_name), f"{path}.{field.encode_name}"
        if item is not None or (field.encode_name in value and _allows(None, field.type)):
            fields[field.name] = _read(item, field.type, where, found, strict=strict)
        elif field.required:
            found.append(f"{where.lstrip('.')}: required, and missing")
            fields[field.name] = _missing(field.type)
    return into(**fields)


_fields = functools.cache(structs.fields)
"""The fields of a class; to work them out takes longer than all the rest."""


def _read_as_one_of(
    value: Any, union: Any, path: str, found: list[str], refusal: msgspec.ValidationError
) -> Any:
    members = [member for member in get_args(union) if member is not NoneType]
    for strict in (True, False):  # a text is no number where it may be a text
        for member in members:
            own: list[str] = []
            try:
                result = _read(value, member, path, own, strict=strict)
            except msgspec.ValidationError:
                continue
            found += own
            return result
    raise _refused(refusal, path)


def _read_scalar(
    value: Any, bare: Any, path: str, refusal: msgspec.ValidationError, *, strict: bool
) -> Any:
    choices: tuple[Any, ...] = ()
    if get_origin(bare) is Literal:
        choices = get_args(bare)
    elif isinstance(bare, type) and issubclass(bare, enum.Enum):
        choices = tuple(member.value for member in bare)
    if choices:
        if type(value) in map(type, choices):
            return value
        raise _refused(refusal, path)
    try:
        return msgspec.convert(value, bare, strict=strict)
    except msgspec.ValidationError as error:
        if isinstance(value, str) and bare in _WRITTEN_AS_TEXT:
            return value
        raise _refused(error, path) from error


_WRITTEN_AS_TEXT: Final = (bytes, datetime, date, time, timedelta, Decimal, UUID)
"""Of text that is none of these, the text is read."""


def _missing(into: Any) -> Any:
    bare = _without_rules(into)
    origin = get_origin(bare) or bare
    if origin in (list, tuple, dict):
        return origin()
    if isinstance(origin, type) and issubclass(origin, Struct):
        return _read_struct({}, bare, "", [], strict=False)
    return None


def _without_rules(into: Any) -> Any:
    while get_origin(into) is Annotated:
        into = get_args(into)[0]
    return into


def _allows(value: Any, into: Any) -> bool:
    try:
        msgspec.convert(value, into)
    except msgspec.ValidationError:
        return False
    return True


def _refused(error: msgspec.ValidationError, path: str) -> msgspec.ValidationError:
    text = str(error)
    return error if " - at `$" in text else msgspec.ValidationError(f"{text} - at `${path}`")
