"""The resync timer: a call every period.

Promises: the first call comes one period after the start, and the beat goes on whatever happens
to connections and lists meanwhile. Beats that were missed because a call took too long are
dropped, not made up for. A call that raises is reported and does not end the timer.

Differs from client-go (``tools/cache`` Reflector.startResync), which starts the period anew with
every list, so that a connection that breaks more often than the period keeps resyncs from ever
happening.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from clientgo.clock import Clock, nanoseconds


class ResyncTimer:
    """Calls ``tick`` every ``period`` seconds in a thread of its own, from :meth:`start` on."""

    def __init__(self, period: float, tick: Callable[[], None], *, clock: Clock, name: str) -> None:
        self._period_ns = nanoseconds(period)
        self._tick = tick
        self._clock = clock
        self._name = name
        self._thread: threading.Thread | None = None

    def start(self, stop: threading.Event) -> None:
        """Begin, unless it has begun; ends when ``stop`` is set."""
        if self._thread is None:
            first_ns = nanoseconds(self._clock.monotonic()) + self._period_ns
            self._thread = threading.Thread(
                target=self._run, args=(first_ns, stop), name=self._name, daemon=True
            )
            self._thread.start()

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
