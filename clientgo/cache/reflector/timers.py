"""The threads beside a reflector's own: its resync timer, and the deadline of a streamed list."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from clientgo.util.clock import Clock, nanoseconds
from clientgo.util.process import SupervisedThread

_log = logging.getLogger("clientgo.cache.reflector")

WARN_EVERY: Final = 10.0
"""Seconds; an API server sends the end marker within a second or two of the last object."""

DEADLINE: Final = 60.0
"""Seconds; enough for millions of objects, and a list in pages has the same result."""


class ResyncTimer:
    """Calls ``tick`` every ``period`` seconds in a thread of its own.

    The first call comes one period after :meth:`start`. Lists and broken connections do not delay
    the next one, and calls that were missed because one took too long are dropped. ``tick`` must
    not raise.

    Differs from client-go (``tools/cache`` Reflector.startResync), which restarts the period with
    every list, so that resyncs never happen if connections break more often than that.
    """

    def __init__(self, period: float, tick: Callable[[], None], *, clock: Clock, name: str) -> None:
        self._period_ns = nanoseconds(period)
        self._tick = tick
        self._clock = clock
        self._name = name
        self._thread: threading.Thread | None = None

    def start(self, stop: threading.Event) -> None:
        """Start, unless it has started; it ends when ``stop`` is set."""
        if self._thread is None:
            first_ns = nanoseconds(self._clock.monotonic()) + self._period_ns
            self._thread = SupervisedThread.started(
                self._run,
                args=(first_ns, stop),
                name=self._name,
                then="handlers get no more resyncs",
            )

    def join(self) -> None:
        """Wait until it has ended after its stop."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, due_ns: int, stop: threading.Event) -> None:
        clock = self._clock
        while not clock.sleep((due_ns - nanoseconds(clock.monotonic())) / 1e9, stop):
            self._tick()
            now_ns = nanoseconds(clock.monotonic())
            missed = max(now_ns - due_ns, 0) // self._period_ns
            due_ns += (missed + 1) * self._period_ns


class StreamedListDeadline:
    """Calls ``overdue`` once :data:`DEADLINE` seconds have passed, unless :meth:`end` is first.

    Logs a warning for every ten seconds that the end marker is late.

    Differs from client-go (``tools/cache`` initialEventsEndBookmarkTicker), which warns and waits
    without end: behind a server that never sends the marker an informer would never start.
    """

    def __init__(self, overdue: Callable[[], None], *, clock: Clock, name: str) -> None:
        self._overdue = overdue
        self._clock = clock
        self._name = name
        self._ended = threading.Event()
        self._thread = SupervisedThread.started(
            self._run,
            name=f"{name} streamed-list-deadline",
            then="the streamed list has no deadline",
        )

    def end(self) -> None:
        """Stop: the list has ended, or no longer matters. Blocks until the thread has ended."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        waited = 0.0
        while waited < DEADLINE:
            if self._clock.sleep(WARN_EVERY, self._ended):
                return
            waited += WARN_EVERY
            _log.warning(
                "%s: the streamed list has not ended after %.0f s; listing in pages after %.0f s",
                self._name,
                waited,
                DEADLINE,
            )
        self._overdue()
