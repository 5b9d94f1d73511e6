"""The life of namespaces: which there are, and how a deleted one is emptied before it goes.

Promises: deleting a namespace deletes all it holds; it is gone when the last object is, however
long finalizers keep that. Nothing new is admitted meanwhile.

Upstream: the namespace controller, ``pkg/controller/namespace``. It polls discovery and lists
everything; here the controller is told of each deletion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clientgo.apiserver.objects.writes import Target, create_object, delete_object, read_object
from clientgo.apiserver.requests.options import DeleteOptions, FieldValidation
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import StatusError
from clientgo.apiserver.storage.storage import Change, Collection, EventType

if TYPE_CHECKING:
    from clientgo.apiserver.cluster import Cluster

INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class NamespaceController:
    """Empties namespaces that are being deleted."""

    def __init__(self, cluster: Cluster, resource: Resource) -> None:
        self.resource = resource
        self._cluster = cluster
        self._collection = cluster.storage.collection(resource.collection_key)
        self._phases: dict[str, str] = {}
        cluster.storage.observe(self._observe)

    def phase(self, namespace: str) -> str | None:
        """``Active``, ``Terminating``, or None if there is no such namespace."""
        return self._phases.get(namespace)

    def labels(self, namespace: str) -> dict[str, str]:
        """The labels of a namespace; none if there is no such namespace."""
        stored = self._collection.get(namespace)
        return stored.labels if stored else {}

    def _observe(self, collection: Collection, change: Change) -> None:
        if collection is not self._collection:
            if change.type is EventType.DELETED:
                namespace = change.current.key.partition("/")[0]
                if self._phases.get(namespace) == "Terminating":
                    self._cluster.spawn(self._finish_if_empty(namespace))
            return
        name = change.current.key
        if change.type is EventType.DELETED:
            self._phases.pop(name, None)
            return
        before = self._phases.get(name)
        metadata = change.current.decode()["metadata"]
        phase = "Terminating" if "deletionTimestamp" in metadata else "Active"
        self._phases[name] = phase
        if phase == "Terminating" and before != phase:
            self._cluster.spawn(self._empty(name))

    async def _empty(self, namespace: str) -> None:
        """Delete every object in a namespace; those with finalizers stay for now."""
        for resource in self._cluster.stored_resources():
            if not resource.namespaced:
                continue
            collection = self._cluster.storage.collection(resource.collection_key)
            for item in list(collection.scan(namespace)):
                target = Target(resource, namespace, item.key.partition("/")[2])
                try:
                    await delete_object(self._cluster, target, DeleteOptions(grace_period=0))
                except StatusError as error:
                    self._cluster.log.info("namespace %s keeps %s: %s", namespace, item.key, error)
        await self._finish_if_empty(namespace)

    async def _finish_if_empty(self, namespace: str) -> None:
        stored = self._collection.get(namespace)
        if stored is None or self._phases.get(namespace) != "Terminating":
            return
        for collection in self._cluster.storage.collections():
            if next(collection.scan(namespace), None) is not None:
                return
        obj = stored.decode()
        finalizers = [item for item in obj["spec"].get("finalizers", ()) if item != "kubernetes"]
        if finalizers or obj["metadata"].get("finalizers"):
            if finalizers != obj["spec"].get("finalizers"):
                obj["spec"]["finalizers"] = finalizers
                self._cluster.storage.put(self._collection, namespace, obj, stored.fields)
            return
        self._cluster.storage.delete(self._collection, namespace)

    async def create_initial(self) -> None:
        """Make the namespaces that every cluster begins with."""
        for name in INITIAL_NAMESPACES:
            if self._collection.get(name) is None:
                obj = {
                    "apiVersion": self.resource.api_version,
                    "kind": self.resource.kind,
                    "metadata": {"name": name},
                }
                obj, _ = read_object(self.resource, obj, (), FieldValidation.IGNORE)
                await create_object(
                    self._cluster, self.resource, "", obj, self._cluster.own_options
                )
