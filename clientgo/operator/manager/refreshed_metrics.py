"""Metrics of what is counted elsewhere, brought up to date when they are read.

Promises that they cost nothing between two scrapes. Does not promise them for a provider that has
no registry to be scraped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from clientgo.metrics import Counter, Metric, MetricsProvider
from clientgo.operator.cache.object_cache import ObjectCache
from clientgo.operator.cache.own_writes import OwnWritesStatistics
from clientgo.operator.controller import Controller

STALE_READS: Final = Metric(
    "operator_cache_stale_reads_total",
    "Reads that the cache was too old for, and that a write of our own answered",
    labels=("kind",),
)
LOST_WRITES: Final = Metric(
    "operator_cache_own_writes_expired_total",
    "Writes of our own that no watch brought back within a minute",
    labels=("kind",),
)


class RefreshedMetrics:
    """In the provider's registry, if it has one, until :meth:`close`."""

    def __init__(
        self,
        provider: MetricsProvider,
        controllers: Callable[[], list[Controller[Any]]],
        cache: ObjectCache,
    ) -> None:
        self._provider = provider
        self._controllers = controllers
        self._cache = cache
        self._counters: dict[tuple[str, str], tuple[Counter, int]] = {}
        self._registry: Any = getattr(provider, "registry", None)
        if self._registry is not None:
            self._registry.register(self)  # before the metrics that it refreshes

    def close(self) -> None:
        """Leave the registry. Idempotent."""
        registry, self._registry = self._registry, None
        if registry is not None:
            registry.unregister(self)

    def collect(self) -> Iterable[Any]:
        """Called by the registry, which exports the instruments themselves."""
        self.refresh()
        return ()

    def refresh(self) -> None:
        for controller in self._controllers():
            controller.metrics.refresh(controller.queue)
        for cache in self._cache.caches():
            statistics: OwnWritesStatistics = cache.own_writes.statistics()
            self._count(STALE_READS, cache.name, statistics.hits)
            self._count(LOST_WRITES, cache.name, statistics.expired)

    def describe(self) -> Iterable[Any]:
        return ()

    def _count(self, metric: Metric, kind: str, total: int) -> None:
        counter, before = self._counters.get((metric.name, kind), (None, 0))
        if counter is None:
            counter = self._provider.counter(metric, kind=kind)
        counter.inc(total - before)
        self._counters[metric.name, kind] = counter, total
