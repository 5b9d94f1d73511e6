"""The namespace controller: a namespace that is deleted is emptied first.

Promises: deleting a namespace deletes all its objects, the pods first: the rest (what the pods may
use, and what limits their network) waits until no pod is left. The namespace is removed with its
last object, however long finalizers keep that. A deletion that admission refuses is tried again.

Differs from upstream (``pkg/controller/namespace``), which polls discovery and lists everything:
here the controller observes each deletion.
"""

from __future__ import annotations

import logging
from collections import Counter

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.admission.plugins.cluster import CLAIM_PROTECTION
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.options import SERVER_OPTIONS, DeleteOptions
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.storing import Target
from clientgo.testcluster.server.objects.turns import in_turns
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Change, Collection, CollectionKey, Object

_CLAIMS = ("", "persistentvolumeclaims")
_PODS = ("", "pods")

_REPORT_DELAY = 0.5
"""Seconds until the conditions show what is left; many objects may go meanwhile."""

LOG = logging.getLogger("clientgo.testcluster.server")


class NamespaceController:
    """Empties namespaces that are being deleted."""

    def __init__(
        self, state: State, writer: ObjectWriter, work: BackgroundWork, resource: Resource
    ) -> None:
        """Follow the namespaces, which are served as ``resource``."""
        self._resource = resource
        self._state = state
        self._writer = writer
        self._work = work
        self._collection = state.storage.collection(resource.collection_key)
        self._terminating: set[str] = set()
        self._refusals: dict[str, dict[CollectionKey, str]] = {}
        """Why objects of a namespace could not be deleted last time, once for each resource."""
        state.storage.observe(self._observe)

    def _observe(self, collection: Collection, change: Change) -> None:
        if collection is not self._collection:
            if change.type is EventType.DELETED:
                namespace = change.current.key.partition("/")[0]
                if namespace in self._terminating:
                    was_last_pod = collection.key == _PODS and not self._has_pods(namespace)
                    go_on = self._empty if was_last_pod else self._finish_if_empty
                    self._work.start(go_on(namespace))
            return
        name = change.current.key
        if change.type is EventType.DELETED:
            self._terminating.discard(name)
            self._refusals.pop(name, None)
            self._work.forget(self._empty, name)
        elif (
            name not in self._terminating
            and "deletionTimestamp" in change.current.decode()["metadata"]
        ):
            self._terminating.add(name)
            self._work.start(self._empty(name))

    async def _empty(self, namespace: str) -> None:
        """Delete the pods of a namespace, and all else if none is left.

        Objects with finalizers stay for now.
        """
        refusals: dict[CollectionKey, str] = {}
        resources = [item for item in self._state.registry.stored() if item.namespaced]
        resources.sort(key=lambda resource: resource.collection_key != _PODS)
        for resource in resources:
            await self._delete_all(namespace, resource, refusals)
            if namespace not in self._terminating:
                return
            if resource.collection_key == _PODS and self._has_pods(namespace):
                break
        self._refusals[namespace] = refusals
        if refusals:
            self._work.retry(self._empty, namespace)
        else:
            self._work.forget(self._empty, namespace)
        await self._finish_if_empty(namespace)

    def _has_pods(self, namespace: str) -> bool:
        return next(self._state.storage.collection(_PODS).scan(namespace), None) is not None

    async def _delete_all(
        self, namespace: str, resource: Resource, refusals: dict[CollectionKey, str]
    ) -> None:
        """Delete the objects of a resource while their namespace is being deleted."""
        collection = self._state.storage.collection(resource.collection_key)
        async for item in in_turns(list(collection.scan(namespace))):
            if namespace not in self._terminating:
                return
            target = Target(resource, namespace, item.key.partition("/")[2])
            try:
                await self._writer.delete(target, DeleteOptions(grace_period=0))
                await self._unprotect(target)
            except FailedRequestError as error:
                if collection.get(item.key) is not None:
                    refusals.setdefault(resource.collection_key, error.message)
                LOG.info("namespace %s keeps %s: %s", namespace, item.key, error)

    async def _unprotect(self, target: Target) -> None:
        """Let a claim go: the pods that could use it go with the namespace too."""
        if target.resource.collection_key != _CLAIMS:
            return

        def unprotected(claim: Object) -> Object:
            finalizers = claim["metadata"].get("finalizers", ())
            kept = [item for item in finalizers if item != CLAIM_PROTECTION]
            claim["metadata"]["finalizers"] = kept
            return claim

        await self._writer.update(target, unprotected, SERVER_OPTIONS)

    async def _finish_if_empty(self, namespace: str) -> None:
        storage = self._state.storage
        stored = self._collection.get(namespace)
        if stored is None or namespace not in self._terminating:
            return
        for collection in storage.collections():
            if next(collection.scan(namespace), None) is not None:
                self._work.later(_REPORT_DELAY, self._report, namespace)
                return
        obj = stored.decode()
        finalizers = [item for item in obj["spec"].get("finalizers", ()) if item != "kubernetes"]
        if finalizers or obj["metadata"].get("finalizers"):
            if finalizers != obj["spec"].get("finalizers"):
                obj["spec"]["finalizers"] = finalizers
                storage.put(self._collection, namespace, obj, stored.fields)
            return
        storage.delete(self._collection, namespace)

    async def _report(self, namespace: str) -> None:
        """Show in the conditions of a namespace what it waits for."""
        stored = self._collection.get(namespace)
        if stored is None or not (remaining := self._remaining(namespace)):
            return
        refusals = self._refusals.get(namespace, {})
        conditions = _conditions(
            remaining, {key: message for key, message in refusals.items() if key in remaining}
        )
        obj = stored.decode()
        if _set_conditions(obj, conditions, self._state.timestamp()):
            self._state.storage.put(self._collection, namespace, obj, stored.fields)

    def _remaining(self, namespace: str) -> dict[CollectionKey, list[Object]]:
        """Return the objects that a namespace waits for by their resource: pods, else all."""
        found: dict[CollectionKey, list[Object]] = {}
        collections = self._state.storage.collections()
        if self._has_pods(namespace):
            collections = [self._state.storage.collection(_PODS)]
        for collection in collections:
            if objects := [item.decode() for item in collection.scan(namespace)]:
                found[collection.group, collection.plural] = objects
        return found


