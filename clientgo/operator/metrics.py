"""What the operator layer reports, under controller-runtime's names.

Promises no label with a name or uid of an object, nor a namespace unless asked for. The counters of
a controller exist, as 0, from the start. A sink that fails is logged and harms nothing.

Source: controller-runtime pkg/internal/controller/metrics; Java Operator SDK Metrics.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from clientgo.meta import ObjectName
from clientgo.observe.metrics import (
    NO_METRICS,
    Counter,
    Gauge,
    Histogram,
    Metric,
    MetricsProvider,
    names,
)
from clientgo.operator.change_events import ChangeEvent, CreateEvent, DeleteEvent, UpdateEvent
from clientgo.util.process import process_age

_log = logging.getLogger("clientgo.operator.metrics")


def _of_controller(name: str, text: str, *labels: str, buckets: Iterable[float] = ()) -> Metric:
    return Metric(name, text, ("controller", *labels), tuple(buckets))


RECONCILE_TOTAL: Final = _of_controller(
    "controller_runtime_reconcile_total", "Runs, by how they ended", "result"
)
RECONCILE_ERRORS: Final = _of_controller(
    "controller_runtime_reconcile_errors_total", "Runs that failed"
)
TERMINAL_ERRORS: Final = _of_controller(
    "controller_runtime_terminal_reconcile_errors_total",
    "Runs that failed in a way that no retry cures",
)
RECONCILE_PANICS: Final = _of_controller(
    "controller_runtime_reconcile_panics_total",
    "Runs that ended in an exception which is a bug, not an answer of the API server",
)
RECONCILE_TIMEOUTS: Final = _of_controller(
    "controller_runtime_reconcile_timeouts_total", "Runs that took longer than allowed"
)
RECONCILE_TIME: Final = _of_controller(
    "controller_runtime_reconcile_time_seconds",
    "How long runs take",
    buckets=(
        *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),
        *(0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0),
        *(8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
    ),
)
MAX_CONCURRENT: Final = _of_controller("controller_runtime_max_concurrent_reconciles", "Workers")
STARTUP_TIME: Final = _of_controller(
    "operator_startup_seconds",
    "From the start of the process until the workers began, an election included",
)
ACTIVE_WORKERS: Final = _of_controller(
    "controller_runtime_active_workers", "Workers that process a run"
)
RETRIES: Final = _of_controller("operator_reconcile_retries_total", "Retries that were set up")
ABANDONED: Final = _of_controller(
    "operator_cleanups_abandoned_total",
    "Finalizers that were removed though the clean-up kept failing",
)
SELF_WAKES: Final = _of_controller(
    "operator_self_wakes_total",
    "Runs that wait because the object's own writes keep waking it",
)
EVENTS_RECEIVED: Final = _of_controller(
    "operator_events_received_total", "Events of sources, before predicates", "source", "type"
)
SOURCE_ERRORS: Final = _of_controller(
    "operator_source_errors_total", "Failures of sources, predicates and mappers", "source"
)
RESOURCES: Final = _of_controller("operator_resources", "Objects that a controller looks after")
RETRY_EXHAUSTED: Final = _of_controller(
    "operator_retry_exhausted",
    "Objects that have failed and are not tried again until they change",
)
FINALIZER_WAIT: Final = _of_controller(
    "operator_finalizer_wait_seconds",
    "From the deletion of an object until its clean-up was done",
    buckets=(0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0),
)
RUNS_BY_NAMESPACE: Final = _of_controller(
    "operator_reconcile_total", "Runs by namespace, if asked for", "namespace", "result"
)
DEPTH: Final = replace(names.WORKQUEUE_DEPTH, labels=("name", "controller", "priority"))

CACHED_OBJECTS: Final = Metric("operator_cache_objects", "Objects in the caches", ("kind",))
CACHED_BYTES: Final = Metric("operator_cache_bytes", "Their size, as JSON", ("kind",))
INFORMER_CRASHES: Final = Metric(
    "operator_informer_crashes_total", "Informers that a bug has ended", ("kind",)
)
STALE_READS: Final = Metric(
    "operator_cache_stale_reads_total",
    "Reads that the cache was too old for, and that a write of our own answered",
    ("kind",),
)
LOST_WRITES: Final = Metric(
    "operator_cache_own_writes_expired_total",
    "Writes of our own that no watch brought back within a minute",
    ("kind",),
)

MOST_PRIORITIES: Final = 25
"""How many priorities have a depth of their own; users choose priorities freely."""

OTHER_PRIORITIES: Final = "exceeded_cardinality_limit"
"""The label of all further ones together."""

RESULTS: Final = ("success", "error", "requeue", "requeue_after")

_QUEUE_BUCKETS: Final = tuple(10.0 ** (exponent - 8) for exponent in range(12))


class MetricsSink(Protocol):
    """Other systems of measurement than Prometheus: ``Manager(sink=...)``.

    Called by the threads that work, so it should not block. ``result`` is one of
    :data:`RESULTS`; ``delay`` is in seconds, None for no further retry.
    """

    def event(self, controller: str, source: str, kind: str) -> None: ...

    def run_started(self, controller: str, key: ObjectName) -> None: ...

    def run_finished(
        self, controller: str, key: ObjectName, result: str, seconds: float
    ) -> None: ...

    def retry(
        self, controller: str, key: ObjectName, attempt: int, delay: float | None
    ) -> None: ...

    def cleaned_up(self, controller: str, key: ObjectName) -> None: ...


def _tell(call: Callable[..., None], *args: object) -> None:
    try:
        call(*args)
    except Exception:  # noqa: BLE001 - measuring must not change what is measured
        _log.exception("the metrics sink failed in %s", getattr(call, "__qualname__", call))


class ControllerMetrics:
    """The instruments of one controller; ``sink`` is called too. Thread-safe."""

    def __init__(
        self,
        controller: str,
        provider: MetricsProvider,
        *,
        per_namespace: bool = False,
        sink: MetricsSink | None = None,
    ) -> None:
        self._per_namespace = per_namespace
        self._sink = sink
        self._controller = controller
        self._provider = provider
        self._counters: dict[tuple[str, ...], Counter] = {}
        for metric in (RECONCILE_ERRORS, TERMINAL_ERRORS, RECONCILE_PANICS, RECONCILE_TIMEOUTS):
            self._counter(metric)
        for metric in (ABANDONED, RETRIES, SELF_WAKES):
            self._counter(metric)
        self._results = {result: self._counter(RECONCILE_TOTAL, result) for result in RESULTS}
        self._time = provider.histogram(RECONCILE_TIME, controller=controller)
        self._workers = provider.gauge(MAX_CONCURRENT, controller=controller)
        self._active = provider.gauge(ACTIVE_WORKERS, controller=controller)
        self._resources = provider.gauge(RESOURCES, controller=controller)
        self._exhausted = provider.gauge(RETRY_EXHAUSTED, controller=controller)
        self._finalizer_wait = provider.histogram(FINALIZER_WAIT, controller=controller)
        self._depths: dict[str, Gauge] = {"0": self._depth("0")}

    def started(self, workers: int) -> None:
        """Note that the workers begin; until then there is no time of the start."""
        self._workers.set(workers)
        gauge = self._provider.gauge(STARTUP_TIME, controller=self._controller)
        gauge.set(process_age())

    def run_began(self, key: ObjectName) -> None:
        self._active.inc()
        if self._sink is not None:
            _tell(self._sink.run_started, self._controller, key)

    def run_ended(self, key: ObjectName, result: str, seconds: float) -> None:
        self._active.dec()
        self._results[result].inc()
        self._time.observe(seconds)
        if self._per_namespace:
            self._counter(RUNS_BY_NAMESPACE, key.namespace, result).inc()
        if self._sink is not None:
            _tell(self._sink.run_finished, self._controller, key, result, seconds)

    def failed(self, *, terminal: bool, bug: bool, timeout: bool) -> None:
        self._counter(RECONCILE_ERRORS).inc()
        causes = {TERMINAL_ERRORS: terminal, RECONCILE_PANICS: bug, RECONCILE_TIMEOUTS: timeout}
        for metric, applies in causes.items():
            if applies:
                self._counter(metric).inc()

    def retry(self, key: ObjectName, attempt: int, delay: float | None) -> None:
        """Count a retry that was set up; ``delay`` None says that there are no more."""
        if delay is not None:
            self._counter(RETRIES).inc()
        if self._sink is not None:
            _tell(self._sink.retry, self._controller, key, attempt, delay)

    def cleaned_up(self, key: ObjectName, waited: float) -> None:
        """Count a clean-up, which ended so many seconds after the deletion."""
        self._finalizer_wait.observe(max(waited, 0.0))
        if self._sink is not None:
            _tell(self._sink.cleaned_up, self._controller, key)

    def woke_itself(self) -> None:
        self._counter(SELF_WAKES).inc()

    def abandoned(self) -> None:
        self._counter(ABANDONED).inc()

    def event(self, source: str, event: ChangeEvent) -> None:
        kind = event_type(event)
        self._counter(EVENTS_RECEIVED, source, kind).inc()
        if self._sink is not None:
            _tell(self._sink.event, self._controller, source, kind)

    def source_error(self, source: str) -> None:
        self._counter(SOURCE_ERRORS, source).inc()

    def refresh(self, known: int, exhausted: int, by_priority: Mapping[int, int]) -> None:
        """Update what is counted only at a scrape, ``by_priority`` the objects that are ready."""
        self._resources.set(known)
        self._exhausted.set(exhausted)
        depths: defaultdict[str, int] = defaultdict(int)
        for priority, depth in sorted(by_priority.items()):
            label = str(priority)
            if label not in self._depths and len(self._depths) >= MOST_PRIORITIES:
                label = OTHER_PRIORITIES
            if label not in self._depths:
                self._depths[label] = self._depth(label)
            depths[label] += depth
        for label, gauge in self._depths.items():
            gauge.set(depths[label])

    def _depth(self, priority: str) -> Gauge:
        labels = {"name": self._controller, "controller": self._controller}
        return self._provider.gauge(DEPTH, **labels, priority=priority)

    def _counter(self, metric: Metric, *values: str) -> Counter:
        """Return a counter, which is made once, because events are many."""
        counter = self._counters.get((metric.name, *values))
        if counter is None:
            labels = dict(zip(metric.labels, (self._controller, *values), strict=True))
            counter = self._provider.counter(metric, **labels)
            counter = self._counters.setdefault((metric.name, *values), counter)
        return counter


def event_type(event: ChangeEvent) -> str:
    if isinstance(event, CreateEvent):
        return "create"
    if isinstance(event, UpdateEvent):
        return "update"
    return "delete" if isinstance(event, DeleteEvent) else "generic"


def queue_metrics(controller: str, provider: MetricsProvider) -> MetricsProvider:
    """Return where the queue of a controller reports to."""
    return provider if provider is NO_METRICS else QueueMetrics(controller, provider)


class QueueMetrics:
    """The metrics of a queue as controller-runtime has them: with the label ``controller``, and
    longer buckets. The depth, by priority, is in :class:`ControllerMetrics`."""

    def __init__(self, controller: str, provider: MetricsProvider) -> None:
        self._controller = controller
        self._provider = provider

    def counter(self, metric: Metric, /, **labels: str) -> Counter:
        return self._provider.counter(self._labelled(metric), controller=self._controller, **labels)

    def gauge(self, metric: Metric, /, **labels: str) -> Gauge:
        if metric is names.WORKQUEUE_DEPTH:
            return NO_METRICS.gauge(metric, **labels)
        return self._provider.gauge(self._labelled(metric), controller=self._controller, **labels)

    def histogram(self, metric: Metric, /, **labels: str) -> Histogram:
        wider = self._labelled(metric)
        return self._provider.histogram(wider, controller=self._controller, **labels)

    def summary(self, metric: Metric, /, **labels: str) -> Histogram:
        return self._provider.summary(self._labelled(metric), controller=self._controller, **labels)

    def _labelled(self, metric: Metric) -> Metric:
        buckets = _QUEUE_BUCKETS if metric.buckets else ()
        return replace(metric, labels=(*metric.labels, "controller"), buckets=buckets)


class BeforeScrape:
    """Calls ``refresh`` before each scrape of a provider's registry, if it has one.

    Made before the metrics that it refreshes; :meth:`close` ends it.
    """

    def __init__(self, provider: MetricsProvider, refresh: Callable[[], object]) -> None:
        self.refresh = refresh
        self._registry: Any = getattr(provider, "registry", None)
        if self._registry is not None:
            self._registry.register(self)

    def close(self) -> None:
        """Leave the registry. Idempotent."""
        registry, self._registry = self._registry, None
        if registry is not None:
            registry.unregister(self)

    def collect(self) -> Iterable[Any]:
        """Called by the registry, which exports the instruments themselves."""
        self.refresh()
        return ()

    def describe(self) -> Iterable[Any]:
        return ()


@dataclass(slots=True)
class CacheSize:
    """What one informer holds; bytes of the objects' JSON, without decoded bodies."""

    objects: int = 0
    bytes: int = 0


