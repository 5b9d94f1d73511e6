"""What a queue shows while it works: its metrics, and the hops of its items to the tracers.

The queue calls everything here with its lock held, unless a docstring says otherwise. A queue
without a name has no metrics; a queue that was made while nothing was traced shows no hops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final

from clientgo.observe.metrics import MetricsProvider
from clientgo.observe.trace import NOT_TRACED, Syncing, TracedSync, active_trace
from clientgo.util.clock import Clock
from clientgo.workqueue.lock import QueueLock
from clientgo.workqueue.metrics import QueueMetrics
from clientgo.workqueue.states import DIRTY, PROCESSING, READY, State

_OUTCOMES: Final = {
    None: "new",
    READY: "known",
    PROCESSING: "while_processing",
    DIRTY: "known",
}
"""What an add does, by the state of the item before it."""


class QueueObserver:
    """Shows one queue. Does nothing unless `is_active`."""

    def __init__(
        self, name: str, metrics: MetricsProvider | None, clock: Clock, lock: QueueLock
    ) -> None:
        self._name = name
        self._lock = lock
        self._metrics = QueueMetrics.build(name, metrics, clock, lock.condition())
        self._trace = active_trace()
        self._asking_thread = ""
        """Who asked for an operation that the lock's holder does, by name."""
        self.is_active: Final = self._metrics is not None or self._trace is not None

    def show_flows(self, flow: Callable[[Any], str]) -> None:
        """Show from now on to which flow an item belongs. Called before the queue is used."""
        if self._metrics is not None:
            self._metrics.show_flows(flow)

    def added(self, item: Hashable, before: State | None) -> None:
        """Show an add of an item that had the state `before`."""
        if self._trace is not None:
            self.note("queue.add", item, outcome=_OUTCOMES[before])
        if self._metrics is not None and (before is None or before is PROCESSING):
            self._metrics.added(item)

    def before_take(self) -> None:
        """Ask the tracers, without the lock: there may be no item any more afterwards."""
        if self._trace is None:
            return
        self._trace.acts_for(self._name)
        if self._trace.holds:
            self._lock.do_released(partial(self._trace.before, "queue.take", self._name))

    def taken(self, item: Hashable) -> None:
        """Show that a worker took an item."""
        self.note("queue.get", item)
        if self._trace is not None:
            self._trace.acts_for(self._name, item)
        if self._metrics is not None:
            self._metrics.taken(item)

    def ends(self) -> None:
        """Note that what this thread sends is no longer of an item. Called without the lock."""
        if self._trace is not None:
            self._trace.acts_for("")

    def finished(self, item: Hashable, *, again: bool) -> None:
        """Show that a worker gave an item back, and if it is listed again."""
        self.note("queue.done", item, again=again)
        if self._metrics is not None:
            self._metrics.finished(item)

    def retried(self, item: Hashable, delay: float) -> None:
        """Show an add with a delay."""
        if self._metrics is not None:
            self._metrics.retried()
        self.note("queue.add_after", item, delay=delay)

    def delayed(self, count: int) -> None:
        """Show how many items wait for their delay now."""
        if self._metrics is not None:
            self._metrics.delayed(count)

    def note(self, hop: str, item: Hashable, **details: Any) -> None:
        """Note a hop."""
        if self._trace is not None:
            self._trace.note(hop, self._name, item, thread=self._asking_thread, **details)

    def failed(self, item: Hashable, delay: float, failures: Callable[[Any], int]) -> None:
        """Show an add with a rate limit. Called without the lock."""
        if self._trace is not None:
            self._trace.note(
                "queue.add_rate_limited", self._name, item, delay=delay, failures=failures(item)
            )

    def forgotten(self, item: Hashable) -> None:
        """Show that the failures of an item are forgotten. Called without the lock."""
        if self._trace is not None:
            self._trace.note("queue.forget", self._name, item)

    def syncing(self, item: Hashable) -> Syncing:
        """Show the sync of an item, which the block is. Called without the lock."""
        return NOT_TRACED if self._trace is None else TracedSync(self._trace, self._name, item)

    def asked_here(self, operation: Callable[[Any], object]) -> Callable[[Any], object]:
        """Show an operation that another thread will do as one of this. Called without the lock."""
        if self._trace is None:
            return operation
        return partial(self._do_as, threading.current_thread().name, operation)

    def _do_as(self, thread: str, operation: Callable[[Any], object], item: Any) -> None:
        self._asking_thread = thread
        try:
            operation(item)
        finally:
            self._asking_thread = ""

    def since(self, item: Hashable) -> float | None:
        """Return when an item was taken or, if it is listed, added; None without metrics."""
        return None if self._metrics is None else self._metrics.since(item)

    def idle(self) -> None:
        """Give memory back: the queue knows no item."""
        if self._metrics is not None:
            self._metrics.forget_items()

    def stop(self) -> None:
        """Note that the queue shuts down."""
        if self._metrics is not None:
            self._metrics.stop()

    def stopped_empty(self) -> None:
        """Show the queue no longer: it has shut down and knows no item. Idempotent."""
        if self._metrics is not None:
            self._metrics.remove()

    def join(self) -> None:
        """Wait for the end of the thread that refreshes the metrics. Called without the lock."""
        if self._metrics is not None:
            self._metrics.join()
