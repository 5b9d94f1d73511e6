"""A bounded queue of events and the threads that pass them to one handler.

Promises: offering an event never blocks; the handler gets events in order, one at a time unless it
asks for more threads; dropped events are counted, and logged once until there is room again. A
warning that finds the queue full takes the place of the newest event that is none. Closing with
`discard` drops waiting events.

Differs from client-go (`watch` Broadcaster), which loses events of a slow watcher silently.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from clientgo.record.recorder import WARNING
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, refuse_in_child, start_threads

E = TypeVar("E")

_log = logging.getLogger("clientgo.record")


@dataclass(frozen=True, slots=True)
class EventWatchStatistics:
    """How many events were handled, were dropped, and still wait."""

    handled: int
    dropped: int
    pending: int


@uncopyable("it has threads; make one in each process")
class EventWatch(Generic[E]):
    """Delivers events to ``handler``; made by a broadcaster. Thread-safe."""

    def __init__(
        self,
        handler: Callable[[E], object],
        *,
        name: str,
        queue_size: int,
        threads: int = 1,
        clock: Clock,
    ) -> None:
        self._handler = handler
        self._name = name
        self._queue_size = queue_size
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[tuple[int, E]] = deque()
        """Events with their numbers, which rise."""
        self._in_hand: set[int] = set()
        self._taken = 0
        self._handled = 0
        self._dropped = 0
        self._full = False
        self._closed = False
        self._threads = [
            SupervisedThread(self._run, name=name, then="events are not handled any more")
            for _ in range(threads)
        ]
        start_threads(self._threads)
        refuse_in_child(
            self,
            f"the queue of events {name!r}",
            "_changed",
            advice="make a broadcaster in the child, after the fork",
        )

    def offer(self, event: E) -> None:
        """Queue an event, or drop and count it: when the queue is full, and after closing."""
        with self._changed:
            if self._closed:
                self._dropped += 1
                return
            became_full = False
            if not self._queue:
                self._full = False
            has_room = len(self._queue) < self._queue_size
            if not has_room:
                self._dropped += 1
                became_full = not self._full
                self._full = True
            if has_room or self._made_room_locked(event):
                self._taken += 1
                self._queue.append((self._taken, event))
                self._changed.notify_all()
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
            last = self._taken
            while self._oldest_locked() <= last:
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
                self._queue.clear()
            self._changed.notify_all()

    def stop(self) -> None:
        """Drop what waits and return when the handler's present calls, if any, have ended.

        Must not be called by the handler itself.
        """
        self.close(discard=True)
        for thread in self._threads:
            thread.join()

    def join(self, deadline: float) -> bool:
        """Wait for the end of the threads of a closed watch, until an instant of the clock."""
        ended = self.flush(deadline)
        if ended:
            for thread in self._threads:
                thread.join()
        return ended

    def statistics(self) -> EventWatchStatistics:
        with self._changed:
            pending = len(self._queue) + len(self._in_hand)
            return EventWatchStatistics(self._handled, self._dropped, pending)

    def _made_room_locked(self, event: E) -> bool:
        """Drop the newest event that is no warning, if this one is; return True if it did."""
        if not _is_warning(event):
            return False
        for index in reversed(range(len(self._queue))):
            if not _is_warning(self._queue[index][1]):
                del self._queue[index]
                return True
        return False

    def _oldest_locked(self) -> int:
        """The number of the oldest event that is not handled, or the next one's."""
        waiting = self._queue[0][0] if self._queue else self._taken + 1
        return min(self._in_hand, default=waiting)

    def _run(self) -> None:
        while (item := self._next()) is not None:
            number, event = item
            try:
                self._handler(event)
            except BaseException:  # noqa: BLE001 - SystemExit must not end the thread either
                _log.exception("%s: the handler of events failed and goes on", self._name)
            with self._changed:
                self._in_hand.remove(number)
                self._handled += 1
                self._changed.notify_all()

    def _next(self) -> tuple[int, E] | None:
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if not self._queue:
                return None
            item = self._queue.popleft()
            self._in_hand.add(item[0])
            return item


def _is_warning(event: object) -> bool:
    return getattr(event, "type", None) == WARNING
