"""When a run has to end before it is done.

Promises that ``ctx.cancelled`` is set for a run that exceeds its controller's time or, if asked,
whose object is deleted, and that a run which takes too long is reported once a minute. A thread in
Python cannot be ended from outside.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Final

from clientgo.meta import ObjectName
from clientgo.operator.runs.run import Run
from clientgo.operator.runs.timers import Timers
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable
from clientgo.util.wait import StopEvent

REPORT_PERIOD: Final = 60.0

_log = logging.getLogger("clientgo.operator.reconcile")


@uncopyable("it has locks; make one in each process")
class RunDeadlines:
    """Watches the runs of one controller. Thread-safe. ``timeout`` None: no limit.

    ``until_deleted``: the deletion of an object ends its run, unless that is its clean-up.
    """

    def __init__(
        self,
        name: str,
        timeout: float | None,
        stop: threading.Event,
        timers: Timers,
        clock: Clock,
        *,
        until_deleted: bool = False,
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._stop = stop
        self._clock = clock
        self._until_deleted = until_deleted
        self._by_key: dict[ObjectName, Run] = {}
        """The runs that a deletion ends."""
        self._lock = threading.Lock()
        self._runs: dict[Run, tuple[threading.Event, float]] = {}
        self._timers = timers

    def begin(self, run: Run, now: float) -> tuple[threading.Event, float | None]:
        """Return the event that tells a run to end, and the instant at which it will be set."""
        if self._timeout is None and not self._until_deleted:
            return self._stop, None
        cancelled, deadline = StopEvent(), None
        with self._lock:
            self._runs[run] = cancelled, now
            if self._until_deleted:
                self._by_key[run.key] = run
        if self._timeout is not None:
            deadline = now + self._timeout
            self._timers.set(run, deadline, partial(self._exceeded, run))
        if self._stop.is_set():  # perhaps too late for cancel_all
            cancelled.set()
        return cancelled, deadline

    def end(self, run: Run) -> None:
        """Note that the run is over."""
        if self._timeout is None and not self._until_deleted:
            return
        with self._lock:
            self._runs.pop(run, None)
        self.cleans_up(run)
        self._timers.cancel(run)

    def cleans_up(self, run: Run) -> None:
        """Note that the deletion of its object does not end this run."""
        with self._lock:
            if self._by_key.get(run.key) is run:
                del self._by_key[run.key]

    def deleted(self, key: ObjectName) -> None:
        """Tell the run of an object to end: the object is being deleted, or gone."""
        with self._lock:
            run = self._by_key.get(key)
            found = None if run is None else self._runs.get(run)
        if found is not None:
            found[0].set()

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
