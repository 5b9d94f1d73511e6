"""The outer part of an answer: the items of a page, the object of an event, the kind of an object.

Promises: what is inside stays JSON, and may be nested deeper than a decoder can follow
(:mod:`clientgo.meta.nesting`). Raises what a decoder raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field, structs

from clientgo.meta.decoding import decode, decoder
from clientgo.meta.nesting import items_of, members_of, too_deep
from clientgo.meta.objects.object_meta import ListMeta, ObjectMeta

T = TypeVar("T", bound=Struct)

REFUSALS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the decoder raises: text that is no UTF-8 is noticed only when it is looked at."""

IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")


class TypeMeta(Struct):
    """What an object says of its own kind; both are empty where it says nothing."""

    api_version: str = field(default="", name="apiVersion")
    kind: str = ""


class Page(TypeMeta):
    """A page of a list, or JSON that may be one; ``items`` is unset where there are none."""

    items: list[Raw] | UnsetType | None = UNSET
    metadata: ListMeta | None = None


class RawEvent(Struct):
    """An event of a watch, its object as JSON."""

    type: str
    object: Raw


def why(error: Exception, raw: bytes) -> str:
    """Say why JSON was refused."""
    return too_deep(raw) if isinstance(error, RecursionError) else str(error)


def outer_of(raw: bytes, into: type[T]) -> T:
    """Decode the fields that ``into`` declares of an object; those of type ``Raw`` may be deep."""
    try:
        return decoder(into).decode(raw)
    except RecursionError:
        members = _members_of(raw)
    fields = structs.fields(into)
    deep = [one for one in fields if one.type is Raw and one.encode_name in members]
    shallow = members | {one.encode_name: b"{}" for one in deep}
    outer = decode(_object_of(shallow, into.__struct_encode_fields__), into)
    for one in deep:
        setattr(outer, one.name, Raw(members[one.encode_name]))
    return outer


def page_of(raw: bytes) -> Page:
    """Decode a page, or cut it into its items where one is nested too deeply for that."""
    try:
        return decoder(Page).decode(raw)
    except RecursionError:
        members = _members_of(raw)
    items = members.get("items", b"null")
    if items != b"null":
        members["items"] = b"[]"
    page = decode(_object_of(members, Page.__struct_encode_fields__), Page)
    if items != b"null":
        try:
            page.items = [*map(Raw, items_of(items))]
        except ValueError as error:
            raise msgspec.DecodeError(str(error)) from error
    return page


def raw_event_of(line: bytes) -> RawEvent:
    """Decode an event, or cut its object out where that is nested too deeply."""
    try:
        return decoder(RawEvent).decode(line)
    except RecursionError:
        members = _members_of(line)
    obj = members.get("object", b"")
    if obj:
        members["object"] = b"{}"
    event = decode(_object_of(members, ("type", "object")), RawEvent)
    event.object = Raw(obj)
    return event


def identity_of(raw: bytes) -> ObjectMeta:
    """Return the identity of an object that does not decode; empty if it cannot be read."""
    try:
        metadata = members_of(members_of(raw)["metadata"])
        known = [name for name in IDENTITY if metadata.get(name, b"").startswith(b'"')]
        return decode(_object_of(metadata, known), ObjectMeta)
    except (KeyError, ValueError, msgspec.MsgspecError):
        return ObjectMeta()


def _members_of(raw: bytes) -> dict[str, bytes]:
    try:
        return members_of(raw)
    except ValueError as error:
        raise msgspec.DecodeError(f"{error}, {too_deep(raw)}") from error


def _object_of(members: Mapping[str, bytes], names: Iterable[str]) -> bytes:
    """Return the JSON of an object that has these of the members."""
    return msgspec.json.encode({name: Raw(members[name]) for name in names if name in members})
