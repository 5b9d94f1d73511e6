"""Decoding the metadata of objects, also from servers that send more.

If a server ignores the `Accept` header and sends whole objects, their bodies are cut off. A
response without a uid, a name or a creation time is no object and is refused. Source: client-go
`metadata`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from clientgo.meta import (
    Codec,
    DecodeError,
    EventType,
    ObjectList,
    PartialObjectMetadata,
    WatchEvent,
    resource_of,
)
from clientgo.meta.decoding import decode

_FORMAT: Final = "application/json;as={};g=meta.k8s.io;v=v1,application/json"
ACCEPT_ONE: Final = _FORMAT.format("PartialObjectMetadata")
ACCEPT_LIST: Final = _FORMAT.format("PartialObjectMetadataList")

_DECLARED: Final = resource_of(PartialObjectMetadata)
_MARK: Final = b'"PartialObjectMetadata'
"""What an answer in the accepted format has in it. Looking for it costs next to nothing."""


class _Whole(msgspec.Struct):
    metadata: Raw = Raw(b"{}")


class _WholeEvent(msgspec.Struct):
    type: str
    object: _Whole


class _WholeList(msgspec.Struct):
    metadata: Raw = Raw(b"{}")
    items: list[_Whole] = []


class MetadataCodec(Codec[PartialObjectMetadata]):
    """Decodes headers; immutable, safe for every thread."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(PartialObjectMetadata)

    def decode(self, raw: bytes) -> PartialObjectMetadata:
        if _MARK not in raw:
            raw = msgspec.json.encode(_header(_decoded(raw, _Whole)))
        obj = super().decode(raw)
        _check(obj)
        return obj

    def decode_list(self, raw: bytes) -> ObjectList[PartialObjectMetadata]:
        if _MARK not in raw:
            whole = _decoded(raw, _WholeList)
            items = [_header(item) for item in whole.items]
            raw = msgspec.json.encode({"metadata": whole.metadata, "items": items})
        return super().decode_list(raw)

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        if _MARK not in line:
            whole = _decoded(line, _WholeEvent)
            if whole.type != EventType.ERROR:
                line = msgspec.json.encode({"type": whole.type, "object": _header(whole.object)})
        return super().decode_event(line)

    def decode_events(
        self, lines: Sequence[bytes]
    ) -> tuple[list[WatchEvent[Any]], DecodeError | None]:
        if all(_MARK in line for line in lines):
            return super().decode_events(lines)
        return self._decode_each_event(lines)


def _decoded(raw: bytes, type_: Any) -> Any:
    try:
        return decode(raw, type_)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"not what was asked for: {error}; got {raw[:120]!r}") from error


def _header(whole: _Whole) -> dict[str, Any]:
    return {
        "apiVersion": _DECLARED.api_version,
        "kind": _DECLARED.kind,
        "metadata": whole.metadata,
    }


def _check(obj: PartialObjectMetadata) -> None:
    metadata = obj.metadata
    if not (metadata.uid or metadata.name or metadata.generate_name or metadata.creation_timestamp):
        raise DecodeError(
            "the answer is no object: its metadata has neither uid, name, generateName nor "
            "creationTimestamp"
        )
