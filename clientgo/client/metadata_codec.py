"""Decoding the metadata of objects, also from servers that send more.

If a server ignores the `Accept` header and sends whole objects, their bodies are cut off; they must
be of the kind asked for. A response without a uid, a name or a creation time is no object and is
refused. Source: client-go `metadata`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw

from clientgo.meta import (
    APIResource,
    Codec,
    DecodeError,
    EventType,
    ObjectList,
    PartialObjectMetadata,
    WatchEvent,
    resource_of,
)
from clientgo.meta.wire.answers import (
    check_list,
    check_object,
    is_of_kind,
    named_kind,
    shown,
)
from clientgo.meta.wire.outer_json import REFUSALS, TypeMeta, outer_of, page_of, raw_event_of, why

_FORMAT: Final = "application/json;as={};g=meta.k8s.io;v=v1,application/json"
ACCEPT_ONE: Final = _FORMAT.format("PartialObjectMetadata")
ACCEPT_LIST: Final = _FORMAT.format("PartialObjectMetadataList")

_DECLARED: Final = resource_of(PartialObjectMetadata)
_MARK: Final = b'"PartialObjectMetadata'
_LONGEST_HEAD: Final = 200
"""An answer in the accepted format has the mark within so many bytes; looking costs nothing."""


class _Whole(TypeMeta):
    metadata: Raw = Raw(b"{}")


class MetadataCodec(Codec[PartialObjectMetadata]):
    """Decodes headers; immutable, safe for every thread. ``of`` is the kind of whole objects."""

    __slots__ = ("_of",)

    def __init__(self, of: APIResource | None = None) -> None:
        super().__init__(PartialObjectMetadata, _DECLARED)
        self._of = of

    def decode(self, raw: bytes) -> PartialObjectMetadata:
        obj = super().decode(self._cut(raw))
        _check(obj)
        return obj

    def decode_answer(
        self, raw: bytes, *, named: bool = True, any_kind: bool = False
    ) -> PartialObjectMetadata:
        obj = super().decode_answer(self._cut(raw), named=False)
        _check(obj)
        return obj

    def decode_list(self, raw: bytes) -> ObjectList[PartialObjectMetadata]:
        if raw.find(_MARK, 0, _LONGEST_HEAD) < 0:
            what = f"a list of {named_kind(self._of)}"
            try:
                page = page_of(raw)
            except REFUSALS as error:
                raise DecodeError(f"not {what}: {why(error, raw)}; got {shown(raw)}") from error
            if page.kind != f"{_DECLARED.kind}List":
                if not check_list(page, raw, self._of, what):
                    for item in page.items or ():
                        check_object(bytes(item), self._of, named_kind(self._of))
                items = [_header(_decoded(item, _Whole, what)) for item in page.items or ()]
                raw = msgspec.json.encode(
                    {
                        "apiVersion": _DECLARED.api_version,
                        "kind": f"{_DECLARED.kind}List",
                        "metadata": page.metadata,
                        "items": items,
                    }
                )
        return super().decode_list(raw)

    def decode_event(self, line: bytes) -> WatchEvent[Any]:
        if not line.startswith(self._beginnings):
            try:
                event = raw_event_of(line)
                whole = outer_of(bytes(event.object), _Whole)
            except REFUSALS:
                return super().decode_event(line)
            is_cut = whole.kind and is_of_kind(whole, _DECLARED)
            if event.type != EventType.ERROR and not is_cut and is_of_kind(whole, self._of):
                line = msgspec.json.encode({"type": event.type, "object": _header(whole)})
        return super().decode_event(line)

    def _cut(self, raw: bytes) -> bytes:
        """The header of one object, of whichever form it came in."""
        what = named_kind(self._of)
        whole = _decoded(raw, _Whole, what)
        if whole.kind and is_of_kind(whole, _DECLARED):
            return raw
        check_object(raw, self._of, what)
        return msgspec.json.encode(_header(whole))


def _decoded(raw: bytes | Raw, type_: Any, what: str) -> Any:
    try:
        return outer_of(bytes(raw), type_)
    except REFUSALS as error:
        raise DecodeError(f"not {what}: {error}; got {shown(bytes(raw))}") from error


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
