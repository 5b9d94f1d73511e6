"""How long a run may take.

Promises that ``ctx.cancelled`` is set for a run that exceeds its controller's time, and that a run
which does not end is reported once a minute. A thread in Python cannot be ended from outside.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Final

from clientgo.clock import Clock
from clientgo.operator.runs.run import Run
from clientgo.operator.runs.timers import Timers

REPORT_PERIOD: Final = 60.0

_log = logging.getLogger("clientgo.operator.reconcile")


class RunDeadlines:
    """Watches the runs of one controller. Thread-safe. ``timeout`` None: no run is watched."""

    def __init__(
        self,
        name: str,
        timeout: float | None,
        stop: threading.Event,
        timers: Timers,
        clock: Clock,
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._stop = stop
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[Run, tuple[threading.Event, float]] = {}
        self._timers = timers

    def begin(self, run: Run, now: float) -> tuple[threading.Event, float | None]:
        """Return the event that tells a run to end, and the instant at which it will be set."""
        if self._timeout is None:
            return self._stop, None
        cancelled, deadline = threading.Event(), now + self._timeout
        with self._lock:
            self._runs[run] = cancelled, now
        self._timers.set(run, deadline, partial(self._exceeded, run))
        if self._stop.is_set():  # perhaps too late for cancel_all
            cancelled.set()
        return cancelled, deadline

    def end(self, run: Run) -> None:
        """Note that the run is over."""
        if self._timeout is None:
            return
        with self._lock:
            self._runs.pop(run, None)
        self._timers.cancel(run)

    def cancel_all(self) -> None:
        """Tell every run to end, as at a stop."""
        with self._lock:
            runs = list(self._runs.values())
        for cancelled, _ in runs:
            cancelled.set()

    def older_than(self, seconds: float) -> int:
        """Return how many runs have lasted for more than so many seconds."""
        now = self._clock.monotonic()
        with self._lock:
            return sum(now - began > seconds for _, began in self._runs.values())

    def _exceeded(self, run: Run) -> None:
        now = self._clock.monotonic()
        with self._lock:
            found = self._runs.get(run)
            if found is None:
                return
            self._timers.set(run, now + REPORT_PERIOD, partial(self._exceeded, run))
        cancelled, began = found
        if cancelled.is_set():
            _log.error(
                "%s: the run of %s has lasted for %.0f s and does not look at ctx.cancelled; its "
                "object stays locked",
                self._name,
                run.key,
                now - began,
            )
        cancelled.set()
