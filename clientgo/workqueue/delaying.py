"""A work queue that can add an item later.

Promises: items are added in the order in which their delays end; of several delays of one item the
first to end counts; a shutdown discards waiting items. A waiting item needs no timer or thread.

Does not promise that a plain `add` ends the delay: the item comes out twice, as in client-go,
unless the queue is made with `add_cancels_delay`.

Differs from client-go (util/workqueue, `delayingType`): one thread, started by the first delay,
waits on the queue's own lock, so `add_after` never blocks.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from clientgo.observe.metrics import MetricsProvider
from clientgo.util.clock import REAL_CLOCK, Clock, monotonic_ns, nanoseconds
from clientgo.util.process import SupervisedThread, ThreadStartError
from clientgo.workqueue.explanation import QueueStatistics
from clientgo.workqueue.orderings.due_heap import DueHeap
from clientgo.workqueue.orderings.ordering import FIFO, Ordering, T
from clientgo.workqueue.queue import Queue

_log = logging.getLogger("clientgo.workqueue")

_HEARTBEAT_NS: Final = 10 * 10**9
"""The waiting thread looks at least this often, so that a clock that jumps or sleeps badly makes
no item later than this."""


@dataclass(frozen=True, slots=True)
class DelayingQueueStatistics(QueueStatistics):
    """A delaying queue at one instant. `next_due` is an instant of the clock's `monotonic()`."""

    delayed: int
    next_due: float | None


class DelayingQueue(Queue[T]):
    """A `Queue` with `add_after`.

    With `add_cancels_delay`, an item that waits for a delay waits no longer once it is listed:
    without it, the worker sees the item twice.

    Source: k8s.io/client-go/util/workqueue, TypedDelayingInterface.
    """

    def __init__(
        self,
        *,
        name: str = "",
        ordering: Ordering[T] | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        add_cancels_delay: bool = False,
    ) -> None:
        if ordering is None:
            ordering = FIFO()
        if add_cancels_delay:
            ordering = _CancellingOrdering(ordering, self._cancel_delay_locked)
        super().__init__(name=name, ordering=ordering, metrics=metrics, clock=clock)
        self._now_ns = monotonic_ns(clock)
        self._delays: DueHeap[T] = DueHeap()
        self._delays_changed = self._lock.condition()
        self._waiter: threading.Thread | None = None

    def add_after(self, item: T, delay: float) -> None:
        """Add `item` when `delay` seconds have passed; immediately if it is not positive.

        Never blocks; does nothing once the queue shuts down. An infinite delay never passes.
        Raises ValueError for NaN.
        """
        check_delay(item, delay)
        self._do_locked(partial(self._add_after_locked, delay), item, or_leave=True)

    def _add_after_locked(self, delay: float, item: T) -> None:
        if self._shutting_down:
            return
        if self._observed:
            self._observer.retried(item, delay)
        if delay <= 0:
            self._note_locked(item)
            return
        self._delay_locked(item, self._now_ns() + nanoseconds(delay))

    def _delay_locked(self, item: T, due_ns: int) -> None:
        if self._waiter is None and not self._start_waiter_locked(item):
            self._note_locked(item)
            return
        if self._delays.put(item, due_ns):
            self._delays_changed.notify()
        if self._observed:
            self._observer.delayed(len(self._delays))

    def _start_waiter_locked(self, item: T) -> bool:
        """Start the waiting thread; return False if an item that was left has to do without."""
        try:
            self._waiter = SupervisedThread.started(
                self._release_when_due,
                name=f"workqueue-delays-{self._name}",
                then="delayed items would be lost, so the queue shuts down; restart this process",
                on_failure=self._delays_failed,
            )
        except ThreadStartError as error:
            if not self._lock.does_left:
                raise
            # The caller has gone, so the item must not get lost.
            _log.warning(
                "work queue %r: %r is added without its delay: %s", self._name, item, error
            )
            return False
        return True

    def _cancel_delay_locked(self, item: T) -> None:
        if self._delays.discard(item):
            self._report_delayed_locked()

    def _release_when_due(self) -> None:
        with self._lock:
            while not self._shutting_down:
                now_ns = self._now_ns()
                due_ns = self._release_due_locked(now_ns)
                self._report_delayed_locked()
                self._clock.wait_until(
                    self._delays_changed,
                    None if due_ns is None else min(due_ns, now_ns + _HEARTBEAT_NS) / 1e9,
                )

    def _release_due_locked(self, now_ns: int) -> int | None:
        """Add the items whose delay has ended; return when that of the next one ends."""
        delays = self._delays
        while (due_ns := delays.first_due_ns()) is not None and due_ns <= now_ns:
            item = delays.pop()
            try:
                self._note_locked(item)
            except Exception:  # noqa: BLE001 - the other delayed items must still be added
                _log.exception(
                    "work queue %r: the ordering failed, and the delayed item %r is dropped",
                    self._name,
                    item,
                )
        return due_ns

    def _delays_failed(self, _failure: BaseException) -> None:
        with self._lock:
            self._shut_down_locked()

    def _report_delayed_locked(self) -> None:
        if self._observed:
            self._observer.delayed(len(self._delays))

    def _shut_down_locked(self) -> None:
        if self._delays:
            self._delays.clear()
            self._report_delayed_locked()
        self._delays_changed.notify()
        super()._shut_down_locked()

    def _join_threads(self) -> None:
        if self._waiter is not None:
            self._waiter.join()
        super()._join_threads()

    def statistics(self) -> DelayingQueueStatistics:
        """Return what the queue holds right now."""
        return DelayingQueueStatistics(**self._read(self._statistics_locked))

    def _statistics_locked(self) -> dict[str, Any]:
        due_ns = self._delays.first_due_ns()
        return super()._statistics_locked() | {
            "delayed": len(self._delays),
            "next_due": None if due_ns is None else due_ns / 1e9,
        }

    def _explained_locked(self, item: T) -> dict[str, Any]:
        due_ns = self._delays.due_ns(item)
        due = None if due_ns is None else due_ns / 1e9
        return super()._explained_locked(item) | {"due": due}


def check_delay(item: object, delay: float) -> None:
    """Raise ValueError for NaN."""
    if math.isnan(delay):
        raise ValueError(f"add_after({item!r}, nan): a delay is a number of seconds")


class _CancellingOrdering(Ordering[T]):
    """An ordering that ends the delay of every item that it lists, or that is added once more.

    Here rather than in `add`, so that queues which do not ask for it add as fast as ever.
    """

    def __init__(self, ordering: Ordering[T], cancel_delay: Callable[[T], None]) -> None:
        self._ordering = ordering
        self._cancel_delay = cancel_delay

    def push(self, item: T, /) -> None:
        self._cancel_delay(item)
        self._ordering.push(item)

    def pop(self) -> T:
        return self._ordering.pop()

    def touch(self, item: T, /) -> None:
        self._cancel_delay(item)
        self._ordering.touch(item)

    def __len__(self) -> int:
        return len(self._ordering)
