"""The plugins of one server, in their order.

Upstream: ``pkg/kubeapiserver/options/plugins.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.admission.plugins.cluster import (
    CertificateRequester,
    DefaultIngressClass,
    DefaultStorageClass,
    NotReadyTaint,
    VolumeProtection,
)
from clientgo.testcluster.server.admission.plugins.limits import (
    LimitBounds,
    LimitDefaults,
    LimitRanges,
)
from clientgo.testcluster.server.admission.plugins.plugin import Plugin
from clientgo.testcluster.server.admission.plugins.pod_security.plugin import PodSecurity
from clientgo.testcluster.server.admission.plugins.pods import (
    NodeFailureTolerations,
    Priority,
    RuntimeClasses,
)
from clientgo.testcluster.server.admission.plugins.service_accounts import ServiceAccounts
from clientgo.testcluster.server.admission.plugins.services import ServiceAllocation
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.storage.storage import CollectionKey, Storage


class Plugins:
    """Plugins by the collections whose writes they review."""

    def __init__(self, storage: Storage, *, service_accounts: bool) -> None:
        accounts = [ServiceAccounts(storage)] if service_accounts else []
        limits = LimitRanges(storage)
        self._before_webhooks = _by_resource(
            LimitDefaults(limits),
            *accounts,
            Priority(storage),
            NodeFailureTolerations(),
            RuntimeClasses(storage),
            VolumeProtection(),
            DefaultStorageClass(storage),
            DefaultIngressClass(storage),
            NotReadyTaint(),
            CertificateRequester(),
        )
        self._after_webhooks = _by_resource(ServiceAllocation(storage))
        self._of_valid = _by_resource(LimitBounds(limits), PodSecurity(storage))

    def admit(self, review: Review) -> None:
        """Change the new state of an object, as the webhooks and validation see it.

        Raises:
            FailedRequestError: a plugin refuses the write.
        """
        _admit(self._before_webhooks, review)

    def allocate(self, review: Review) -> None:
        """Give an object what only one object can have, after webhooks have changed it.

        Raises:
            FailedRequestError: there is no such thing left, or another object has it.
        """
        _admit(self._after_webhooks, review)

    def validate(self, review: Review) -> None:
        """Decide on the valid object as it will be stored.

        Raises:
            FailedRequestError: a plugin refuses the write.
        """
        _admit(self._of_valid, review)


_Table = dict[CollectionKey, list[Plugin]]


def _by_resource(*plugins: Plugin) -> _Table:
    table: _Table = {}
    for plugin in plugins:
        for key in plugin.resources:
            table.setdefault(key, []).append(plugin)
    return table


def _admit(table: _Table, review: Review) -> None:
    plugins = table.get(review.resource.collection_key)
    if plugins and review.obj is not None:
        for plugin in plugins:
            if review.subresource in plugin.subresources:
                plugin.admit(review, review.obj)
