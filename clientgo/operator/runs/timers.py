"""Functions that are called at an instant, by one thread for all of them.

Promises that a timer replaces the key's earlier one, and that nothing is called after
:meth:`Timers.stop` has returned. A function must return quickly: others wait for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from typing import TypeAlias

from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread
from clientgo.workqueue import DueHeap

Function: TypeAlias = Callable[[], object]

_log = logging.getLogger("clientgo.operator")


@uncopyable("it has locks; make one in each process")
class Timers:
    """Calls a function when its key's time has come. Thread-safe; the thread starts when needed."""

    def __init__(self, name: str, clock: Clock = REAL_CLOCK) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._heap: DueHeap[Hashable] = DueHeap()
        self._functions: dict[Hashable, Function] = {}
        self._thread: SupervisedThread | None = None
        self._stopped = False

    def set(self, key: Hashable, instant: float, function: Function) -> None:
        """Call ``function`` at an instant of the clock's ``monotonic()``, and not before."""
        with self._lock:
            if self._stopped:
                return
            if self._thread is None:
                self._thread = SupervisedThread.started(
                    self._run,
                    name=self._name,
                    then="deadlines and retries do not happen any more; restart this process",
                )
            self._heap.discard(key)
            self._functions[key] = function
            if self._heap.put(key, nanoseconds(instant)):
                self._changed.notify()

    def cancel(self, key: Hashable) -> None:
        """Forget the timer of a key, if it has one."""
        with self._lock:
            if self._heap.discard(key):
                del self._functions[key]

    def stop(self) -> None:
        """Drop all timers and end the thread; blocks until it has ended. Idempotent."""
        with self._lock:
            self._stopped = True
            self._heap.clear()
            self._functions.clear()
            self._changed.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while (due := self._wait_for_due()) is not None:
            for function in due:
                try:
                    function()
                except Exception:  # noqa: BLE001 - one function must not end all timers
                    _log.exception("%s: a timer failed", self._name)

    def _wait_for_due(self) -> list[Function] | None:
        """Block until something is due; None when stopped."""
        with self._lock:
            while not self._stopped:
                now_ns = nanoseconds(self._clock.monotonic())
                due: list[Function] = []
                while (first := self._heap.first_due_ns()) is not None and first <= now_ns:
                    due.append(self._functions.pop(self._heap.pop()))
                if due:
                    return due
                self._clock.wait_until(self._changed, None if first is None else first / 1e9)
            return None
