"""A bounded queue of events and the thread that hands them to one handler.

Promises: offering an event never blocks; the handler gets events in the order offered, one at a
time; what did not fit is counted and said once, until there is room again.

Does not promise that an event which was taken is ever handled: closing with ``discard`` drops
what still waits.

Differs from client-go (``watch`` Broadcaster), which has a distributing goroutine and a second
queue in front, and loses events of a slow watcher without a trace.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.api.core_v1 import Event
from clientgo.clock import Clock

_log = logging.getLogger("clientgo.record")


@dataclass(frozen=True, slots=True)
class EventWatchStatistics:
    """How many events were handled, were dropped for want of room or time, and still wait."""

    handled: int
    dropped: int
    pending: int


class EventWatch:
    """Delivers events to ``handler``; made by ``EventBroadcaster``. Thread-safe."""

    def __init__(
        self, handler: Callable[[Event], object], *, name: str, queue_size: int, clock: Clock
    ) -> None:
        self._handler = handler
        self._name = name
        self._queue_size = queue_size
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[Event] = deque()
        self._taken = 0
        self._handled = 0
        self._dropped = 0
        self._full = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, event: Event) -> None:
        """Queue an event, or drop and count it: when the queue is full, and after closing."""
        with self._changed:
            if self._closed:
                self._dropped += 1
                return
            became_full = False
            if len(self._queue) < self._queue_size:
                self._full = False
                self._queue.append(event)
                self._taken += 1
                self._changed.notify_all()
            else:
                self._dropped += 1
                became_full = not self._full
                self._full = True
        if became_full:
            _log.error(
                "%s: %d events wait, further ones are dropped until there is room; see whether "
                "the API server answers, or what else makes the handler slow",
                self._name,
                self._queue_size,
            )

    def flush(self, deadline: float | None) -> bool:
        """Wait until what was offered so far is handled; False if the instant came before."""
        with self._changed:
            target = self._taken
            while self._handled < target:
                if deadline is not None and self._clock.monotonic() >= deadline:
                    return False
                self._clock.wait_until(self._changed, deadline)
            return True

    def close(self, *, discard: bool = False) -> None:
        """Take no more events; with ``discard``, drop those that wait. Does not block."""
        with self._changed:
            self._closed = True
            if discard:
                self._dropped += len(self._queue)
                self._taken -= len(self._queue)
                self._queue.clear()
            self._changed.notify_all()

    def stop(self) -> None:
        """Drop what waits and return when the handler's present call, if any, has ended.

        Must not be called by the handler itself.
        """
        self.close(discard=True)
        self._thread.join()

    def join(self, deadline: float) -> bool:
        """Wait for the end of the thread of a closed watch, until an instant of the clock."""
        ended = self.flush(deadline)
        if ended:
            self._thread.join()
        return ended

    def statistics(self) -> EventWatchStatistics:
        with self._changed:
            return EventWatchStatistics(
                handled=self._handled, dropped=self._dropped, pending=self._taken - self._handled
            )

    def _run(self) -> None:
        while (event := self._next()) is not None:
            try:
                self._handler(event)
            except Exception:  # noqa: BLE001 - a handler is anybody's code
                _log.exception("%s: the handler of events failed and goes on", self._name)
            with self._changed:
                self._handled += 1
                self._changed.notify_all()

    def _next(self) -> Event | None:
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            return self._queue.popleft() if self._queue else None
