"""The consumer's side of a queue: waiting, taking turns, processing, being in sync.

Promises: the lock is not held while entries are processed, one batch at a time. The queue is in
sync once the last entry of its first content is processed. An entry whose processing fails is gone.

Differs from client-go, which holds the lock meanwhile, and where a DeltaFIFO is in sync before its
last initial item is processed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from clientgo.cache.queues.done_checker import DoneChecker
from clientgo.cache.queues.queue import (
    DEFAULT_BATCH_SIZE,
    NO_QUEUE_METRICS,
    QueueClosedError,
    QueueMetrics,
    QueueStatistics,
)
from clientgo.observe.trace import Describe, active_trace
from clientgo.util.clock import Clock

Entry = TypeVar("Entry")
Held = TypeVar("Held", covariant=True)

_log = logging.getLogger("clientgo.cache")

HIGH_WATER: Final = 2 * DEFAULT_BATCH_SIZE
"""Entries: one batch to process next, and one that fills meanwhile."""

_SLOW_SECONDS: Final = 0.1
_SLOW_BATCH_SECONDS: Final = 1.0
_SLOW_PENDING: Final = 10
"""Slow processing is logged if more entries than this wait behind it."""


class Entries(Protocol[Held]):
    """What a queue holds. Not thread-safe: the gate calls it with the lock held."""

    def __len__(self) -> int:
        """Return how many entries wait."""

    def take(self, limit: int) -> Sequence[Held]:
        """Remove and return the entries of the next batch, at least one."""

    def processed(self) -> None:
        """Forget the entries that were taken last; they are processed."""


class ConsumerGate(Generic[Entry]):
    """Lets one consumer at a time process ``entries``. Thread-safe.

    Producers change the entries with :attr:`lock` held and then call :meth:`announce`. Methods
    with the suffix ``_locked`` need the lock held, all others must be called without it.
    ``popped`` makes the hops of a batch that is taken, for a tracer.
    """

    def __init__(
        self,
        entries: Entries[Entry],
        *,
        name: str,
        clock: Clock,
        metrics: QueueMetrics | None = None,
        popped: Describe | None = None,
    ) -> None:
        self.lock: Final = threading.Lock()
        self._entries = entries
        self._count = entries.__len__
        self._clock = clock
        self._metrics = NO_QUEUE_METRICS if metrics is None else metrics
        self._changed = threading.Condition(self.lock)
        self._consumers_waiting = 0
        self._batch_done = threading.Condition(self.lock)
        self._producers_waiting = 0
        self._batches_done = 0
        self._in_flight = 0
        self._consumer: int | None = None
        self._closed = False
        self._populated = False
        self._initial_remaining = 0
        self.synced: Final = DoneChecker(name, threading.Event())
        self.trace: Final = active_trace()
        self._popped = popped
        self._synced_unnoticed = False

    def close(self) -> None:
        """Wake all waiting threads. Producers may still add, and consumers take what is left."""
        with self.lock:
            self._closed = True
            self._changed.notify_all()
            self._batch_done.notify_all()

    def is_closed(self) -> bool:
        with self.lock:
            return self._closed

    def statistics(self) -> QueueStatistics:
        with self.lock:
            return QueueStatistics(
                pending=self._count(),
                in_flight=self._in_flight,
                initial_remaining=self._initial_remaining,
                synced=self.synced.is_done(),
                closed=self._closed,
            )

    def pop(self, process: Callable[[Entry, bool], None]) -> Entry:
        """Wait for an entry, process it and return it."""
        popped: list[Entry] = []

        def process_popped(batch: Sequence[Entry], is_in_initial_list: bool) -> None:
            popped.extend(batch)
            process(batch[0], is_in_initial_list)

        while not popped:
            self.consume(process_popped, limit=1)
        return popped[0]

    def consume(self, process: Callable[[Sequence[Entry], bool], None], limit: int) -> None:
        """Wait for entries and process a batch of at most ``limit`` of them.

        An empty first list leaves nothing to process. The consumer is woken once anyway,
        because it learns here that the queue is in sync.
        """
        trace = self.trace
        if trace is not None and trace.holds:
            with self.lock:
                self._wait_for_turn_locked()
            trace.before("fifo.take", self.synced.name)
        with self.lock:
            self._wait_for_turn_locked()
            self._synced_unnoticed = False
            if not self._count():
                return
            is_in_initial_list = not self.synced.is_done()
            batch = self._entries.take(min(limit, self._initial_remaining or limit))
            if trace is not None and self._popped is not None:
                trace.note_all(self.synced.name, self._popped, batch)
            counted = min(len(batch), self._initial_remaining)
            self._in_flight = len(batch)
            self._consumer = threading.get_ident()
        started = self._clock.monotonic()
        try:
            process(batch, is_in_initial_list)
        finally:
            seconds = self._clock.monotonic() - started
            with self.lock:
                self._finish_locked(counted)
                pending = self._count()
            self._report(len(batch), seconds, pending)

    def populate_locked(self, initial_count: int) -> None:
        """Note the first content: how many entries must be processed to be in sync."""
        if self._populated:
            return
        self._populated = True
        self._initial_remaining = initial_count
        if initial_count == 0:
            self.synced.done.set()
            self._synced_unnoticed = True
            self._changed.notify()

    def announce_locked(self) -> None:
        """Wake a consumer, because entries were added."""
        self._metrics.queued_items.set(self._count())
        if self._consumers_waiting:
            self._changed.notify()

    def wait_for_room_locked(self) -> None:
        """Wait until a consumer that is far behind has finished its batch."""
        if self._count() <= HIGH_WATER or self._consumer in (None, threading.get_ident()):
            return
        batch = self._batches_done
        while self._batches_done == batch and not self._closed:
            self._producers_waiting += 1
            try:
                self._batch_done.wait()
            finally:
                self._producers_waiting -= 1

    def _wait_for_turn_locked(self) -> None:
        if self._consumer == threading.get_ident():
            raise RuntimeError(
                "pop was called from a process function, which would wait for itself; "
                "return from it first"
            )
        while self._consumer is not None or not (self._count() or self._synced_unnoticed):
            if self._closed and not self._count():
                raise QueueClosedError(f"the queue {self.synced.name!r} is closed and empty")
            self._consumers_waiting += 1
            try:
                self._clock.wait(self._changed, None)
            finally:
                self._consumers_waiting -= 1

    def _finish_locked(self, counted: int) -> None:
        self._entries.processed()
        self._consumer = None
        self._in_flight = 0
        self._batches_done += 1
        if counted:
            self._initial_remaining -= counted
            if self._initial_remaining == 0:
                self.synced.done.set()
        if self._producers_waiting:
            self._batch_done.notify_all()
        if self._consumers_waiting:
            self._changed.notify()

    def _report(self, processed: int, seconds: float, pending: int) -> None:
        self._metrics.queued_items.set(pending)
        self._metrics.processing_latency.observe(seconds)
        if pending > _SLOW_PENDING and seconds > min(
            _SLOW_SECONDS * processed, _SLOW_BATCH_SECONDS
        ):
            _log.warning(
                "Processing %d entries of the queue %s took %.3f s while %d wait; "
                "move slow work out of the process function",
                processed,
                self.synced.name,
                seconds,
                pending,
            )


class GatedQueue:
    """A queue whose state is that of its gate. Thread-safe."""

    _gate: ConsumerGate[Any]

    def close(self) -> None:
        """Wake all waiting threads. Producers may still add, and consumers take what is left."""
        self._gate.close()

    def is_closed(self) -> bool:
        return self._gate.is_closed()

    def has_synced(self) -> bool:
        """Return True if the first content, a list or a single change, has been processed."""
        return self._gate.synced.is_done()

    def has_synced_checker(self) -> DoneChecker:
        """Return the condition of :meth:`has_synced`, to wait for it."""
        return self._gate.synced

    def statistics(self) -> QueueStatistics:
        return self._gate.statistics()