class CacheMetrics:
    """The instruments of the cache of one kind. Thread-safe."""

    def __init__(self, kind: str, provider: MetricsProvider) -> None:
        self._objects = provider.gauge(CACHED_OBJECTS, kind=kind)
        self._bytes = provider.gauge(CACHED_BYTES, kind=kind)
        self.crashes = provider.counter(INFORMER_CRASHES, kind=kind)
        self.stale_reads = provider.counter(STALE_READS, kind=kind)
        self.lost_writes = provider.counter(LOST_WRITES, kind=kind)
        self._lock = threading.Lock()
        self._total = CacheSize()

    def changed(self, size: CacheSize, old: Any | None, new: Any | None) -> None:
        """Count that an informer replaced one object by another; None stands for no object."""
        self._add(size, (new is not None) - (old is not None), _bytes_of(new) - _bytes_of(old))

    def cleared(self, size: CacheSize) -> None:
        """Count that an informer has ended."""
        self._add(size, -size.objects, -size.bytes)

    def _add(self, size: CacheSize, objects: int, bytes_: int) -> None:
        with self._lock:
            for changed in (size, self._total):
                changed.objects += objects
                changed.bytes += bytes_
            self._objects.set(self._total.objects)
            self._bytes.set(self._total.bytes)


def _bytes_of(obj: Any | None) -> int:
    return len(getattr(obj, "_raw", None) or b"")
