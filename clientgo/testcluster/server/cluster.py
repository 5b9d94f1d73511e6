"""One cluster's API without HTTP: makes the parts and connects them.

Promises: everything here is used on the server's event loop only; see ``objects.state``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from clientgo.testcluster.server.admission.chain import AdmissionChain
from clientgo.testcluster.server.auth.access import Access
from clientgo.testcluster.server.controllers.api_services import ApiServices
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.controllers.bootstrap_roles import create_bootstrap_roles
from clientgo.testcluster.server.controllers.definitions import DefinitionController
from clientgo.testcluster.server.controllers.flow_schemas import FlowSchemaController
from clientgo.testcluster.server.controllers.garbage_collector import GarbageCollector
from clientgo.testcluster.server.controllers.initial_objects import create_initial
from clientgo.testcluster.server.controllers.namespaces import NamespaceController
from clientgo.testcluster.server.controllers.policy_types import PolicyTypeController
from clientgo.testcluster.server.controllers.quotas import QuotaController
from clientgo.testcluster.server.controllers.role_aggregation import RoleAggregationController
from clientgo.testcluster.server.controllers.service_accounts import ServiceAccountController
from clientgo.testcluster.server.kinds.builtin_resources import (
    body_kinds,
    builtin_resources,
    builtin_versions,
)
from clientgo.testcluster.server.objects.state import OLDEST, State
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.journal import Journal
from clientgo.testcluster.server.storage.storage import Storage
from clientgo.util.copies import uncopyable


@uncopyable("it has threads; make one in each process")
class Cluster:
    """The state of a cluster, the writer, and the controllers that follow the writes."""

    def __init__(
        self,
        now: Callable[[], float] = time.time,
        journal: Journal | None = None,
        access: Access | None = None,
        *,
        service_accounts: bool = False,
        minor_version: int = OLDEST,
    ) -> None:
        """Load what a journal has kept; without one, the cluster is in memory only.

        With ``service_accounts``, pods need one, and each namespace has one. ``minor_version`` is
        that of the Kubernetes that the cluster is.

        Raises:
            DataDirectoryError: what was kept is damaged.
        """
        registry = ResourceRegistry(builtin_resources(), body_kinds())
        namespaces = _builtin(registry, "", "v1", "namespaces")
        definitions = _builtin(registry, "apiextensions.k8s.io", "v1", "customresourcedefinitions")
        api_services = _builtin(registry, "apiregistration.k8s.io", "v1", "apiservices")
        access = access or Access()
        storage = Storage(journal)
        self.state = State(
            storage,
            registry,
            now,
            access.authenticator(storage, now),
            access.authorizer(storage),
        )
        self.state.minor_version = minor_version
        self._admission = AdmissionChain(
            storage,
            registry,
            namespaces,
            self.state.authorizer,
            service_accounts=service_accounts,
        )
        self.writer = ObjectWriter(self.state, self._admission)
        self._work = BackgroundWork(self.state.storage)
        parts = (self.state, self.writer, self._work)
        NamespaceController(*parts, namespaces)
        self._accounts = ServiceAccountController(*parts, namespaces) if service_accounts else None
        self._api_services = ApiServices(self.state, self.writer, api_services)
        self._definitions = DefinitionController(*parts, definitions, self._api_services)
        self._collector = GarbageCollector(*parts)
        PolicyTypeController(self.state, self._work)
        QuotaController(self.state, self._work, self._admission.quotas)
        self._flow_schemas = FlowSchemaController(*parts)
        cluster_roles = _builtin(registry, "rbac.authorization.k8s.io", "v1", "clusterroles")
        RoleAggregationController(*parts, cluster_roles)

    async def begin(self, address: str, port: int, authority: str = "") -> None:
        """Continue with what was restored or stopped; create what every cluster has from the start.

        ``address`` and ``port`` are where the server listens, ``authority`` what clients trust.
        """
        storage = self.state.storage
        restored = storage.take_restored()
        restored.sort(key=lambda collection: collection is not self._definitions.collection)
        for collection in restored:
            storage.announce(collection)
            if collection is self._definitions.collection:
                await self.settle()  # custom resources may follow
        self._collector.begin()
        self._work.resume()
        create_initial(self.writer, address, port, accounts=self._accounts is not None)
        self._api_services.create_initial(
            {item.name: item.priorities for item in builtin_versions() if item.priorities}
        )
        create_bootstrap_roles(self.writer)
        self._flow_schemas.create_initial()
        if self._accounts is not None:
            self._accounts.create_initial(authority)

    async def settle(self) -> None:
        """Wait until the work that earlier writes have started is done."""
        await self._work.settle()

    def close(self) -> None:
        """End the threads of the cluster; the storage stays open."""
        self._work.close()
        self._admission.close()
        self._definitions.close()
        self.state.large_work.close()


def _builtin(registry: ResourceRegistry, group: str, version: str, plural: str) -> Resource:
    resource = registry.find(group, version, plural)
    if resource is None:
        raise LookupError(f"{plural}.{group} is not built in")
    return resource
