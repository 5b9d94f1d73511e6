"""What a controller reports, under controller-runtime's names, so that its dashboards work.

Promises that no label carries a name, namespace or uid of an object, and that the counters of a
controller exist, as 0, before anything happened.

Source: controller-runtime pkg/internal/controller/metrics; Java Operator SDK MicrometerMetrics.
"""

from __future__ import annotations

from typing import Final

from clientgo.metrics import Counter, Metric, MetricsProvider
from clientgo.operator.change_events import (
    ChangeEvent,
    CreateEvent,
    DeleteEvent,
    UpdateEvent,
)

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
        0.005,
        0.01,
        0.025,
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
        1.25,
        1.5,
        1.75,
        2.0,
        2.5,
        3.0,
        3.5,
        4.0,
        4.5,
        5,
        6,
        7,
        8,
        9,
        10,
        15,
        20,
        25,
        30,
        40,
        50,
        60,
    ),
)
MAX_CONCURRENT: Final = Metric(
    "controller_runtime_max_concurrent_reconciles", "Workers", labels=("controller",)
)
ACTIVE_WORKERS: Final = Metric(
    "controller_runtime_active_workers", "Workers with a run in hand", labels=("controller",)
)
RETRIES: Final = Metric(
    "operator_reconcile_retries_total", "Retries that were set up", labels=("controller",)
)
ABANDONED: Final = Metric(
    "operator_cleanups_abandoned_total",
    "Finalizers that were removed though the clean-up kept failing",
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

RESULTS: Final = ("success", "error", "requeue", "requeue_after")


class ControllerMetrics:
    """The instruments of one controller."""

    def __init__(self, controller: str, provider: MetricsProvider) -> None:
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

    def workers(self, count: int) -> None:
        self._workers.set(count)

    def run_began(self) -> None:
        self._active.inc()

    def run_ended(self, result: str, seconds: float) -> None:
        self._active.dec()
        self._results[result].inc()
        self._time.observe(seconds)

    def failed(self, *, terminal: bool, bug: bool, timeout: bool, retries: bool) -> None:
        self._errors.inc()
        if terminal:
            self._terminal.inc()
        if bug:
            self._panics.inc()
        if timeout:
            self._timeouts.inc()
        if retries:
            self._retries.inc()

    def abandoned(self) -> None:
        self._abandoned.inc()

    def event(self, source: str, event: ChangeEvent) -> None:
        self._counter(EVENTS_RECEIVED, source, event_type(event)).inc()

    def source_error(self, source: str) -> None:
        self._counter(SOURCE_ERRORS, source).inc()

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