_Condition = tuple[str, str, str, str]
"""Type, status, reason and message."""


def _set_conditions(namespace: Object, wanted: list[_Condition], now: str) -> bool:
    """Set the conditions of a namespace that waits for its content; return True if they change."""
    status = namespace.setdefault("status", {})
    before = {item["type"]: item for item in status.get("conditions") or ()}
    after = dict(before)
    for name, value, reason, message in wanted:
        known = before.get(name, {})
        changed = now if known.get("status") != value else known["lastTransitionTime"]
        after[name] = {
            "type": name,
            "status": value,
            "lastTransitionTime": changed,
            "reason": reason,
            "message": message,
        }
    status["conditions"] = list(after.values())
    return after != before


_SUCCESSES: tuple[_Condition, ...] = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
)
"""What can't fail here."""


def _conditions(
    remaining: dict[CollectionKey, list[Object]], refusals: dict[CollectionKey, str]
) -> list[_Condition]:
    """Return the conditions; a resource whose deletion was refused does not count as remaining."""
    counted = {key: objects for key, objects in remaining.items() if key not in refusals}
    conditions = (_refusals(refusals), _content(counted), _finalizers(counted))
    return [*_SUCCESSES, *conditions]


def _refusals(refusals: dict[CollectionKey, str]) -> _Condition:
    name = "NamespaceDeletionContentFailure"
    if not refusals:
        done = "All content successfully deleted, may be waiting on finalization"
        return name, "False", "ContentDeleted", done
    failed = f"Failed to delete all resource types, {len(refusals)} remaining: "
    return name, "True", "ContentDeletionFailed", failed + ", ".join(sorted(refusals.values()))


def _content(remaining: dict[CollectionKey, list[Object]]) -> _Condition:
    name = "NamespaceContentRemaining"
    if not remaining:
        return name, "False", "ContentRemoved", "All content successfully removed"
    counts = [
        f"{plural}.{group} has {len(objects)} resource instances"
        for (group, plural), objects in remaining.items()
    ]
    message = f"Some resources are remaining: {', '.join(sorted(counts))}"
    return name, "True", "SomeResourcesRemain", message


def _finalizers(remaining: dict[CollectionKey, list[Object]]) -> _Condition:
    name = "NamespaceFinalizersRemaining"
    finalizers = Counter(
        finalizer
        for objects in remaining.values()
        for obj in objects
        for finalizer in obj["metadata"].get("finalizers", ())
    )
    if not finalizers:
        done = "All content-preserving finalizers finished"
        return name, "False", "ContentHasNoFinalizers", done
    counts = [f"{item} in {count} resource instances" for item, count in finalizers.items()]
    message = "Some content in the namespace has finalizers remaining: "
    return name, "True", "SomeFinalizersRemain", message + ", ".join(sorted(counts))
