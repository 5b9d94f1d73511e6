"""One timer for each key, and one thread that watches them all.

Promises: setting a timer replaces the key's earlier one; a timer that is due calls back once, in
the thread of the timers; nothing is called after :meth:`Timers.stop` has returned.

Does not promise punctuality while a callback takes its time: callbacks add to a queue and return.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from clientgo.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.process import SupervisedThread
from clientgo.workqueue import DueHeap

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger("clientgo.operator")


@dataclass(frozen=True, slots=True)
class TimersStatistics:
    """Timers at one instant: how many wait, the instant of the first of them, and how many are due
    without their callback having returned; of those unseen as yet only one is counted."""

    waiting: int
    due: int
    next_due: float | None


class Timers(Generic[K]):
    """Calls ``due(key)`` when a key's time has come. Thread-safe; the thread starts when needed."""

    def __init__(self, due: Callable[[K], object], *, name: str, clock: Clock = REAL_CLOCK) -> None:
        self._due = due
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._heap: DueHeap[K] = DueHeap()
        self._thread: threading.Thread | None = None
        self._delivering = 0
        self._stopped = False

    def set(self, key: K, instant: float) -> None:
        """Call back for ``key`` at an instant of the clock's ``monotonic()``, and not before."""
        with self._lock:
            if self._stopped:
                return
            self._heap.discard(key)
            first = self._heap.put(key, nanoseconds(instant))
            if self._thread is None:
                self._thread = SupervisedThread(
                    self._run,
                    name=self._name,
                    then="delayed runs do not begin any more; restart this process",
                )
                self._thread.start()
            elif first:
                self._changed.notify()

    def cancel(self, key: K) -> None:
        """Forget the timer of a key, if it has one."""
        with self._lock:
            self._heap.discard(key)

    def statistics(self) -> TimersStatistics:
        now_ns = nanoseconds(self._clock.monotonic())
        with self._lock:
            first = self._heap.first_due_ns()
            unseen = first is not None and first <= now_ns
            return TimersStatistics(
                waiting=len(self._heap),
                due=self._delivering + unseen,
                next_due=None if first is None else first / 1e9,
            )

    def stop(self) -> None:
        """Drop all timers and end the thread; blocks until it has ended. Idempotent."""
        with self._lock:
            self._stopped = True
            self._heap.clear()
            self._changed.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while True:
            due = self._wait_for_due()
            if due is None:
                return
            for key in due:
                try:
                    self._due(key)
                except Exception:  # noqa: BLE001 - one key's callback must not end all timers
                    _log.exception("%s: the timer of %s failed", self._name, key)
            self._delivering = 0

    def _wait_for_due(self) -> list[K] | None:
        """Block until something is due; None when stopped."""
        with self._lock:
            while not self._stopped:
                now_ns = nanoseconds(self._clock.monotonic())
                due: list[K] = []
                while (first := self._heap.first_due_ns()) is not None and first <= now_ns:
                    due.append(self._heap.pop())
                if due:
                    self._delivering = len(due)
                    return due
                self._clock.wait_until(self._changed, None if first is None else first / 1e9)
            return None
