"""Responses in protobuf, for clients that accept nothing else.

Promises: what is encoded is what ``decoding`` reads; fields that a kind's message does not have are
left out. Objects and lists of built-in kinds, Status, metadata, discovery, and events of watches.

Upstream: apimachinery ``runtime/serializer/protobuf``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clientgo.meta.timestamps import parse_time
from clientgo.testcluster.server.http.protobuf.decoding import MAGIC
from clientgo.testcluster.server.http.protobuf.fields import (
    LIST,
    MAP,
    SCHEMA,
    fields_of,
    message_of_kind,
)
from clientgo.testcluster.server.http.protobuf.wire import (
    bytes_field,
    float_field,
    number_field,
    text_field,
)
from clientgo.testcluster.server.storage.deep_values import encode


def encode_protobuf(obj: Mapping[str, Any]) -> bytes:
    """Return an object in the envelope of the Kubernetes API.

    Raises:
        UnknownKindError: its kind has no form in protobuf.
    """
    api_version, kind = obj.get("apiVersion") or "v1", obj.get("kind", "")
    header = text_field(1, api_version) + text_field(2, kind)
    raw = _message(obj, message_of_kind(api_version, kind))
    no_encoding = text_field(3, "") + text_field(4, "")
    return MAGIC + bytes_field(1, header) + bytes_field(2, raw) + no_encoding


def encode_event(kind: str, obj: Mapping[str, Any]) -> bytes:
    """Return a frame of a watch: its size in four bytes, and the event.

    Raises:
        UnknownKindError: the kind of the object has no form in protobuf.
    """
    event = text_field(1, kind) + bytes_field(2, bytes_field(1, encode_protobuf(obj)))
    return len(event).to_bytes(4, "big") + event


def _message(obj: Mapping[str, Any], message: str) -> bytes:
    return b"".join(_fields(obj, message))


def _fields(obj: Mapping[str, Any], message: str) -> Iterator[bytes]:
    for number, (name, type_, _) in fields_of(message).items():
        if not name:
            if inlined := _message(obj, type_):
                yield bytes_field(number, inlined)
            continue
        value = obj.get(name)
        if value is None:
            continue
        if type_.startswith(LIST):
            for item in value:
                yield _field(number, type_[len(LIST) :], item)
        elif type_.startswith(MAP):
            for key, item in value.items():
                entry = text_field(1, key) + _field(2, type_[len(MAP) :], item)
                yield bytes_field(number, entry)
        else:
            yield _field(number, type_, value)


def _field(number: int, type_: str, value: Any) -> bytes:
    if type_ in ("int", "bool"):
        return number_field(number, value)
    if type_ == "float":
        return float_field(number, value)
    writer = _WRITERS.get(type_)
    data = writer(value) if writer is not None else _message(value or {}, type_)
    return bytes_field(number, data)


def _moment(text: str) -> bytes:
    seconds, _, fraction = str(text).removesuffix("Z").partition(".")
    nanoseconds = int(fraction[:9].ljust(9, "0")) if fraction else 0
    return number_field(1, int(parse_time(f"{seconds}Z"))) + number_field(2, nanoseconds)


def _int_or_string(value: int | str) -> bytes:
    is_text = isinstance(value, str)
    number, text = (0, value) if is_text else (value, "")
    return number_field(1, is_text) + number_field(2, int(number)) + text_field(3, str(text))


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, dict):  # a schema allows what it describes
        return number_field(1, 1) + bytes_field(2, _message(value, SCHEMA))
    return number_field(1, value)


def _schema_or_list(value: Any, item_type: str) -> bytes:
    if isinstance(value, dict):
        return bytes_field(1, _message(value, SCHEMA))
    return b"".join(_field(2, item_type, item) for item in value)


_WRITERS: Mapping[str, Callable[[Any], bytes]] = {
    "bytes": base64.b64decode,
    "int-or-string": _int_or_string,
    "json": lambda value: bytes_field(1, encode(value)),
    "list-message": lambda value: b"".join(text_field(1, item) for item in value),
    "micro-time": _moment,
    "quantity": lambda value: text_field(1, str(value)),
    "schema-or-array": lambda value: _schema_or_list(value, SCHEMA),
    "schema-or-bool": _schema_or_bool,
    "schema-or-strings": lambda value: _schema_or_list(value, "string"),
    "string": str.encode,
    "time": _moment,
}
"""Types that are neither numbers nor plain messages."""
