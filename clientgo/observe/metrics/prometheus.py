"""Metrics in a prometheus-client registry.

Promises: every provider of one registry shares its collectors; a series is exported until its last
user has removed it. Serve the registry with `prometheus_client`'s own tools.

Differs from client-go (component-base metrics/prometheus): nothing happens on import, and bucket
bounds can be replaced, since client-go's end at ten seconds.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from clientgo.observe.metrics.provider import Counter, Gauge, Histogram, Metric
from clientgo.util.extras import needing_extra

with needing_extra("metrics", "clientgo.observe.metrics.prometheus"):
    import prometheus_client as prometheus
    from prometheus_client import REGISTRY, CollectorRegistry

_lock = threading.Lock()
_registries: WeakKeyDictionary[CollectorRegistry, _Collectors] = WeakKeyDictionary()


class PrometheusProvider:
    """A `MetricsProvider` that registers what it is asked for in `registry`.

    `buckets` replaces the bounds of the histograms that it names, for instance
    ``{WORKQUEUE_WORK_DURATION.name: (0.01, 0.1, 1, 10, 100, 1000)}``; the first provider of a
    registry that uses a metric decides. Thread-safe.
    """

    def __init__(
        self,
        registry: CollectorRegistry = REGISTRY,
        *,
        buckets: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        with _lock:
            self._collectors = _registries.setdefault(registry, _Collectors())
        self._registry = registry
        self._buckets = dict(buckets or {})

    @property
    def registry(self) -> CollectorRegistry:
        """What is to be exported."""
        return self._registry

    def counter(self, metric: Metric, /, **labels: str) -> Counter:
        return _Counter(*self._series(prometheus.Counter, metric, labels))

    def gauge(self, metric: Metric, /, **labels: str) -> Gauge:
        return _Gauge(*self._series(prometheus.Gauge, metric, labels))

    def histogram(self, metric: Metric, /, **labels: str) -> Histogram:
        buckets = self._buckets.get(metric.name, metric.buckets)
        return _Observer(*self._series(prometheus.Histogram, metric, labels, buckets=buckets))

    def summary(self, metric: Metric, /, **labels: str) -> Histogram:
        return _Observer(*self._series(prometheus.Summary, metric, labels))

    def _series(
        self, kind: type[Any], metric: Metric, labels: Mapping[str, str], **options: Any
    ) -> tuple[Any, Callable[[], None]]:
        def make() -> Any:
            return kind(metric.name, metric.help, metric.labels, registry=self._registry, **options)

        values = tuple(labels[label] for label in metric.labels)
        return self._collectors.series(metric.name, values, make)


class _Collectors:
    """The collectors of one registry, and how many instruments use each of their series."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._collectors: dict[str, Any] = {}
        self._users: collections.Counter[tuple[str, tuple[str, ...]]] = collections.Counter()

    def series(
        self, name: str, values: tuple[str, ...], make: Callable[[], Any]
    ) -> tuple[Any, Callable[[], None]]:
        """Return the prometheus-client object of a series and a function that releases it."""
        with self._lock:
            if name not in self._collectors:
                self._collectors[name] = make()
            collector = self._collectors[name]
            if not values:
                return collector, lambda: None
            self._users[name, values] += 1
            return collector.labels(*values), lambda: self._release(name, values)

    def _release(self, name: str, values: tuple[str, ...]) -> None:
        with self._lock:
            self._users[name, values] -= 1
            if self._users[name, values] == 0:
                del self._users[name, values]
                self._collectors[name].remove(*values)


class _Counter:
    __slots__ = ("inc", "remove")

    def __init__(self, series: Any, remove: Callable[[], None]) -> None:
        self.inc: Callable[..., None] = series.inc
        self.remove = remove


class _Gauge:
    __slots__ = ("dec", "inc", "remove", "set")

    def __init__(self, series: Any, remove: Callable[[], None]) -> None:
        self.inc: Callable[..., None] = series.inc
        self.dec: Callable[..., None] = series.dec
        self.set: Callable[..., None] = series.set
        self.remove = remove


class _Observer:
    __slots__ = ("observe", "remove")

    def __init__(self, series: Any, remove: Callable[[], None]) -> None:
        self.observe: Callable[..., None] = series.observe
        self.remove = remove
