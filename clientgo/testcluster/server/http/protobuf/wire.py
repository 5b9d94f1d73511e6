"""The wire format of protobuf: numbers of seven bits a byte, and fields with numbers.

Upstream: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

Value: TypeAlias = int | bytes
"""A value on the wire: a number, or bytes that the field's type interprets."""

_MOST_VARINT_BYTES = 10
_NUMBER, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
"""Wire types."""


class ProtobufError(ValueError):
    """The bytes are not protobuf, or do not fit their kind."""


def read_fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message in the order of the wire.

    Raises:
        ProtobufError: it is cut off, or of a form that the API does not use.
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _NUMBER:
            value, position = read_varint(data, position)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, position = read_varint(data, position)
        elif wire_type in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if wire_type == _EIGHT_BYTES else 4
        else:
            raise ProtobufError(f"wire type {wire_type} is not known")
        if position + size > end:
            raise ProtobufError("unexpected end of the message")
        yield number, data[position : position + size]
        position += size


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number, and the position after it."""
    number = 0
    for place in range(_MOST_VARINT_BYTES):
        if position + place >= len(data):
            raise ProtobufError("unexpected end of the message")
        byte = data[position + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number & (1 << 64) - 1, position + place + 1
    raise ProtobufError("a number is too long")


def bytes_field(number: int, data: bytes) -> bytes:
    """Return a field of bytes, or of a message."""
    return varint(number << 3 | _BYTES) + varint(len(data)) + data


def text_field(number: int, text: str) -> bytes:
    """Return a field of text."""
    return bytes_field(number, text.encode())


def number_field(number: int, value: int) -> bytes:
    """Return a field of a number or flag."""
    return varint(number << 3 | _NUMBER) + varint(int(value))


def float_field(number: int, value: float) -> bytes:
    """Return a field of a number with a fraction."""
    return varint(number << 3 | _EIGHT_BYTES) + struct.pack("<d", value)


def varint(number: int) -> bytes:
    """Return a number; a negative one is that of 64 bits."""
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
