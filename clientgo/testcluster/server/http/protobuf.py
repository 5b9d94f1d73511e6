"""Bodies in protobuf, which kubectl and Go clients send for built-in kinds.

Promises: a body becomes the object that the same client would send as JSON: JSON names, bytes in
base64, times and quantities as text, zeros left out where JSON leaves them out. Unknown field
numbers are skipped, as by a real API server.

Does not promise responses in protobuf, nor definitions and custom resources in protobuf.

Differs from upstream (apimachinery ``runtime/serializer/protobuf``): a table of field numbers (made
by ``hack/pack_protobuf_fields.py``) replaces generated code.
"""

from __future__ import annotations

import base64
import functools
import gzip
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

import msgspec

from clientgo.meta.timestamps import format_micro_time, format_time
from clientgo.testcluster.server.storage.deep_values import decode_any

PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
"""The first bytes of a body in the envelope of the Kubernetes API."""

_OPTIONS_KIND = "DeleteOptions"
_OPTIONS = "apis/meta/v1.DeleteOptions"
"""The options of deletions, which every group version has."""

_LIST, _MAP = "[]", "{}"
_MOST_VARINT_BYTES = 10

Value: TypeAlias = int | bytes
"""A value on the wire: a number, or bytes that the field's type interprets."""


class ProtobufError(ValueError):
    """The bytes are not protobuf, or do not fit their kind."""


class UnknownKindError(ValueError):
    """The kind has no protobuf form here."""


class _Field(NamedTuple):
    name: str
    """In JSON; empty if the members of the message are inlined."""
    type: str
    tells_zero: bool


def decode_protobuf(body: bytes) -> dict[str, Any]:
    """Return the object in a body.

    Raises:
        ProtobufError: it can't be read.
        UnknownKindError: the kind is not in the table.
    """
    if not body.startswith(_MAGIC):
        raise ProtobufError("the body does not begin like an object of the Kubernetes API")
    envelope = dict(_read_fields(body[len(_MAGIC) :]))
    header = dict(_read_fields(_bytes(envelope.get(1, b""))))
    api_version, kind = _text(header.get(1, b"")), _text(header.get(2, b""))
    message = _OPTIONS if kind == _OPTIONS_KIND else _table().kinds.get(f"{api_version}/{kind}")
    if message is None:
        raise UnknownKindError(f'no kind "{kind}" is registered for version "{api_version}"')
    try:
        read = _read_message(_bytes(envelope.get(2, b"")), message)
    except RecursionError as error:
        raise ProtobufError("the messages are nested too deeply") from error
    return {"apiVersion": api_version, "kind": kind} | read


def _read_message(data: bytes, message: str) -> dict[str, Any]:
    fields = _table().message(message)
    obj: dict[str, Any] = {}
    for number, value in _read_fields(data):
        field = fields.get(number)
        if field is None:
            continue
        if not field.name:
            obj |= _read_message(_bytes(value), field.type)
        elif field.type.startswith(_LIST):
            obj.setdefault(field.name, []).extend(_members(value, field.type[len(_LIST) :]))
        elif field.type.startswith(_MAP):
            key, member = _entry(_bytes(value), field.type[len(_MAP) :])
            obj.setdefault(field.name, {})[key] = member
        else:
            read = _read_value(value, field.type)
            if read is not None and (field.tells_zero or read or isinstance(read, dict)):
                obj[field.name] = read
    return obj


def _members(value: Value, type_: str) -> list[Any]:
    """Return the members in one field: one, or several packed numbers."""
    if type_ == "int" and isinstance(value, bytes):
        packed = []
        position = 0
        while position < len(value):
            number, position = _read_varint(value, position)
            packed.append(_signed(number))
        return packed
    return [_read_value(value, type_)]


def _entry(data: bytes, type_: str) -> tuple[str, Any]:
    entry = dict(_read_fields(data))
    absent: Value = 0 if type_ in ("int", "bool") else b""
    return _text(entry.get(1, b"")), _read_value(entry.get(2, absent), type_)


def _read_value(value: Value, type_: str) -> Any:
    """Return a value in JSON; None for a time that is not set."""
    reader = _READERS.get(type_)
    return reader(value) if reader is not None else _read_message(_bytes(value), type_)


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ProtobufError("a number stands where bytes belong")
    return value


def _text(value: Value) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("a text is not in UTF-8") from error


def _signed(value: Value) -> int:
    if not isinstance(value, int):
        raise ProtobufError("bytes stand where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value


def _first_text(value: Value) -> str:
    return _text(dict(_read_fields(_bytes(value))).get(1, b""))


def _raw_json(value: Value) -> Any:
    raw = _bytes(dict(_read_fields(_bytes(value))).get(1, b""))
    try:
        return decode_any(raw) if raw else None
    except ValueError as error:
        raise ProtobufError(f"a raw member is no JSON: {error}") from error


def _moment(value: Value, write: Callable[[float], str]) -> str | None:
    if not value:
        return None
    parts = dict(_read_fields(_bytes(value)))
    try:
        return write(_signed(parts.get(1, 0)) + _signed(parts.get(2, 0)) / 1e9)
    except (ValueError, OverflowError, OSError) as error:
        raise ProtobufError(f"a time is out of range: {error}") from error


def _int_or_string(value: Value) -> int | str:
    parts = dict(_read_fields(_bytes(value)))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))


_READERS: Mapping[str, Callable[[Value], Any]] = {
    "bool": lambda value: _signed(value) != 0,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
    "int": _signed,
    "int-or-string": _int_or_string,
    "json": _raw_json,
    "list-message": lambda value: [_text(item) for _, item in _read_fields(_bytes(value))],
    "micro-time": lambda value: _moment(value, format_micro_time),
    "quantity": _first_text,
    "string": _text,
    "time": lambda value: _moment(value, format_time),
}
"""Types that are not plain messages."""


# -- the wire


def _read_fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message in the order of the wire.

    Raises:
        ProtobufError: it is cut off, or of a form that the API does not use.
    """
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _read_varint(data, position)
            yield number, value
            continue
        if wire_type == 2:
            size, position = _read_varint(data, position)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise ProtobufError(f"wire type {wire_type} is not known")
        if position + size > len(data):
            raise ProtobufError("unexpected end of the message")
        yield number, data[position : position + size]
        position += size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and the position after it."""
    number = 0
    for place in range(_MOST_VARINT_BYTES):
        if position + place >= len(data):
            raise ProtobufError("unexpected end of the message")
        byte = data[position + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number & (1 << 64) - 1, position + place + 1
    raise ProtobufError("a number is too long")


# -- the table of fields


class _Table:
    """The messages by name; each is prepared once."""

    def __init__(self, kinds: Mapping[str, str], messages: Mapping[str, Any]) -> None:
        self.kinds = kinds
        self._messages = messages
        self._read: dict[str, dict[int, _Field]] = {}

    def message(self, name: str) -> dict[int, _Field]:
        """Return the fields of a message by number."""
        found = self._read.get(name)
        if found is None:
            found = {
                int(number): _Field(json_name, type_, bool(tells_zero))
                for number, (json_name, type_, tells_zero) in self._messages[name].items()
            }
            self._read[name] = found
        return found


@functools.cache
def _table() -> _Table:
    file = files("clientgo.testcluster.server.http").joinpath("data", "protobuf_fields.json.gz")
    packed = msgspec.json.decode(gzip.decompress(file.read_bytes()))
    return _Table(packed["kinds"], packed["messages"])
