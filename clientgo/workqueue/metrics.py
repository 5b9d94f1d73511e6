"""The metrics of a named queue.

Promises: client-go's seven metrics, one for delayed items, and two by flow for a fair queue. The
series are removed when the queue has shut down and is empty. A queue without a name has none.

Differs from client-go (util/workqueue, `defaultQueueMetrics`): the thread that refreshes the ages
of processed items ends with the queue.

The queue calls everything here with its lock held, except `join`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final

from clientgo.observe.metrics import (
    NO_METRICS,
    Gauge,
    Histogram,
    Instrument,
    MetricsProvider,
    default_provider,
    names,
)
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread

REFRESH_INTERVAL: Final = 0.5
"""Seconds between two refreshes of the ages of items being processed, as in client-go."""

MOST_FLOWS: Final = 100
"""Flows that have series of their own, those that come first; a histogram is a dozen series."""

OTHER_FLOWS: Final = "<other>"
"""The label of the flows that came later."""


class QueueMetrics:
    """The instruments of one queue, and the times that they need.

    `stop_requested` is a condition of the queue's lock.
    """

    def __init__(
        self,
        name: str,
        provider: MetricsProvider,
        clock: Clock,
        stop_requested: threading.Condition,
    ) -> None:
        self._depth = provider.gauge(names.WORKQUEUE_DEPTH, name=name)
        self._adds = provider.counter(names.WORKQUEUE_ADDS, name=name)
        self._latency = provider.histogram(names.WORKQUEUE_QUEUE_DURATION, name=name)
        self._work_duration = provider.histogram(names.WORKQUEUE_WORK_DURATION, name=name)
        self._unfinished = provider.gauge(names.WORKQUEUE_UNFINISHED_WORK, name=name)
        self._longest = provider.gauge(names.WORKQUEUE_LONGEST_RUNNING, name=name)
        self._retries = provider.counter(names.WORKQUEUE_RETRIES, name=name)
        self._delayed = provider.gauge(names.WORKQUEUE_DELAYED_ITEMS, name=name)
        self._instruments: list[Instrument] = [
            self._depth,
            self._adds,
            self._latency,
            self._work_duration,
            self._unfinished,
            self._longest,
            self._retries,
            self._delayed,
        ]
        self._name = name
        self._provider = provider
        self._flows: FlowMetrics | None = None
        self._clock = clock
        self._added_at: dict[Hashable, float] = {}
        self._taken_at: dict[Hashable, float] = {}
        self._stopping = False
        self._stop_requested = stop_requested
        try:
            self._refresher = SupervisedThread.started(
                self._keep_refreshing,
                name=f"workqueue-metrics-{name}",
                then="the ages of items are not refreshed any more; the queue goes on",
            )
        except BaseException:
            self.remove()
            raise

    @classmethod
    def build(
        cls,
        name: str,
        provider: MetricsProvider | None,
        clock: Clock,
        stop_requested: threading.Condition,
    ) -> QueueMetrics | None:
        """Return the metrics of a queue, or None if they would go nowhere."""
        if provider is None:
            provider = default_provider()
        if not name or provider is NO_METRICS:
            return None
        return cls(name, provider, clock, stop_requested)

    def show_flows(self, flow: Callable[[Any], str]) -> None:
        """Report by flow too, from now on."""
        self._flows = FlowMetrics(self._name, self._provider, flow)

    def added(self, item: Hashable) -> None:
        """An add was accepted, of a listed item or one being processed."""
        self._adds.inc()
        self._depth.inc()
        self._added_at[item] = self._clock.monotonic()
        if self._flows is not None:
            self._flows.added(item)

    def taken(self, item: Hashable) -> None:
        """A worker took an item."""
        now = self._clock.monotonic()
        self._depth.dec()
        self._taken_at[item] = now
        added_at = self._added_at.pop(item, None)
        if added_at is not None:
            self._latency.observe(now - added_at)
        if self._flows is not None:
            self._flows.taken(item, None if added_at is None else now - added_at)

    def finished(self, item: Hashable) -> None:
        """A worker gave an item back."""
        taken_at = self._taken_at.pop(item, None)
        if taken_at is not None:
            self._work_duration.observe(self._clock.monotonic() - taken_at)

    def since(self, item: Hashable) -> float | None:
        """Return when an item was taken or, if it is listed, added."""
        return self._taken_at.get(item, self._added_at.get(item))

    def retried(self) -> None:
        """An add with a delay was accepted."""
        self._retries.inc()

    def delayed(self, count: int) -> None:
        """That many items wait for their delay now."""
        self._delayed.set(count)

    def forget_items(self) -> None:
        """The queue is empty and idle: give the memory back."""
        self._added_at.clear()
        self._taken_at.clear()

    def stop(self) -> None:
        """Let the ages be: the queue shuts down."""
        self._stopping = True
        self._stop_requested.notify()

    def join(self) -> None:
        """Wait for the end of the refreshing thread. Called without the lock."""
        self._refresher.join()

    def remove(self) -> None:
        """Take this queue's series out of what is exported. Idempotent."""
        instruments, self._instruments = self._instruments, []
        for instrument in instruments:
            instrument.remove()
        if self._flows is not None:
            self._flows.remove()

    def _keep_refreshing(self) -> None:
        next_refresh = self._clock.monotonic() + REFRESH_INTERVAL
        with self._stop_requested:
            while not self._stopping:
                now = self._clock.monotonic()
                if now >= next_refresh:
                    self._refresh_locked(now)
                    next_refresh += REFRESH_INTERVAL * (
                        (now - next_refresh) // REFRESH_INTERVAL + 1
                    )
                self._clock.wait_until(self._stop_requested, next_refresh)

    def _refresh_locked(self, now: float) -> None:
        ages = [now - taken_at for taken_at in self._taken_at.values()]
        self._unfinished.set(sum(ages))
        self._longest.set(max(ages, default=0.0))


class FlowMetrics:
    """The instruments of the flows of a fair queue; the first `MOST_FLOWS` have their own."""

    def __init__(
        self, name: str, provider: MetricsProvider, flow: Callable[[Hashable], str]
    ) -> None:
        self._name = name
        self._provider = provider
        self._flow = flow
        self._instruments: dict[str, tuple[Gauge, Histogram]] = {}

    def added(self, item: Hashable) -> None:
        """An add was accepted."""
        depth, _ = self._of(item)
        depth.inc()

    def taken(self, item: Hashable, waited: float | None) -> None:
        """A worker took an item, which has waited so many seconds."""
        depth, latency = self._of(item)
        depth.dec()
        if waited is not None:
            latency.observe(waited)

    def remove(self) -> None:
        """Take the series out of what is exported. Idempotent."""
        instruments, self._instruments = self._instruments, {}
        for depth, latency in instruments.values():
            depth.remove()
            latency.remove()

    def _of(self, item: Hashable) -> tuple[Gauge, Histogram]:
        flow = self._flow(item)
        found = self._instruments.get(flow)
        if found is None and len(self._instruments) >= MOST_FLOWS:
            flow = OTHER_FLOWS
            found = self._instruments.get(flow)
        if found is None:
            found = self._instruments[flow] = (
                self._provider.gauge(names.WORKQUEUE_FLOW_DEPTH, name=self._name, flow=flow),
                self._provider.histogram(
                    names.WORKQUEUE_FLOW_QUEUE_DURATION, name=self._name, flow=flow
                ),
            )
        return found
