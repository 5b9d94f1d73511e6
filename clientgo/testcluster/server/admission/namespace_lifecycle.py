"""The NamespaceLifecycle plugin: nothing is created in a namespace that is missing or terminating.

Upstream: apiserver ``admission/plugin/namespace/lifecycle``.
"""

from __future__ import annotations

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.resources.errors import forbidden, not_found
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Change, Collection, Storage

_UNDELETABLE = frozenset({"default", "kube-system", "kube-public"})


class NamespaceLifecycle:
    """Knows the namespaces and which of them are terminating."""

    def __init__(self, storage: Storage, resource: Resource) -> None:
        """Follow the namespaces in ``storage``, which are served as ``resource``."""
        self._resource = resource
        self._collection = storage.collection(resource.collection_key)
        self._terminating: dict[str, bool] = {}
        """True or False for each namespace that exists."""
        storage.observe(self._observe, resource.collection_key)

    def _observe(self, _: Collection, change: Change) -> None:
        name = change.current.key
        if change.type is EventType.DELETED:
            self._terminating.pop(name, None)
        else:
            metadata = change.current.decode()["metadata"]
            self._terminating[name] = "deletionTimestamp" in metadata

    def labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a namespace; none if it does not exist."""
        stored = self._collection.get(namespace)
        return stored.labels if stored else {}

    def check_create(self, resource: Resource, namespace: str, name: str) -> None:
        """Refuse to create an object in a namespace that is missing or terminating.

        Raises:
            FailedRequestError: 404 or 403.
        """
        if not resource.namespaced or not namespace:
            return
        terminating = self._terminating.get(namespace)
        if terminating is None:
            raise not_found(self._resource, namespace)
        if terminating:
            raise forbidden(
                resource,
                name,
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated",
                [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {namespace} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            )

    def check_delete(self, resource: Resource, name: str) -> None:
        """Refuse to delete the namespaces that every cluster has.

        Raises:
            FailedRequestError: 403.
        """
        if resource.collection_key == self._resource.collection_key and name in _UNDELETABLE:
            raise forbidden(resource, name, "this namespace may not be deleted")
