"""The consumer's side of every queue in this room: waiting, taking, processing, being in sync.

Promises: the lock is not held while a process function runs; one batch is processed at a time,
further consumers wait for their turn; the queue counts as synced when the last entry of its
first content has been processed, and for good.

Does not promise to give an entry back: what a process function fails on is gone.

Differs from client-go, where DeltaFIFO holds its lock while an entry is processed and RealFIFO
does so when many are pending, which blocks everybody, readers of the queue's state included; and
where the sync event of a DeltaFIFO fires before its last initial item is processed.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from clientgo.cache.queues.done_checker import DoneChecker
from clientgo.cache.queues.queue import (
    DEFAULT_BATCH_SIZE,
    NO_QUEUE_METRICS,
    QueueClosedError,
    QueueMetrics,
    QueueStatistics,
)
from clientgo.clock import Clock

Entry = TypeVar("Entry")

_log = logging.getLogger("clientgo.cache")

HIGH_WATER: Final = 2 * DEFAULT_BATCH_SIZE
"""One batch to work on next, one that fills meanwhile."""

_SLOW_SECONDS: Final = 0.1
_SLOW_BATCH_SECONDS: Final = 1.0
_SLOW_PENDING: Final = 10
"""Processing is worth a log line if it takes longer than this and something waits behind it."""


class ConsumerQueue(ABC, Generic[Entry]):
    """Base of the queues: everything but how entries are kept. Thread-safe."""

    def __init__(self, name: str, clock: Clock, metrics: QueueMetrics | None = None) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._consumers_waiting = 0
        self._batch_done = threading.Condition(self._lock)
        self._producers_waiting = 0
        self._batches_done = 0
        self._in_flight_count = 0
        self._consumer: int | None = None
        self._closed = False
        self._populated = False
        self._initial_remaining = 0
        self._synced = DoneChecker(name, threading.Event())
        self._synced_unnoticed = False
        self._clock = clock
        self._metrics = NO_QUEUE_METRICS if metrics is None else metrics

    def close(self) -> None:
        """Wake whoever waits; what is queued can still be taken, and producers still add."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
            self._batch_done.notify_all()

    def is_closed(self) -> bool:
        with self._lock:
            return self._closed

    def has_synced(self) -> bool:
        """Tell whether the first content, a list or a single change, has been processed."""
        return self._synced.is_done()

    def has_synced_checker(self) -> DoneChecker:
        """What :meth:`has_synced` tells, to be waited for."""
        return self._synced

    def statistics(self) -> QueueStatistics:
        with self._lock:
            return QueueStatistics(
                pending=self._pending_locked(),
                in_flight=self._in_flight_count,
                initial_remaining=self._initial_remaining,
                synced=self._synced.is_done(),
                closed=self._closed,
            )

    @abstractmethod
    def _pending_locked(self) -> int:
        """How many entries wait."""

    @abstractmethod
    def _take_locked(self, limit: int) -> list[Entry]:
        """Remove and return the entries of the next batch, at least one."""

    def _forget_taken_locked(self) -> None:
        """What was taken last has been processed."""

    def _consume(self, process: Callable[[list[Entry], bool], None], limit: int) -> None:
        """Wait for entries and process a batch of them.

        An empty first list leaves nothing to process; the consumer is woken all the same, once,
        because it learns here that the queue is in sync.
        """
        with self._lock:
            self._wait_for_turn_locked()
            self._synced_unnoticed = False
            if not self._pending_locked():
                return
            is_in_initial_list = not self._synced.is_done()
            batch = self._take_locked(min(limit, self._initial_remaining or limit))
            counted = min(len(batch), self._initial_remaining)
            self._in_flight_count = len(batch)
            self._consumer = threading.get_ident()
        started = self._clock.monotonic()
        try:
            process(batch, is_in_initial_list)
        finally:
            seconds = self._clock.monotonic() - started
            with self._lock:
                self._finish_locked(counted)
                pending = self._pending_locked()
            self._report(len(batch), seconds, pending)

    def _populate_locked(self, initial_count: int) -> None:
        """The first content decides how many entries must be processed to be in sync."""
        if self._populated:
            return
        self._populated = True
        self._initial_remaining = initial_count
        if initial_count == 0:
            self._synced.done.set()
            self._synced_unnoticed = True
            self._changed.notify()

    def _announce_locked(self) -> None:
        """Something was queued."""
        self._metrics.queued_items.set(self._pending_locked())
        if self._consumers_waiting:
            self._changed.notify()

    def _wait_for_room_locked(self) -> None:
        """Let a consumer that has fallen far behind finish its batch."""
        if self._pending_locked() <= HIGH_WATER or self._consumer in (None, threading.get_ident()):
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
        while self._consumer is not None or not (self._pending_locked() or self._synced_unnoticed):
            if self._closed and not self._pending_locked():
                raise QueueClosedError(f"the queue {self._synced.name!r} is closed and empty")
            self._consumers_waiting += 1
            try:
                self._clock.wait(self._changed, None)
            finally:
                self._consumers_waiting -= 1

    def _finish_locked(self, counted: int) -> None:
        self._forget_taken_locked()
        self._consumer = None
        self._in_flight_count = 0
        self._batches_done += 1
        if counted:
            self._initial_remaining -= counted
            if self._initial_remaining == 0:
                self._synced.done.set()
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
                self._synced.name,
                seconds,
                pending,
            )
