"""What a controller reports, under controller-runtime's names, so that its dashboards work.

Promises that no label carries a name or uid of an object, nor a namespace unless that is asked
for, and that the counters of a controller exist, as 0, before anything happened. What can be
counted when it is asked for costs nothing until then.

Source: controller-runtime pkg/internal/controller/metrics; Java Operator SDK MicrometerMetrics.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Final

from clientgo.meta import ObjectName
from clientgo.metrics import (
    NO_METRICS,
    Counter,
    Gauge,
    Histogram,
    Metric,
    MetricsProvider,
    names,
)
from clientgo.operator.change_events import (
    ChangeEvent,
    CreateEvent,
    DeleteEvent,
    UpdateEvent,
)
from clientgo.operator.controller.metrics_sink import MetricsSink, tell
from clientgo.operator.runs import RunQueue

RECONCILE_TOTAL: Final = Metric(
    "controller_runtime_reconcile_total",
    "Runs, by how they ended",
    labels=("controller", "result"),
)
RECONCILE_ERRORS: Final = Metric(
    "controller_runtime_reconcile_errors_total", "Runs that failed", labels=("controller",)
)
TERMINAL_ERRORS: Final = Metric(
    "controller_runtime_terminal_reconcile_errors_total",
    "Runs that failed in a way that no retry cures",
    labels=("controller",),
)
RECONCILE_PANICS: Final = Metric(
    "controller_runtime_reconcile_panics_total",
    "Runs that ended in an exception which is a bug, not an answer of the API server",
    labels=("controller",),
)
RECONCILE_TIMEOUTS: Final = Metric(
    "controller_runtime_reconcile_timeouts_total",
    "Runs that took longer than the controller allows",
    labels=("controller",),
)
RECONCILE_TIME: Final = Metric(
    "controller_runtime_reconcile_time_seconds",
    "How long runs take",
    labels=("controller",),
    buckets=(
        *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),
        *(0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0),
        *(8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
    ),
)
MAX_CONCURRENT: Final = Metric(
    "controller_runtime_max_concurrent_reconciles", "Workers", labels=("controller",)
)
ACTIVE_WORKERS: Final = Metric(
    "controller_runtime_active_workers", "Workers that process a run", labels=("controller",)
)
RETRIES: Final = Metric(
    "operator_reconcile_retries_total", "Retries that were set up", labels=("controller",)
)
ABANDONED: Final = Metric(
    "operator_cleanups_abandoned_total",
    "Finalizers that were removed though the clean-up kept failing",
    labels=("controller",),
)
SELF_WAKES: Final = Metric(
    "operator_self_wakes_total",
    "Runs that wait because the object's own writes keep waking it",
    labels=("controller",),
)
EVENTS_RECEIVED: Final = Metric(
    "operator_events_received_total",
    "Events of sources, before predicates",
    labels=("controller", "source", "type"),
)
SOURCE_ERRORS: Final = Metric(
    "operator_source_errors_total",
    "Failures of sources, predicates and mappers",
    labels=("controller", "source"),
)

RESOURCES: Final = Metric(
    "operator_resources", "Objects that a controller looks after", labels=("controller",)
)
RETRY_EXHAUSTED: Final = Metric(
    "operator_retry_exhausted",
    "Objects that have failed and are not tried again until they change",
    labels=("controller",),
)
FINALIZER_WAIT: Final = Metric(
    "operator_finalizer_wait_seconds",
    "From the deletion of an object until its clean-up was done",
    labels=("controller",),
    buckets=(0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0),
)
RUNS_BY_NAMESPACE: Final = Metric(
    "operator_reconcile_total",
    "Runs by namespace, where that is asked for",
    labels=("controller", "namespace", "result"),
)
DEPTH: Final = Metric(
    names.WORKQUEUE_DEPTH.name,
    names.WORKQUEUE_DEPTH.help,
    labels=("name", "controller", "priority"),
)

MOST_PRIORITIES: Final = 25
"""How many priorities have a depth of their own; users choose priorities freely."""

OTHER_PRIORITIES: Final = "exceeded_cardinality_limit"
"""The label of all further ones together."""

_QUEUE_BUCKETS: Final = tuple(10.0 ** (exponent - 8) for exponent in range(12))

RESULTS: Final = ("success", "error", "requeue", "requeue_after")


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
        self._results = {
            result: provider.counter(RECONCILE_TOTAL, controller=controller, result=result)
            for result in RESULTS
        }
        self._errors = provider.counter(RECONCILE_ERRORS, controller=controller)
        self._terminal = provider.counter(TERMINAL_ERRORS, controller=controller)
        self._panics = provider.counter(RECONCILE_PANICS, controller=controller)
        self._timeouts = provider.counter(RECONCILE_TIMEOUTS, controller=controller)
        self._time = provider.histogram(RECONCILE_TIME, controller=controller)
        self._workers = provider.gauge(MAX_CONCURRENT, controller=controller)
        self._active = provider.gauge(ACTIVE_WORKERS, controller=controller)
        self._abandoned = provider.counter(ABANDONED, controller=controller)
        self._retries = provider.counter(RETRIES, controller=controller)
        self._self_wakes = provider.counter(SELF_WAKES, controller=controller)
        self._resources = provider.gauge(RESOURCES, controller=controller)
        self._exhausted = provider.gauge(RETRY_EXHAUSTED, controller=controller)
        self._finalizer_wait = provider.histogram(FINALIZER_WAIT, controller=controller)
        self._depths: dict[str, Gauge] = {"0": self._depth("0")}

    def workers(self, count: int) -> None:
        self._workers.set(count)

    def run_began(self, key: ObjectName) -> None:
        self._active.inc()
        if self._sink is not None:
            tell(self._sink.run_started, self._controller, key)

    def run_ended(self, key: ObjectName, result: str, seconds: float) -> None:
        self._active.dec()
        self._results[result].inc()
        self._time.observe(seconds)
        if self._per_namespace:
            self._counter(RUNS_BY_NAMESPACE, key.namespace, result).inc()
        if self._sink is not None:
            tell(self._sink.run_finished, self._controller, key, result, seconds)

    def failed(self, *, terminal: bool, bug: bool, timeout: bool) -> None:
        self._errors.inc()
        if terminal:
            self._terminal.inc()
        if bug:
            self._panics.inc()
        if timeout:
            self._timeouts.inc()

    def retry(self, key: ObjectName, attempt: int, delay: float | None) -> None:
        """A retry was set up; ``delay`` None says that there are no more."""
        if delay is not None:
            self._retries.inc()
        if self._sink is not None:
            tell(self._sink.retry, self._controller, key, attempt, delay)

    def cleaned_up(self, key: ObjectName, waited: float) -> None:
        """The finalizer is off, so many seconds after the deletion."""
        self._finalizer_wait.observe(max(waited, 0.0))
        if self._sink is not None:
            tell(self._sink.cleaned_up, self._controller, key)

    def woke_itself(self) -> None:
        self._self_wakes.inc()

    def abandoned(self) -> None:
        self._abandoned.inc()

    def refresh(self, queue: RunQueue) -> None:
        """Update what is counted only when the metrics are read."""
        statistics = queue.statistics()
        self._resources.set(statistics.known)
        self._exhausted.set(statistics.exhausted)
        depths: defaultdict[str, int] = defaultdict(int)
        for priority, depth in sorted(queue.depths().items()):
            depths[self._label_of(priority)] += depth
        for label, gauge in self._depths.items():
            gauge.set(depths[label])

    def event(self, source: str, event: ChangeEvent) -> None:
        kind = event_type(event)
        self._counter(EVENTS_RECEIVED, source, kind).inc()
        if self._sink is not None:
            tell(self._sink.event, self._controller, source, kind)

    def source_error(self, source: str) -> None:
        self._counter(SOURCE_ERRORS, source).inc()

    def _label_of(self, priority: int) -> str:
        """What a priority is called; there is a gauge of that name from now on."""
        label = str(priority)
        if label not in self._depths and len(self._depths) >= MOST_PRIORITIES:
            label = OTHER_PRIORITIES
        if label not in self._depths:
            self._depths[label] = self._depth(label)
        return label

    def _depth(self, priority: str) -> Gauge:
        return self._provider.gauge(
            DEPTH, name=self._controller, controller=self._controller, priority=priority
        )

    def _counter(self, metric: Metric, *values: str) -> Counter:
        """The counter of a source; made once, because events are many."""
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
    """Where the queue of a controller reports to."""
    return provider if provider is NO_METRICS else QueueMetrics(controller, provider)


class QueueMetrics:
    """Makes the metrics of a controller's queue those that controller-runtime has: labelled by
    ``controller`` too, with longer buckets. The depth, by priority, is in
    :class:`ControllerMetrics`.
    """

    def __init__(self, controller: str, provider: MetricsProvider) -> None:
        self._controller = controller
        self._provider = provider

    def counter(self, metric: Metric, /, **labels: str) -> Counter:
        return self._provider.counter(self._labelled(metric), **self._labels(labels))

    def gauge(self, metric: Metric, /, **labels: str) -> Gauge:
        if metric is names.WORKQUEUE_DEPTH:
            return NO_METRICS.gauge(metric, **labels)
        return self._provider.gauge(self._labelled(metric), **self._labels(labels))

    def histogram(self, metric: Metric, /, **labels: str) -> Histogram:
        return self._provider.histogram(self._labelled(metric), **self._labels(labels))

    def summary(self, metric: Metric, /, **labels: str) -> Histogram:
        return self._provider.summary(self._labelled(metric), **self._labels(labels))

    def _labelled(self, metric: Metric) -> Metric:
        buckets = _QUEUE_BUCKETS if metric.buckets else ()
        return replace(metric, labels=(*metric.labels, "controller"), buckets=buckets)

    def _labels(self, labels: dict[str, str]) -> dict[str, str]:
        return {**labels, "controller": self._controller}
