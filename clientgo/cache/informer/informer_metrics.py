"""What an informer reports: its queue, how long processing takes, how far its store has come.

Promises client-go's metric names and labels, for informers with a reserved identity; the series
end with the informer. Upstream: ``tools/cache`` InformerMetricsProvider.
"""

from __future__ import annotations

from clientgo.cache.informer.informer_name import InformerIdentity
from clientgo.cache.queues.queue import NO_QUEUE_METRICS, QueueMetrics
from clientgo.cache.store.resource_versions import gauge_value
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.metrics.names import INFORMER_STORE_RESOURCE_VERSION


class InformerMetrics:
    """The instruments of one informer; without an identity they drop what they are told."""

    def __init__(self, provider: MetricsProvider, identity: InformerIdentity | None) -> None:
        self._identity = identity
        if identity is None or not identity.is_reserved():
            self.queue = NO_QUEUE_METRICS
            self._version = NO_METRICS.gauge(INFORMER_STORE_RESOURCE_VERSION)
        else:
            self.queue = QueueMetrics.of(provider, **identity.labels())
            self._version = provider.gauge(INFORMER_STORE_RESOURCE_VERSION, **identity.labels())

    def reached(self, version: str) -> None:
        """The store is as of a version, unless the name has been given up."""
        number = gauge_value(version)
        if number is not None and self._identity is not None and self._identity.is_reserved():
            self._version.set(number)

    def remove(self) -> None:
        """End the series."""
        self.queue.remove()
        self._version.remove()
