"""Decoding JSON into types: safe in several threads, strict first, lenient on request.

msgspec works out how to decode a Struct when it first sees it, without a lock: two threads that
do so at the same moment crash the process (seen with 0.22). So all decoding into types goes
through this module, which works types out one at a time. After that decoding needs no lock.

`convert_leniently` is for JSON that a strict decoder refuses: nulls where the API means absent,
numbers as text. What still does not fit raises `msgspec.ValidationError` with the field's path.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

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
