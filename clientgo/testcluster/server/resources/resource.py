"""What the server serves: one ``Resource`` per group, version and plural name.

Promises: built-in and CRD-defined resources have the same description, so that one set of verb
handlers, one discovery and one Table printer serve both. A ``Resource`` never changes; a changed
CRD replaces it in the ``ResourceRegistry``.

Does not promise behaviour: defaults, validation and what an update may change are in the
``Strategy``.

Upstream: ``metav1.APIResource`` and the generic registry's ``Store`` fields that describe it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from clientgo.meta.group_version import GroupVersionKind
from clientgo.testcluster.server.resources.conversion import Converter
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.resources.strategy import Strategy
from clientgo.testcluster.server.storage.deep_values import encode
from clientgo.testcluster.server.storage.storage import Object, StoredObject

CRUD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")


RunOn = Callable[[Callable[[Object], Object], Object], Awaitable[Object]]
"""Calls a function with an object; on a thread if that is large."""


def storage_hash(api_version: str, kind: str) -> str:
    """Return what discovery shows of the version in which a kind is stored.

    Upstream: ``StorageVersionHash`` of apiserver ``endpoints/discovery``.
    """
    group, _, version = api_version.rpartition("/")
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


class Subresource(msgspec.Struct, frozen=True):
    """A path below an object: ``status``, ``scale``, ``finalize`` ..."""

    name: str
    verbs: tuple[str, ...]
    kind: GroupVersionKind


class ReadAgain(msgspec.Struct):
    """Which stored objects may differ from what their resource serves.

    The resources of a definition share one. Used on the server's event loop only.
    """

    until: int
    """Objects with a higher resource version are stored as their own version serves them."""


@dataclass(frozen=True, eq=False)
class Resource(ResourceType):
    """A collection of the API as one version serves it."""

    singular: str
    list_kind: str
    namespaced: bool
    strategy: Strategy
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = CRUD_VERBS
    subresources: tuple[Subresource, ...] = ()
    is_custom: bool = False
    """Defined by a CRD: such lists and errors look a little different."""
    deprecation: str = ""
    """Warning for clients of this version."""
    stored_in: tuple[str, str] | None = None
    """Group and plural of the collection that holds the objects, if it is another resource's."""
    storage_hash: str = ""
    """Stands for the group, version and kind that objects are stored in; "" if none are."""
    read: Callable[[Object], Object] | None = None
    """Converts a stored object to this version; None if it is stored in this version."""
    write: Callable[[Object], Object] | None = None
    """Makes the stored form of an object, after the converter; None if it is that form."""
    read_again: ReadAgain = field(default_factory=lambda: ReadAgain(0))
    converter: Converter | None = None
    """Converts between the versions, if only a program outside of the server can."""

    @cached_property
    def collection_key(self) -> tuple[str, str]:
        """Return group and plural of the collection that holds the objects."""
        return self.stored_in or (self.group, self.plural)

    @cached_property
    def type_prefix(self) -> bytes:
        """Return the bytes that every encoded object of this resource begins with."""
        return f'{{"apiVersion":"{self.api_version}","kind":"{self.kind}",'.encode()

    @cached_property
    def reported(self) -> ResourceType:
        """Return the type that messages about invalid objects name."""
        group = self.strategy.reported_group
        return self if group is None else self.in_group(group)

    async def served(self, items: Sequence[StoredObject]) -> Sequence[StoredObject]:
        """Return stored objects in a form that this version can be decoded from.

        What the storage or the writer returns must pass here before ``encoded`` and ``decode``.

        Raises:
            FailedRequestError: 500, a conversion outside of the server failed.
        """
        converter = self.converter
        if converter is None:
            return items
        others = [item for item in items if not item.raw.startswith(self.type_prefix)]
        if not others:
            return items
        objects = await converter.convert([item.decode() for item in others], self.api_version)
        converted = {
            id(item): item.with_body(obj) for item, obj in zip(others, objects, strict=True)
        }
        return [converted.get(id(item), item) for item in items]

    async def from_version(self, obj: Object) -> Object:
        """Return an object of any version of the resource in this version.

        Raises:
            FailedRequestError: 500, a conversion outside of the server failed.
        """
        if obj["apiVersion"] == self.api_version:
            return obj
        if self.converter is None:
            return obj | {"apiVersion": self.api_version}
        [converted] = await self.converter.convert([obj], self.api_version)
        return converted

    async def stored_form(self, obj: Object, run: RunOn) -> Object:
        """Return an object of this version as it is stored; ``run`` calls what works on it.

        Raises:
            FailedRequestError: 500, a conversion outside of the server failed.
        """
        if self.write is None:
            return obj
        if self.converter is not None:
            [obj] = await self.converter.convert([obj], self.converter.stored_version)
        return await run(self.write, obj)

    def encoded(self, stored: StoredObject) -> bytes:
        """Return a stored object, encoded, as this version serves it."""
        if self.read is None or not self.reads_again(stored):
            return stored.raw
        return encode(self.read(stored.decode()))

    def decode(self, stored: StoredObject) -> Object:
        """Return a new dict of a stored object as this version serves it."""
        obj = stored.decode()
        return self.read(obj) if self.read is not None and self.reads_again(stored) else obj

    def reads_again(self, stored: StoredObject) -> bool:
        """Return True if a stored object is decoded and encoded again before it is served."""
        return self.read is not None and stored.resource_version <= self.read_again.until

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource of that name, or None."""
        return next((item for item in self.subresources if item.name == name), None)
