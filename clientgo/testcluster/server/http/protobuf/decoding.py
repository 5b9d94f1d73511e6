"""Bodies in protobuf, which kubectl and Go clients send for built-in kinds.

Promises: a body becomes the object that the same client would send as JSON: JSON names, bytes in
base64, times and quantities as text, zeros left out where JSON leaves them out. Unknown field
numbers are skipped, as by a real API server. A body of very many values is refused.

Differs from upstream (apimachinery ``runtime/serializer/protobuf``): a table of field numbers
replaces generated code.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.meta.timestamps import format_micro_time, format_time
from clientgo.testcluster.server.http.protobuf.fields import (
    LIST,
    MAP,
    SCHEMA,
    Field,
    fields_of,
    message_of_kind,
)
from clientgo.testcluster.server.http.protobuf.wire import (
    ProtobufError,
    Value,
    read_fields,
    read_varint,
)
from clientgo.testcluster.server.storage.deep_values import decode_any

MAGIC = b"k8s\x00"
"""The first bytes of a body in the envelope of the Kubernetes API."""

_MOST_VALUES = 100_000
"""Fields of all messages in a body, as in YAML. An empty message takes two bytes on the wire, and
microseconds of each step of a write."""


def decode_protobuf(body: bytes) -> dict[str, Any]:
    """Return the object in a body.

    Raises:
        ProtobufError: it can't be read.
        UnknownKindError: the kind is not in the table.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("the body does not begin like an object of the Kubernetes API")
    envelope = dict(read_fields(body[len(MAGIC) :]))
    header = dict(read_fields(_bytes(envelope.get(1, b""))))
    api_version, kind = _text(header.get(1, b"")), _text(header.get(2, b""))
    if not (api_version and kind):
        raise ProtobufError("the body does not say its apiVersion and kind")
    message = message_of_kind(api_version, kind)
    try:
        read = _Decoder().message(_bytes(envelope.get(2, b"")), message)
    except RecursionError as error:
        raise ProtobufError("the messages are nested too deeply") from error
    return {"apiVersion": api_version, "kind": kind} | read


class _Decoder:
    """Reads one body."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def message(self, data: bytes, message: str) -> dict[str, Any]:
        """Return the object that a message stands for."""
        fields = fields_of(message)
        obj: dict[str, Any] = {}
        for number, value in read_fields(data):
            self._left -= 1
            if self._left < 0:
                raise ProtobufError(f"the body has more than {_MOST_VALUES} values")
            if (field := fields.get(number)) is not None:
                self._set(obj, field, value)
        return obj

    def _set(self, obj: dict[str, Any], field: Field, value: Value) -> None:
        name, type_, tells_zero = field
        if not name:
            obj |= self.message(_bytes(value), type_)
        elif type_.startswith(LIST):
            obj.setdefault(name, []).extend(self._members(value, type_[len(LIST) :]))
        elif type_.startswith(MAP):
            key, member = self._entry(_bytes(value), type_[len(MAP) :])
            obj.setdefault(name, {})[key] = member
        else:
            read = self._value(value, type_)
            if read is not None and (tells_zero or read or isinstance(read, dict)):
                obj[name] = read

    def _members(self, value: Value, type_: str) -> list[Any]:
        """Return the members in one field: one, or several packed numbers."""
        if type_ != "int" or not isinstance(value, bytes):
            return [self._value(value, type_)]
        packed = []
        position = 0
        while position < len(value):
            number, position = read_varint(value, position)
            packed.append(_signed(number))
        self._left -= len(packed)
        return packed

    def _entry(self, data: bytes, type_: str) -> tuple[str, Any]:
        entry = dict(read_fields(data))
        absent: Value = 0 if type_ in ("int", "bool") else b""
        return _text(entry.get(1, b"")), self._value(entry.get(2, absent), type_)

    def _value(self, value: Value, type_: str) -> Any:
        """Return a value in JSON; None for a time that is not set."""
        if (reader := _READERS.get(type_)) is not None:
            return reader(value)
        if type_.startswith("schema-or-"):
            return self._schema_or(_bytes(value), type_)
        return self.message(_bytes(value), type_)

    def _schema_or(self, data: bytes, type_: str) -> Any:
        """Return a schema, or the flag or list that stands in its place."""
        schema_number = 2 if type_ == "schema-or-bool" else 1
        schema, flag, members = None, False, []
        for number, value in read_fields(data):
            self._left -= 1
            if number == schema_number:
                schema = self.message(_bytes(value), SCHEMA)
            elif type_ == "schema-or-bool":
                flag = flag or (number == 1 and _signed(value) != 0)
            elif number == 2:
                read = self._value(value, SCHEMA if type_ == "schema-or-array" else "string")
                members.append(read)
        if type_ == "schema-or-bool":
            return flag if schema is None else schema
        return members or schema


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


def _float(value: Value) -> int | float:
    """Return a number as JSON has it: without a fraction if that is zero."""
    raw = _bytes(value)
    if len(raw) != 8:
        raise ProtobufError("a number does not have eight bytes")
    [number] = struct.unpack("<d", raw)
    if number != number or number in (float("inf"), float("-inf")):
        raise ProtobufError("a number is not finite")
    return int(number) if number.is_integer() and abs(number) < 1e21 else float(number)


def _first_text(value: Value) -> str:
    return _text(dict(read_fields(_bytes(value))).get(1, b""))


def _raw_json(value: Value) -> Any:
    raw = _bytes(dict(read_fields(_bytes(value))).get(1, b""))
    try:
        return decode_any(raw) if raw else None
    except ValueError as error:
        raise ProtobufError(f"a raw member is no JSON: {error}") from error


def _moment(value: Value, write: Callable[[float], str]) -> str | None:
    if not value:
        return None
    parts = dict(read_fields(_bytes(value)))
    try:
        return write(_signed(parts.get(1, 0)) + _signed(parts.get(2, 0)) / 1e9)
    except (ValueError, OverflowError, OSError) as error:
        raise ProtobufError(f"a time is out of range: {error}") from error


def _int_or_string(value: Value) -> int | str:
    parts = dict(read_fields(_bytes(value)))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))


_READERS: Mapping[str, Callable[[Value], Any]] = {
    "bool": lambda value: _signed(value) != 0,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
    "float": _float,
    "int": _signed,
    "int-or-string": _int_or_string,
    "json": _raw_json,
    "list-message": lambda value: [_text(item) for _, item in read_fields(_bytes(value))],
    "micro-time": lambda value: _moment(value, format_micro_time),
    "quantity": _first_text,
    "string": _text,
    "time": lambda value: _moment(value, format_time),
}
"""Types that are not plain messages."""
