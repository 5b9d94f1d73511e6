"""Typed decoding that is safe to begin in several threads at once.

msgspec works out how to decode a Struct when it first meets it, without a lock: two threads that
meet the same type at the same moment crash the process (seen with 0.22). So whatever is decoded
into a type goes through here, where types are worked out one at a time and only once; after that
decoding is free of locks.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

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
    return decoder(into, strict=strict).decode(raw)


def convert(value: Any, into: type[T], *, strict: bool = True) -> T:
    """Plain JSON values into a type; raises ``msgspec.ValidationError``."""
    decoder(into)
    return msgspec.convert(value, into, strict=strict)
