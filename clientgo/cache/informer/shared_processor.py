"""Hands every notification to all handlers of an informer, and knows which are due for a resync.

A handler that is added or removed meanwhile gets all of a batch or nothing. All handlers get the
batches in the same order. Thread-safe, callbacks included.

Resyncs follow client-go's rules: at every tick of the check period a handler is due if its own
period has passed since it was last due. Until the next tick it then counts as syncing, as a new
handler does. Upstream: ``tools/cache`` sharedProcessor.
"""

from __future__ import annotations

import logging
import math
import threading
from typing import Final

from clientgo.cache.informer.listener import Listener
from clientgo.cache.informer.notifications import Chunk
from clientgo.util.clock import Clock, nanoseconds
from clientgo.util.process import SupervisedThread, start_threads

HANDLER_TIMEOUT: Final = 10.0
"""Seconds that a stopping informer waits for its handlers: less than the 30 s that Kubernetes
gives a pod to terminate, so that a blocked handler leaves the rest of a program time to stop."""


class SharedProcessor:
    """The listeners of one informer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._listeners: dict[Listener, ResyncSchedule] = {}
        self._is_started = False
        self._has_synced = False
        self._overrun: list[Listener] = []
        self._leaving: list[Listener] = []
        """Removed, with a call that may still be in progress."""

    def add(self, listener: Listener, schedule: ResyncSchedule, initial: Chunk) -> None:
        """Start to deliver to a listener, ``initial`` first. Not while :meth:`distribute` runs."""
        with self._lock:
            if self._is_started:
                listener.start()
            if listener.hand_over(initial):
                self._overrun.append(listener)
            self._listeners[listener] = schedule
            if self._has_synced:
                listener.tracker.upstream_has_synced()

    def remove(self, listener: Listener) -> None:
        """Deliver nothing more to a listener. Ignores one that is not registered here."""
        listener.close()
        with self._lock:
            if self._listeners.pop(listener, None) is not None:
                self._leaving = [*filter(Listener.is_alive, self._leaving), listener]

    def start(self, *others: SupervisedThread) -> None:
        """Start the threads of all listeners, and of those that are added later.

        With them starts what else the informer needs: all or none.
        """
        with self._lock:
            threads = {listener: listener.new_thread() for listener in self._listeners}
            start_threads([*threads.values(), *others])
            for listener, thread in threads.items():
                listener.started(thread)
            self._is_started = True

    def stop(self) -> None:
        """End all deliveries and wait for the calls in progress, of removed handlers too.

        Waits at most :data:`HANDLER_TIMEOUT` seconds for all of them together. Handlers that have
        not returned then are logged, and their daemon threads are left behind.
        """
        with self._lock:
            listeners = [*self._listeners, *self._leaving]
        for listener in listeners:
            listener.close()
        deadline = self._clock.monotonic() + HANDLER_TIMEOUT
        for listener in listeners:
            listener.join(deadline)

    def shut_down(self, listener: Listener) -> None:
        """Remove a listener and wait for its call in progress, as :meth:`stop` does."""
        self.remove(listener)
        listener.join(self._clock.monotonic() + HANDLER_TIMEOUT)

    def upstream_has_synced(self) -> None:
        """Note that the initial list has been handed over completely."""
        with self._lock:
            self._has_synced = True
            for listener in self._listeners:
                listener.tracker.upstream_has_synced()

    def distribute(self, chunk: Chunk) -> None:
        """Hand notifications to all listeners; syncs only to those that are syncing."""
        changes = chunk.without_syncs()
        with self._lock:
            for listener, schedule in self._listeners.items():
                part = chunk if schedule.is_syncing else changes
                if part.notifications and listener.hand_over(part):
                    self._overrun.append(listener)

    def report_overrun(self) -> None:
        """Report the listeners whose backlog has passed its mark. Calls user code: hold no lock."""
        with self._lock:
            overrun, self._overrun = self._overrun, []
        for listener in overrun:
            listener.report_high_water()

    def should_resync(self) -> bool:
        """Note which listeners are due now; return True if any is."""
        now_ns = nanoseconds(self._clock.monotonic())
        with self._lock:
            due = [schedule.tick(now_ns) for schedule in self._listeners.values()]
        return any(due)

    def all_due(self) -> None:
        """Note that all listeners are due, until :meth:`should_resync` notes it again."""
        with self._lock:
            for schedule in self._listeners.values():
                schedule.is_syncing = True

    def check_period_changed(self, check_period: float) -> None:
        """Compute the periods of all listeners again."""
        with self._lock:
            for schedule in self._listeners.values():
                schedule.check_period_changed(check_period)

    def is_calling_here(self) -> bool:
        """Return True in the thread of a listener, of one that was removed too."""
        with self._lock:
            return any(listener.is_here() for listener in (*self._listeners, *self._leaving))

    def listeners(self) -> list[Listener]:
        """Return the registered listeners."""
        with self._lock:
            return list(self._listeners)


_log = logging.getLogger("clientgo.cache.informer")

SHORTEST_PERIOD: Final = 1.0
"""Seconds; more frequent resyncs are a mistake in the unit."""


class ResyncSchedule:
    """When one handler is due: every ``requested`` seconds, 0 for never."""

    def __init__(self, requested: float, check_period: float, clock: Clock) -> None:
        self._requested = requested
        self._clock = clock
        self.is_syncing = True
        self._period_ns = nanoseconds(_effective(requested, check_period))
        self._next_ns = nanoseconds(clock.monotonic()) + self._period_ns

    def check_period_changed(self, check_period: float) -> None:
        """Compute the handler's period again."""
        self._period_ns = nanoseconds(_effective(self._requested, check_period))

    def tick(self, now_ns: int) -> bool:
        """Return True if the handler is due, and remember it until the next tick."""
        self.is_syncing = self._period_ns > 0 and now_ns >= self._next_ns
        if self.is_syncing:
            self._next_ns = now_ns + self._period_ns
        return self.is_syncing


def checked_period(period: float) -> float:
    """Return a handler's period, raised to the shortest. Raises ``ValueError`` for NaN."""
    if math.isnan(period):
        raise ValueError("a resync period must be a number of seconds, not NaN; 0 means never")
    if 0 < period < SHORTEST_PERIOD:
        _log.warning("A resync period of %s s is raised to %s s", period, SHORTEST_PERIOD)
        return SHORTEST_PERIOD
    return period


def _effective(requested: float, check_period: float) -> float:
    if requested == 0:
        return 0.0
    if check_period == 0:
        _log.warning("A handler asks for resyncs, but its informer has no resync period")
        return 0.0
    return max(requested, check_period)
