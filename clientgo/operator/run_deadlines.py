"""How long a run may take.

Promises that a run which exceeds its controller's time is told so through ``ctx.cancelled``, and
that one which goes on all the same is reported once a minute: its object stays locked.

Does not promise to end it: a thread in Python cannot be ended from outside.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from clientgo.clock import Clock
from clientgo.operator.run_queue import Run
from clientgo.operator.timers import Timers

REPORT_PERIOD: Final = 60.0

_log = logging.getLogger("clientgo.operator.reconcile")


class RunDeadlines:
    """Watches the runs of one controller. Thread-safe. ``timeout`` None: no run is watched."""

    def __init__(
        self, name: str, timeout: float | None, stop: threading.Event, clock: Clock
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._stop = stop
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[int, tuple[Run, threading.Event, float]] = {}
        self._timers: Timers[int] = Timers(self._exceeded, name=f"{name}-deadlines", clock=clock)

    def begin(self, run: Run, now: float) -> tuple[threading.Event, float | None]:
        """The event that tells a run to end, and the instant at which it will be set."""
        if self._timeout is None:
            return self._stop, None
        cancelled, deadline = threading.Event(), now + self._timeout
        with self._lock:
            self._runs[id(run)] = run, cancelled, now
        self._timers.set(id(run), deadline)
        if self._stop.is_set():  # perhaps too late for cancel_all
            cancelled.set()
        return cancelled, deadline

    def end(self, run: Run) -> None:
        """The run is over."""
        if self._timeout is None:
            return
        self._timers.cancel(id(run))
        with self._lock:
            self._runs.pop(id(run), None)

    def cancel_all(self) -> None:
        """Tell every run to end, as at a stop."""
        with self._lock:
            runs = list(self._runs.values())
        for _, cancelled, _ in runs:
            cancelled.set()

    def older_than(self, seconds: float) -> int:
        """How many runs go on for longer than so many seconds."""
        now = self._clock.monotonic()
        with self._lock:
            return sum(now - began > seconds for _, _, began in self._runs.values())

    def stop(self) -> None:
        self._timers.stop()

    def _exceeded(self, number: int) -> None:
        with self._lock:
            found = self._runs.get(number)
        if found is None:
            return
        run, cancelled, began = found
        now = self._clock.monotonic()
        if cancelled.is_set():
            _log.error(
                "%s: the run of %s goes on for %.0f s and does not look at ctx.cancelled; its "
                "object stays locked",
                self._name,
                run.key,
                now - began,
            )
        cancelled.set()
        self._timers.set(number, now + REPORT_PERIOD)
