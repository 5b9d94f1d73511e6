"""The garbage collector: deletes objects whose owners have been deleted.

Promises: dependents of a deleted owner are deleted if they have no other owner (background); an
owner deleted in the foreground waits for the dependents that block it; an owner deleted with Orphan
is removed from its dependents' references. An owner is found by kind, namespace, name and uid: a
reference to what never existed counts as a deleted owner, as on a real cluster, once its kind is
served. A write that admission refuses is tried again.

Differs from upstream (``pkg/controller/garbagecollector``), which builds a graph from informers:
here the collector observes each change, so its graph is always exact.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from clientgo.meta.timestamps import format_time
from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.controllers.owner_graph import (
    Head,
    Node,
    OwnerGraph,
    OwnerReference,
    OwnerState,
    namespace_of,
)
from clientgo.testcluster.server.objects.deletion import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from clientgo.testcluster.server.objects.options import SERVER_OPTIONS, DeleteOptions, Propagation
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.storing import Target
from clientgo.testcluster.server.objects.turns import in_turns
from clientgo.testcluster.server.objects.writer import (
    ObjectChange,
    ObjectWriter,
    WriteResult,
)
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.storage.storage import Change, Collection, Object, StoredObject

LOG = logging.getLogger("clientgo.testcluster.server")

_OWNER_TIMEOUT = 0.5
"""Seconds until an object goes whose owners have never existed.

