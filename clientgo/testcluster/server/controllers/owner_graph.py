"""The graph of owners and dependents that the garbage collector follows.

Promises: it is exact after each change, because it observes them all; a change costs as much as the
object has owners, however many dependents these have.

Upstream: ``pkg/controller/garbagecollector.GraphBuilder``, which reads informers, and the
collector's ``isDangling``, which asks the API.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

import msgspec

from clientgo.testcluster.server.objects.deletion import FOREGROUND_FINALIZER
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import (
    Collection,
    Storage,
    StoredObject,
    object_key,
)

Node = tuple[Collection, str]
"""An object: its collection and its key there."""


class OwnerReference(msgspec.Struct, gc=False, rename="camel"):
    """What a dependent says of an owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    block_owner_deletion: bool = False


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Head(msgspec.Struct, gc=False, rename="camel"):
    """What garbage collection reads of an object."""

    api_version: str
    kind: str
    metadata: _Metadata

    @property
    def waits_for_dependents(self) -> bool:
        """Return True if its deletion in the foreground has begun."""
        metadata = self.metadata
        return metadata.deletion_timestamp is not None and (
            FOREGROUND_FINALIZER in metadata.finalizers
        )


class OwnerState(Enum):
    """What became of the owner that a reference names."""

    PRESENT = auto()
    WAITING = auto()
    """It is being deleted, and waits for its dependents."""
    ABSENT = auto()
    UNKNOWN = auto()
    """Its kind is not served: it may exist."""
    INVALID = auto()
    """An object of the cluster can't have an owner in a namespace."""


def namespace_of(node: Node) -> str:
    """Return the namespace of an object; "" if it is in none."""
    return node[1].rpartition("/")[0]


class OwnerGraph:
    """Objects by uid, their dependents, and which of these block a deletion."""

    def __init__(self, storage: Storage, registry: ResourceRegistry) -> None:
        self._storage = storage
        self._registry = registry
        self._by_uid: dict[str, Node] = {}
        self._dependents: dict[str, set[Node]] = {}
        self._blocking: dict[str, set[Node]] = {}
        """The dependents that block the owners that wait."""
        self._deleted: dict[str, tuple[str, str, str]] = {}
        """Group, kind and key of the owners that were deleted and still have dependents."""

    # -- changes

    def add(self, node: Node, uid: str) -> None:
        """Have an object that exists."""
        self._by_uid[uid] = node

    def remove(self, node: Node, last: StoredObject) -> list[Node]:
        """Remove an object that was deleted; return its dependents."""
        self._by_uid.pop(last.uid, None)
        self._blocking.pop(last.uid, None)
        dependents = self.dependents(last.uid)
        if dependents:
            self._deleted[last.uid] = node[0].group, last.read(Head).kind, node[1]
        return dependents

    def link(self, node: Node, before: tuple[str, ...], stored: StoredObject | None) -> list[Node]:
        """Replace the owners of an object; return those that nothing blocks any more."""
        owners = () if stored is None else stored.owners
        if before != owners:
            for uid in set(before).difference(owners):
                self._unlink(node, uid)
            for uid in owners:
                self._dependents.setdefault(uid, set()).add(node)
        waiting = self._blocking.keys() & {*before, *owners} if self._blocking else ()
        released = []
        for uid in waiting:
            blocking = self._blocking[uid]
            if stored is not None and _blocks(stored, uid):
                blocking.add(node)
            elif node in blocking:
                blocking.discard(node)
                released += [] if blocking else [self._by_uid[uid]]
        return released

    def _unlink(self, node: Node, uid: str) -> None:
        dependents = self._dependents.get(uid)
        if dependents is not None:
            dependents.discard(node)
            if not dependents:
                del self._dependents[uid]
                self._deleted.pop(uid, None)

    def note_waiting(self, uid: str, *, waits: bool) -> bool:
        """Note if an owner waits for its dependents; return True if it begins to."""
        if not waits:
            self._blocking.pop(uid, None)
        elif uid not in self._blocking:
            self._blocking[uid] = set(self._blocking_now(uid))
            return True
        return False

    def _blocking_now(self, uid: str) -> Iterable[Node]:
        for node in self._dependents.get(uid, ()):
            stored = node[0].get(node[1])
            if stored is not None and _blocks(stored, uid):
                yield node

    # -- questions

    def find(self, uid: str) -> Node | None:
        """Return the object of a uid, wherever it is."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> list[Node]:
        """Return the objects that name a uid as an owner."""
        return list(self._dependents.get(uid, ()))

    def is_blocked(self, uid: str) -> bool:
        """Return True if an owner waits for dependents that exist."""
        return bool(self._blocking.get(uid))

    def is_waiting(self, node: Node) -> bool:
        """Return True if an object is being deleted and waits for its dependents."""
        stored = node[0].get(node[1])
        return stored is not None and stored.uid in self._blocking

    def state_of_owner(self, node: Node, reference: OwnerReference) -> OwnerState:
        """Return what became of an owner, which is looked for as its dependent names it."""
        group, _, version = reference.api_version.rpartition("/")
        if self._was_deleted(node, group, reference):
            return OwnerState.ABSENT
        resource = self._served(group, version, reference.kind)
        if resource is None:
            return OwnerState.UNKNOWN
        namespace = namespace_of(node) if resource.namespaced else ""
        if resource.namespaced and not namespace:
            return OwnerState.INVALID
        key = object_key(namespace, reference.name)
        owner = self._storage.collection(resource.collection_key).get(key)
        if owner is None or owner.uid != reference.uid:
            return OwnerState.ABSENT
        return OwnerState.WAITING if owner.uid in self._blocking else OwnerState.PRESENT

    def _was_deleted(self, node: Node, group: str, reference: OwnerReference) -> bool:
        """Return True for an owner that was seen to go, even if its kind is not served now."""
        deleted = self._deleted.get(reference.uid)
        keys = {object_key(namespace, reference.name) for namespace in (namespace_of(node), "")}
        return deleted is not None and deleted[:2] == (group, reference.kind) and deleted[2] in keys

    def _served(self, group: str, version: str, kind: str) -> Resource | None:
        served = self._registry.of_version(group, version) or {}
        return next((item for item in served.values() if item.kind == kind), None)


def _blocks(stored: StoredObject, owner: str) -> bool:
    references = stored.read(Head).metadata.owner_references
    return any(item.uid == owner and item.block_owner_deletion for item in references)
