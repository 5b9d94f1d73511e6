"""The garbage collector: deletes objects whose owners have been deleted.

Promises: dependents of a deleted owner are deleted if they have no other owner (background); an
owner deleted in the foreground waits for the dependents that block it; an owner deleted with Orphan
is removed from its dependents' references. A reference to an object that never existed counts as a
deleted owner, as on a real cluster, once its kind is served. A write that admission refuses is
tried again.

Differs from upstream (``pkg/controller/garbagecollector``), which builds a graph from informers:
here the collector observes each change, so its two indexes are always exact.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.deletion import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from clientgo.testcluster.server.objects.options import SERVER_OPTIONS, DeleteOptions, Propagation
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.turns import in_turns
from clientgo.testcluster.server.objects.writer import (
    ObjectChange,
    ObjectWriter,
    Target,
    WriteResult,
)
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.storage.storage import Change, Collection, Object, StoredObject

LOG = logging.getLogger("clientgo.testcluster.server")

_OWNER_TIMEOUT = 0.5
"""Seconds until an object goes whose owners have never existed.

A real collector asks the API for an owner that it does not know, and may ask again.
"""

Node = tuple[Collection, str]
"""An object: its collection and its key there."""


class GarbageCollector:
    """Follows owner references. On the server's event loop only."""

    def __init__(self, state: State, writer: ObjectWriter, work: BackgroundWork) -> None:
        self._registry = state.registry
        self._writer = writer
        self._work = work
        self._by_uid: dict[str, Node] = {}
        self._dependents: dict[str, set[Node]] = {}
        self._deleted: set[str] = set()
        """Owners that were deleted, and still have dependents."""
        state.storage.observe(self._observe)

    def _observe(self, collection: Collection, change: Change) -> None:
        current, previous = change.current, change.previous
        node = (collection, current.key)
        if change.type is EventType.DELETED:
            self._by_uid.pop(current.uid, None)
            if previous is not None:
                self._unlink(node, previous.owners)
            if current.uid in self._dependents:
                self._deleted.add(current.uid)
                self._work.start(self._collect_dependents(current.uid))
            if previous is not None and previous.owners:
                self._work.start(self._release_owners(previous.owners))
            return
        self._by_uid[current.uid] = node
        if previous is not None and previous.owners != current.owners:
            self._unlink(node, previous.owners)
        for owner in current.owners:
            self._dependents.setdefault(owner, set()).add(node)
        if any(owner not in self._by_uid for owner in current.owners):
            self._work.start(self._collect(node), after=_OWNER_TIMEOUT)
        if b'"finalizers"' in current.raw and b'"deletionTimestamp"' in current.raw:
            self._work.start(self._finish_owner(node))
        if previous is not None and previous.owners:
            self._work.start(self._release_owners(previous.owners))

    def _unlink(self, node: Node, owners: tuple[str, ...]) -> None:
        for owner in owners:
            dependents = self._dependents.get(owner)
            if dependents is not None:
                dependents.discard(node)
                if not dependents:
                    del self._dependents[owner]
                    self._deleted.discard(owner)

    # -- owners that were deleted

    async def _collect_dependents(self, owner: str) -> None:
        async for node in in_turns(list(self._dependents.get(owner, ()))):
            await self._collect(node)

    async def _collect(self, node: Node) -> None:
        """Delete an object that has no owner left; else remove the references to deleted owners."""
        stored = node[0].get(node[1])
        references = [] if stored is None else _references(stored)
        present = [item for item in references if item["uid"] in self._by_uid]
        if not all(
            item["uid"] in self._by_uid or self._can_be_asked_for(item) for item in references
        ):
            self._work.retry(self._collect, node)
            return
        done = True
        if stored is not None and not present and references:
            done = await self._delete(node, stored)
        elif len(present) < len(references):
            deleted = {item["uid"] for item in references} - {item["uid"] for item in present}
            done = await self._forget_owners(node, deleted)
        self._end(self._collect, node, done=done)

    def _end(
        self, function: Callable[[Node], Coroutine[Any, Any, None]], node: Node, *, done: bool
    ) -> None:
        """Call a function for an object again later, unless its work is done."""
        if done:
            self._work.forget(function, node)
        else:
            self._work.retry(function, node)

    def _can_be_asked_for(self, reference: Mapping[str, Any]) -> bool:
        """Return False for an owner of a kind that is not served, which may exist anyway."""
        group, _, version = reference["apiVersion"].rpartition("/")
        served = self._registry.of_version(group, version) or {}
        is_served = any(resource.kind == reference["kind"] for resource in served.values())
        return is_served or reference["uid"] in self._deleted

    async def _delete(
        self, node: Node, stored: StoredObject, propagation: Propagation | None = None
    ) -> bool:
        options = DeleteOptions(uid=stored.uid, propagation=propagation)
        return await self._try(node, lambda target: self._writer.delete(target, options))

    async def _forget_owners(self, node: Node, deleted: set[str]) -> bool:
        def change(obj: Object) -> Object:
            metadata = obj["metadata"]
            kept = [
                item for item in metadata.get("ownerReferences", ()) if item["uid"] not in deleted
            ]
            if kept:
                metadata["ownerReferences"] = kept
            else:
                metadata.pop("ownerReferences", None)
            return obj

        return await self._update(node, change)

    # -- owners that wait for their dependents

    async def _release_owners(self, owners: tuple[str, ...]) -> None:
        """Check the owners of an object that was deleted or changed."""
        async for owner in in_turns(owners):
            if node := self._by_uid.get(owner):
                await self._finish_owner(node)

    async def _finish_owner(self, node: Node) -> None:
        """Continue the deletion of an owner that waits for its dependents."""
        stored = node[0].get(node[1])
        is_marked = stored is not None and b'"deletionTimestamp"' in stored.raw
        metadata = stored.decode()["metadata"] if stored is not None and is_marked else {}
        finalizers = metadata.get("finalizers", ()) if "deletionTimestamp" in metadata else ()
        done = True
        if stored is not None and ORPHAN_FINALIZER in finalizers:
            for dependent in list(self._dependents.get(stored.uid, ())):
                done = await self._forget_owners(dependent, {stored.uid}) and done
            done = done and await self._drop_finalizer(node, ORPHAN_FINALIZER)
        elif stored is not None and FOREGROUND_FINALIZER in finalizers:
            done = await self._delete_blocking(node, stored)
        self._end(self._finish_owner, node, done=done)

    async def _delete_blocking(self, node: Node, owner: StoredObject) -> bool:
        """Delete the dependents of an owner, then the owner if none of them blocks it.

        Return False if a write was refused.
        """
        done, blocked = True, False
        for dependent in list(self._dependents.get(owner.uid, ())):
            stored = dependent[0].get(dependent[1])
            if stored is None:
                continue
            references = _references(stored)
            others = [
                item
                for item in references
                if item["uid"] != owner.uid and item["uid"] in self._by_uid
            ]
            if others:
                done = await self._forget_owners(dependent, {owner.uid}) and done
                continue
            blocks = any(
                item["uid"] == owner.uid and item.get("blockOwnerDeletion") for item in references
            )
            if b'"deletionTimestamp"' not in stored.raw:
                propagation = self._propagation_to(stored)
                done = await self._delete(dependent, stored, propagation) and done
            blocked = blocked or (blocks and dependent[0].get(dependent[1]) is not None)
        if not blocked:
            done = await self._drop_finalizer(node, FOREGROUND_FINALIZER) and done
        return done

    def _propagation_to(self, stored: StoredObject) -> Propagation | None:
        """Return Foreground for an object that has dependents itself."""
        return Propagation.FOREGROUND if stored.uid in self._dependents else None

    async def _drop_finalizer(self, node: Node, finalizer: str) -> bool:
        def change(obj: Object) -> Object:
            metadata = obj["metadata"]
            kept = [item for item in metadata.get("finalizers", ()) if item != finalizer]
            if kept:
                metadata["finalizers"] = kept
            else:
                metadata.pop("finalizers", None)
            return obj

        return await self._update(node, change)

    # -- writes

    def _target(self, node: Node) -> Target | None:
        collection, key = node
        versions = self._registry.of_collection(collection.key)
        if not versions:
            return None
        namespace, _, name = key.rpartition("/")
        return Target(versions[0], namespace, name)

    async def _update(self, node: Node, change: ObjectChange) -> bool:
        return await self._try(
            node, lambda target: self._writer.update(target, change, SERVER_OPTIONS)
        )

    async def _try(self, node: Node, write: Callable[[Target], Awaitable[WriteResult]]) -> bool:
        """Write; return False if that was refused, by a webhook or because a client was faster."""
        target = self._target(node)
        if target is None:
            return False
        try:
            await write(target)
        except FailedRequestError as error:
            if error.code != 404:
                LOG.info("garbage collector: %s: %s", target.key, error)
                return False
        return True


def _references(stored: StoredObject) -> list[dict[str, Any]]:
    return list(stored.decode()["metadata"].get("ownerReferences", ()))
