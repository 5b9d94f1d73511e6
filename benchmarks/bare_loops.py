"""What a program does that reads the bytes and has no index: urllib3 and msgspec in a loop.

Three peers: one decodes to dicts, one to Structs that have every field of the object. These keep
nothing. The third puts the Structs into a dict by key, the least that a cache does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from clientgo.api.core_v1 import PodSpec, PodStatus
from clientgo.meta import OwnerReference
from clientgo.testing import bench
from clientgo.testing.bench.informers import FooSpec, FooStatus
from clientgo.testing.bench.measure import Side
from clientgo.testing.bench.objects import Shape

TO_DICTS: Final = "bare loop to dicts"
TO_STRUCTS: Final = "bare loop to Structs"
KEEPING: Final = "bare loop that keeps Structs"

Spec = TypeVar("Spec")
Status = TypeVar("Status")


class Entry(Struct, rename="camel"):
    """One of the managed fields."""

    manager: str
    operation: str
    api_version: str
    time: str
    fields_type: str
    fields_v1: dict[str, Any] = msgspec.field(name="fieldsV1")
    subresource: str = ""


class Metadata(Struct, rename="camel"):
    """All of an object's metadata."""

    name: str
    namespace: str
    uid: str
    resource_version: str
    creation_timestamp: str
    labels: dict[str, str]
    generate_name: str = ""
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    managed_fields: list[Entry] = []


class Whole(Struct, Generic[Spec, Status], rename="camel"):
    """A whole object."""

    metadata: Metadata
    spec: Spec
    status: Status
    api_version: str = ""
    kind: str = ""


class _Event(Struct, Generic[Spec]):
    type: str
    object: Spec


class _ListMeta(Struct, rename="camel"):
    next_page: str = msgspec.field(name="continue")


class _List(Struct, Generic[Spec]):
    metadata: _ListMeta
    items: list[Spec]


_EVENTS: Final[dict[str, Callable[[bytes], Any]]] = {
    "Foo": msgspec.json.Decoder(_Event[Whole[FooSpec, FooStatus]]).decode,
    "Pod": msgspec.json.Decoder(_Event[Whole[PodSpec, PodStatus]]).decode,
}
_LISTS: Final[dict[str, Callable[[bytes], Any]]] = {
    "Foo": msgspec.json.Decoder(_List[Whole[FooSpec, FooStatus]]).decode,
    "Pod": msgspec.json.Decoder(_List[Whole[PodSpec, PodStatus]]).decode,
}


def watches(url: str, shape: Shape, count: int) -> dict[str, Side]:
    """Return the peers that read ``count`` events."""
    structs = _EVENTS[shape.kind]

    def keeping() -> bench.Stopwatch:
        kept: dict[str, Any] = {}
        return bench.read_watch(
            url, count, path=shape.path, decode=lambda line: _keep(kept, structs(line).object)
        )

    return {
        TO_DICTS: lambda: bench.read_watch(url, count, path=shape.path),
        TO_STRUCTS: lambda: bench.read_watch(url, count, path=shape.path, decode=structs),
        KEEPING: keeping,
    }


def lists(url: str, shape: Shape) -> dict[str, Side]:
    """Return the peers that read a list in pages."""
    structs = _LISTS[shape.kind]

    def token_of(body: bytes) -> str:
        return str(structs(body).metadata.next_page)

    def keeping() -> bench.Stopwatch:
        kept: dict[str, Any] = {}

        def keep_page(body: bytes) -> str:
            page = structs(body)
            for obj in page.items:
                _keep(kept, obj)
            return str(page.metadata.next_page)

        return bench.read_list(url, path=shape.path, token_of=keep_page)

    return {
        TO_DICTS: lambda: bench.read_list(url, path=shape.path),
        TO_STRUCTS: lambda: bench.read_list(url, path=shape.path, token_of=token_of),
        KEEPING: keeping,
    }


def _keep(kept: dict[str, Any], obj: Any) -> None:
    kept[f"{obj.metadata.namespace}/{obj.metadata.name}"] = obj