A real collector asks the API for an owner that it does not know, and may ask again.
"""

_IGNORED: Final = frozenset({("", "events")})
"""Collections whose objects are not collected."""

_COMPONENT = "garbage-collector-controller"
"""Who reports events."""


class GarbageCollector:
    """Follows owner references. On the server's event loop only."""

    def __init__(self, state: State, writer: ObjectWriter, work: BackgroundWork) -> None:
        self._state = state
        self._writer = writer
        self._work = work
        self._graph = OwnerGraph(state.storage, state.registry)
        self._early: list[Node] | None = []
        """What was to be looked at before the graph had all restored objects; then None."""
        state.storage.observe(self._observe)

    def begin(self) -> None:
        """Look at what was restored: its owners and dependents are known now."""
        early, self._early = self._early, None
        self._start(early or [])

    def _observe(self, collection: Collection, change: Change) -> None:
        current, previous = change.current, change.previous
        node = (collection, current.key)
        before = () if previous is None else previous.owners
        if change.type is EventType.DELETED:
            self._start(self._graph.remove(node, current))
            self._start(self._graph.link(node, before, None))
            return
        self._graph.add(node, current.uid)
        if collection.key in _IGNORED:
            return
        if before or current.owners:
            self._start(self._graph.link(node, before, current))
            if before != current.owners:
                self._check_new_owners(node, current, before)
        if b'"finalizers"' in current.raw and b'"deletionTimestamp"' in current.raw:
            waits = current.read(Head).waits_for_dependents
            begins = self._graph.note_waiting(current.uid, waits=waits)
            self._start([*(self._graph.dependents(current.uid) if begins else ()), node])

    def _check_new_owners(self, node: Node, stored: StoredObject, before: tuple[str, ...]) -> None:
        """Look at an object soon, unless the owners that it has got are all there."""
        known, reported, delays = set(before), False, set()
        for reference in stored.read(Head).metadata.owner_references:
            if reference.uid in known:
                continue
            state = self._graph.state_of_owner(node, reference)
            if state is OwnerState.PRESENT:
                continue
            owner = self._graph.find(reference.uid)
            if owner and not reported:
                reported = True
                if namespace_of(owner) not in ("", namespace_of(node)):
                    self._work.start(self._report_invalid_namespace(node, stored, reference))
            delays.add(0 if owner else _OWNER_TIMEOUT)
        if delays:
            self._work.start(self._attempt(node), after=min(delays))

    def _start(self, nodes: list[Node]) -> None:
        if nodes:
            self._work.start(self._attempt_all(nodes))

    async def _attempt_all(self, nodes: Iterable[Node]) -> None:
        async for node in in_turns(nodes):
            await self._attempt(node)

    async def _attempt(self, node: Node) -> None:
        """Do what is due for an object; again later if that was not possible."""
        if self._early is not None:
            self._early.append(node)
            return
        stored = node[0].get(node[1])
        if stored is None or await self._process(node, stored):
            self._work.forget(self._attempt, node)
        else:
            self._work.retry(self._attempt, node)

    async def _process(self, node: Node, stored: StoredObject) -> bool:
        """Delete an object that has no owner left, or continue its deletion; return False to retry.

        Upstream: ``attemptToDeleteItem``.
        """
        metadata = stored.read(Head).metadata
        if metadata.deletion_timestamp is not None:
            return await self._finish(node, stored.uid, metadata.finalizers)
        owners: defaultdict[OwnerState, set[str]] = defaultdict(set)
        for reference in metadata.owner_references:
            state = self._graph.state_of_owner(node, reference)
            if state in (OwnerState.UNKNOWN, OwnerState.INVALID):
                return state is OwnerState.INVALID
            owners[state].add(reference.uid)
        if not owners:
            return True
        if owners[OwnerState.PRESENT]:
            left = owners[OwnerState.ABSENT] | owners[OwnerState.WAITING]
            return not left or await self._forget_owners(node, left)
        propagation = _own_propagation(metadata.finalizers)
        dependents = self._graph.dependents(stored.uid)
        if owners[OwnerState.WAITING] and dependents:
            propagation = Propagation.FOREGROUND
            if any(self._graph.is_waiting(dependent) for dependent in dependents):
                # It may be a circle, in which each waits for the next.
                return await self._unblock_owners(node) and await self._delete(node, propagation)
        return await self._delete(node, propagation)

    async def _finish(self, node: Node, uid: str, finalizers: Iterable[str]) -> bool:
        """Continue the deletion of an object that its dependents have to do with."""
        if ORPHAN_FINALIZER in finalizers:
            done = True
            async for dependent in in_turns(self._graph.dependents(uid)):
                done = await self._forget_owners(dependent, {uid}) and done
            return done and await self._drop_finalizer(node, ORPHAN_FINALIZER)
        if FOREGROUND_FINALIZER in finalizers and not self._graph.is_blocked(uid):
            return await self._drop_finalizer(node, FOREGROUND_FINALIZER)
        return True

    # -- writes

    async def _delete(self, node: Node, propagation: Propagation) -> bool:
        stored = node[0].get(node[1])
        if stored is None:
            return True
        options = DeleteOptions(
            uid=stored.uid,
            resource_version=str(stored.resource_version),  # its owners may change meanwhile
            propagation=propagation,
        )
        return await self._try(node, lambda target: self._writer.delete(target, options))

    async def _forget_owners(self, node: Node, owners: set[str]) -> bool:
        def change(obj: Object) -> Object:
            references = obj["metadata"].get("ownerReferences", ())
            kept = [item for item in references if item["uid"] not in owners]
            return _with_list(obj, "ownerReferences", kept)

        return await self._update(node, change)

    async def _unblock_owners(self, node: Node) -> bool:
        def change(obj: Object) -> Object:
            for reference in obj["metadata"].get("ownerReferences", ()):
                if reference.get("blockOwnerDeletion"):
                    reference["blockOwnerDeletion"] = False
            return obj

        return await self._update(node, change)

    async def _drop_finalizer(self, node: Node, finalizer: str) -> bool:
        def change(obj: Object) -> Object:
            finalizers = obj["metadata"].get("finalizers", ())
            return _with_list(obj, "finalizers", [item for item in finalizers if item != finalizer])

        return await self._update(node, change)

    async def _update(self, node: Node, change: ObjectChange) -> bool:
        return await self._try(
            node, lambda target: self._writer.update(target, change, SERVER_OPTIONS)
        )

    async def _try(self, node: Node, write: Callable[[Target], Awaitable[WriteResult]]) -> bool:
        """Write; return False if that was refused, by a webhook or because a client was faster."""
        collection, key = node
        versions = self._state.registry.of_collection(collection.key)
        if not versions:
            return False
        namespace, _, name = key.rpartition("/")
        try:
            await write(Target(versions[0], namespace, name))
        except FailedRequestError as error:
            if error.code != 404:
                LOG.info("garbage collector: %s: %s", key, error)
                return False
        return True

    async def _report_invalid_namespace(
        self, node: Node, stored: StoredObject, reference: OwnerReference
    ) -> None:
        """Record an event about an object that names an owner of another namespace."""
        namespace, _, name = node[1].rpartition("/")
        head, moment = stored.read(Head), self._state.now()
        owner = (
            f"[{reference.api_version}/{reference.kind}, namespace: {namespace}, "
            f"name: {reference.name}, uid: {reference.uid}]"
        )
        time = format_time(moment)
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{name}.{int(moment * 1e9):x}",
                "namespace": namespace or "default",
            },
            "involvedObject": {
                "kind": head.kind,
                **({"namespace": namespace} if namespace else {}),
                "name": name,
                "uid": stored.uid,
                "apiVersion": head.api_version,
            },
            "reason": "OwnerRefInvalidNamespace",
            "message": f'ownerRef {owner} does not exist in namespace "{namespace}"',
            "type": "Warning",
            "source": {"component": _COMPONENT},
            "reportingComponent": _COMPONENT,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        }
        events = self._state.registry.find("", "v1", "events")
        if events is None:
            return
        try:
            await self._writer.create(events, event["metadata"]["namespace"], event, SERVER_OPTIONS)
        except FailedRequestError as error:
            LOG.info("garbage collector: event for %s: %s", node[1], error)


def _own_propagation(finalizers: Iterable[str]) -> Propagation:
    """Return what an object itself asks for; its kind's default is for clients."""
    if ORPHAN_FINALIZER in finalizers:
        return Propagation.ORPHAN
    if FOREGROUND_FINALIZER in finalizers:
        return Propagation.FOREGROUND
    return Propagation.BACKGROUND


def _with_list(obj: Object, field: str, items: list[Any]) -> Object:
    """Return the object with a list in its metadata, without the field if the list is empty."""
    if items:
        obj["metadata"][field] = items
    else:
        obj["metadata"].pop(field, None)
    return obj
