"""The hand-over of changes between producers and a consumer: what both queues are built on.

Promises: the lock is not held while changes are processed, one batch at a time. The queue is in
sync once the last entry of its first content is processed. An entry whose processing fails is gone.
The queue has no bound, but when more than ``HIGH_WATER`` entries wait, a producer waits until the
current batch is processed, which slows the watch down.

Differs from client-go, which holds the lock meanwhile, and where a DeltaFIFO is in sync before its
last initial item is processed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from clientgo.cache.hops import trace_queue
from clientgo.cache.queues.done_checker import DoneChecker
from clientgo.cache.queues.queue import (
    DEFAULT_BATCH_SIZE,
    NO_QUEUE_METRICS,
    Batch,
    Deltas,
    ProcessBatchFunc,
    ProcessFunc,
    QueueClosedError,
    QueueMetrics,
    QueueStatistics,
)
from clientgo.cache.store.changes import Delta
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling
from clientgo.observe.trace import active_trace
from clientgo.util.clock import Clock
from clientgo.util.copies import CopyableError

_log = logging.getLogger("clientgo.cache")

HIGH_WATER: Final = 2 * DEFAULT_BATCH_SIZE
"""Entries: one batch to process next, and one that fills meanwhile."""

_SLOW_SECONDS: Final = 0.1
_SLOW_BATCH_SECONDS: Final = 1.0
_SLOW_PENDING: Final = 10
"""Slow processing is logged if more entries than this wait behind it."""

KeyedDelta: TypeAlias = tuple[str, Delta]


class EmptyDeltasError(CopyableError, ValueError):
    """A key was asked of Deltas without a single delta."""


class HandOver:
    """A queue without its content: locks, turns, being in sync, being closed. Thread-safe.

    A subclass keeps what waits. It changes that with :attr:`_lock` held, and then calls
    :meth:`_announce_locked`. Methods with the suffix ``_locked`` need the lock held, all others
    must be called without it.
    """

    def __init__(
        self, key_func: KeyFunc, *, name: str, clock: Clock, metrics: QueueMetrics | None
    ) -> None:
        self._key_func = deletion_handling(key_func)
        self._clock = clock
        self._metrics = NO_QUEUE_METRICS if metrics is None else metrics
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._consumers_waiting = 0
        self._batch_done = threading.Condition(self._lock)
        self._producers_waiting = 0
        self._batches_done = 0
        self._in_flight = 0
        self._consumer_thread: int | None = None
        self._closed = False
        self._populated = False
        self._initial_remaining = 0
        self._synced = DoneChecker(name, threading.Event())
        self._synced_unnoticed = False
        trace = active_trace()
        if trace is not None:
            trace_queue(self, name, trace)

    # What a subclass keeps

    def _count_locked(self) -> int:
        """Return how many entries wait."""
        raise NotImplementedError

    def _take_locked(self, limit: int) -> Batch:
        """Remove and return the entries of the next batch, at least one."""
        raise NotImplementedError

    def _processed_locked(self) -> None:
        """Forget the entries that were taken last; they are processed."""
        raise NotImplementedError

    # Keys

    def key_of(self, obj: Any) -> str:
        """Return the key of an object, of a tombstone, or of Deltas (that of their newest object).

        Raises :class:`KeyFuncError`.
        """
        if isinstance(obj, list):
            if not obj:
                cause = EmptyDeltasError("Deltas without a delta have no key")
                raise KeyFuncError(obj, cause) from cause
            obj = obj[-1].object
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error

    def _keyed(self, changes: Sequence[Delta]) -> tuple[list[KeyedDelta], KeyFuncError | None]:
        """Return changes with their keys, up to the first that has none, and its error."""
        keyed: list[KeyedDelta] = []
        append, key_func = keyed.append, self._key_func
        try:
            for change in changes:
                append((key_func(change.object), change))
        except Exception as error:  # noqa: BLE001 - a key function may raise anything
            failed = KeyFuncError(changes[len(keyed)].object, error)
            failed.__cause__ = error
            return keyed, failed
        return keyed, None

    # Producers

    def _wait_for_room_locked(self) -> None:
        """Wait until a consumer that is far behind has finished its batch."""
        if self._count_locked() <= HIGH_WATER:
            return
        if self._consumer_thread in (None, threading.get_ident()):
            return
        batch = self._batches_done
        while self._batches_done == batch and not self._closed:
            self._producers_waiting += 1
            try:
                self._batch_done.wait()
            finally:
                self._producers_waiting -= 1

    def _populate_locked(self, initial_count: int) -> None:
        """Note the first content: how many entries must be processed to be in sync."""
        if self._populated:
            return
        self._populated = True
        self._initial_remaining = initial_count
        if initial_count == 0:
            self._synced.done.set()
            self._synced_unnoticed = True
            self._changed.notify()

    def _announce_locked(self) -> None:
        """Wake a consumer, because entries were added."""
        self._metrics.queued_items.set(self._count_locked())
        if self._consumers_waiting:
            self._changed.notify()

    # The consumer

    def pop(self, process: ProcessFunc) -> Deltas:
        """Block until there is an entry, process it and return it.

        Raises what ``process`` raises; the entry is gone anyway. Raises
        :class:`QueueClosedError` when the queue is closed and empty, ``RuntimeError`` when called
        from a process function.
        """
        popped: list[Deltas] = []

        def process_popped(batch: Sequence[Deltas], is_in_initial_list: bool) -> None:
            popped.extend(batch)
            process(batch[0], is_in_initial_list)

        while not popped:
            self._consume(process_popped, limit=1)
        return popped[0]

    def pop_batch(
        self,
        process_batch: ProcessBatchFunc,
        process_single: ProcessFunc | None = None,
        limit: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Process up to ``limit`` entries, all with different keys; otherwise like :meth:`pop`.

        ``process_single``, if given, gets a batch of one. Entries of the initial list and later
        ones never share a batch. Returns without a call if an empty first list brought the queue
        in sync.
        """
        if process_single is None:
            self._consume(process_batch, limit)
            return

        def process(batch: Sequence[Deltas], is_in_initial_list: bool) -> None:
            if len(batch) == 1:
                process_single(batch[0], is_in_initial_list)
            else:
                process_batch(batch, is_in_initial_list)

        self._consume(process, limit)

    def _consume(self, process: Callable[[Batch, bool], None], limit: int) -> None:
        """Wait for entries and process a batch of at most ``limit`` of them.

        An empty first list leaves nothing to process. The consumer is woken once anyway,
        because it learns here that the queue is in sync.
        """
        with self._lock:
            self._wait_for_turn_locked()
            if self._synced_unnoticed:
                self._synced_unnoticed = False
                if not self._count_locked():
                    return
            is_in_initial_list = not self._synced.is_done()
            batch = self._take_locked(min(limit, self._initial_remaining or limit))
            counted = min(len(batch), self._initial_remaining)
            self._in_flight = len(batch)
            self._consumer_thread = threading.get_ident()
        started = self._clock.monotonic()
        try:
            process(batch, is_in_initial_list)
        finally:
            seconds = self._clock.monotonic() - started
            with self._lock:
                self._finish_locked(counted)
                pending = self._count_locked()
            self._report(len(batch), seconds, pending)

    def _wait_for_turn_locked(self) -> None:
        if self._consumer_thread == threading.get_ident():
            raise RuntimeError(
                "pop was called from a process function, which would wait for itself; "
                "return from it first"
            )
        while self._consumer_thread is not None or not (
            self._count_locked() or self._synced_unnoticed
        ):
            if self._closed and not self._count_locked():
                raise QueueClosedError(f"the queue {self._synced.name!r} is closed and empty")
            self._consumers_waiting += 1
            try:
                self._clock.wait(self._changed, None)
            finally:
                self._consumers_waiting -= 1

    def _finish_locked(self, counted: int) -> None:
        self._processed_locked()
        self._consumer_thread = None
        self._in_flight = 0
        self._batches_done += 1
        if counted:
            self._initial_remaining -= counted
            if self._initial_remaining == 0:
                self._synced.done.set()
        if self._producers_waiting:
            self._batch_done.notify_all()
        if self._consumers_waiting:
            self._changed.notify()

    # Its state

    def close(self) -> None:
        """Wake all waiting threads. Producers may still add, and consumers take what is left."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
            self._batch_done.notify_all()

    def is_closed(self) -> bool:
        with self._lock:
            return self._closed

    def has_synced(self) -> bool:
        """Return True if the first content, a list or a single change, has been processed."""
        return self._synced.is_done()

    def has_synced_checker(self) -> DoneChecker:
        """Return the condition of :meth:`has_synced`, to wait for it."""
        return self._synced

    def statistics(self) -> QueueStatistics:
        with self._lock:
            return QueueStatistics(
                pending=self._count_locked(),
                in_flight=self._in_flight,
                initial_remaining=self._initial_remaining,
                synced=self._synced.is_done(),
                closed=self._closed,
            )

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
