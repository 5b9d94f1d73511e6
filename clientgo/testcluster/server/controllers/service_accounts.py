"""What each namespace has: the ServiceAccount ``default`` and the ConfigMap ``kube-root-ca.crt``.

Promises: both are there soon after their namespace, and come back if a client deletes or changes
them, until the namespace is deleted. A server makes them only if it is asked to
(``service_accounts``): on a real cluster controllers make them, not the API server.

Upstream: ``pkg/controller/serviceaccount`` and ``pkg/controller/certificates/rootcacertpublisher``.
"""

from __future__ import annotations

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Change, Collection

DEFAULT_ACCOUNT = "default"
ROOT_AUTHORITY = "kube-root-ca.crt"


class ServiceAccountController:
    """Keeps the account and the certificate authority of each namespace."""

    def __init__(
        self, state: State, writer: ObjectWriter, work: BackgroundWork, namespaces: Resource
    ) -> None:
        """Follow the namespaces, which are served as ``namespaces``."""
        self._writer = writer
        self._work = work
        self._namespaces = state.storage.collection(namespaces.collection_key)
        self._kept = {
            ("", "serviceaccounts"): DEFAULT_ACCOUNT,
            ("", "configmaps"): ROOT_AUTHORITY,
        }
        self._authority = ""
        state.storage.observe(self._observe, namespaces.collection_key, *self._kept)

    def create_initial(self, authority: str) -> None:
        """Create what is missing; ``authority`` is what clients must trust, in PEM."""
        self._authority = authority
        for stored in list(self._namespaces.scan()):
            self._keep(stored.key)

    def _observe(self, collection: Collection, change: Change) -> None:
        if collection is self._namespaces:
            if change.type is EventType.ADDED:
                self._work.start(self._keep_soon(change.current.key))
            return
        if change.type is not EventType.ADDED:
            namespace, _, changed = change.current.key.partition("/")
            if changed == self._kept[collection.key]:
                self._work.start(self._keep_soon(namespace))

    async def _keep_soon(self, namespace: str) -> None:
        self._keep(namespace)

    def _keep(self, namespace: str) -> None:
        stored = self._namespaces.get(namespace)
        if stored is None or "deletionTimestamp" in stored.decode()["metadata"]:
            return
        metadata = {"name": DEFAULT_ACCOUNT, "namespace": namespace}
        self._writer.put_own("v1", "serviceaccounts", {"metadata": metadata}, keep=True)
        obj = {
            "metadata": {"name": ROOT_AUTHORITY, "namespace": namespace},
            "data": {"ca.crt": self._authority},
        }
        self._writer.put_own("v1", "configmaps", obj)
