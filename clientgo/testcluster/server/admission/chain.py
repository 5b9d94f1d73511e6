"""The order of admission: namespace life cycle, definitions, plugins, webhooks, roles, quotas.

Upstream: apiserver ``admission.chainAdmissionHandler``; ``kubeapiserver/options/plugins.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.admission.namespace_lifecycle import NamespaceLifecycle
from clientgo.testcluster.server.admission.plugins.quotas import ResourceQuotas
from clientgo.testcluster.server.admission.plugins.table import Plugins
from clientgo.testcluster.server.admission.policies.plugin import AdmissionPolicies
from clientgo.testcluster.server.admission.role_escalation import RoleEscalation
from clientgo.testcluster.server.admission.webhooks import Webhooks
from clientgo.testcluster.server.auth.authorization.authorizer import Authorizer
from clientgo.testcluster.server.auth.authorization.rbac import RBAC
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.resources.errors import FailedRequestError, forbidden
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Storage


class AdmissionChain:
    """All admission of one server. Without matching webhooks nothing is awaited."""

    def __init__(
        self,
        storage: Storage,
        registry: ResourceRegistry,
        namespaces: Resource,
        authorizer: Authorizer,
        *,
        service_accounts: bool,
    ) -> None:
        self._registry = registry
        self._namespaces = NamespaceLifecycle(storage, namespaces)
        self._plugins = Plugins(storage, service_accounts=service_accounts)
        self.quotas = ResourceQuotas(storage)
        self._policies = AdmissionPolicies(storage, registry, self._namespaces.labels, authorizer)
        self._webhooks = Webhooks(storage, registry, self._namespaces.labels)
        self._escalation = RoleEscalation(authorizer) if isinstance(authorizer, RBAC) else None

    def check(self, operation: Operation, resource: Resource, namespace: str, name: str) -> None:
        """Decide by what the request names, before the object is looked at.

        Raises:
            FailedRequestError: 403 or 404.
        """
        if operation is Operation.CREATE:
            self._namespaces.check_create(resource, namespace, name)
            if resource.collection_key in self._registry.terminating:
                why = "create not allowed while custom resource definition is terminating"
                raise forbidden(resource, name, why)
        elif operation is Operation.DELETE:
            self._namespaces.check_delete(resource, name)

    async def mutate(self, review: Review) -> None:
        """Let plugins and webhooks change ``review.obj``; refuse what would grant too much.

        Raises:
            FailedRequestError: one denies the write, or a call fails and failurePolicy is Fail;
                or a role or binding grants what its writer does not have.
        """
        self._plugins.admit(review)
        await self._policies.mutate(review)
        before = review.obj
        await self._webhooks.mutate(review)
        if review.obj is not before:
            await self._policies.mutate(review, again=True)
        if self._escalation is not None:
            self._escalation.check(review)

    def allocate(self, review: Review) -> None:
        """Give ``review.obj`` addresses and ports, which no field manager owns.

        Raises:
            FailedRequestError: there are none left, or another object has them.
        """
        self._plugins.allocate(review)

    async def validate(self, review: Review) -> None:
        """Let plugins, validating policies, webhooks and, at last, quotas refuse the write.

        Raises:
            FailedRequestError: one denies the write, or a call fails and failurePolicy is Fail.
        """
        try:
            self._plugins.validate(review)
            await self._policies.validate(review)
            await self._webhooks.validate(review)
            self.quotas.check(review)
        except FailedRequestError as error:
            error.warnings = tuple(review.warnings)  # a refused write has warnings as well
            raise

    def close(self) -> None:
        """End the threads that call webhooks."""
        self._webhooks.close()
