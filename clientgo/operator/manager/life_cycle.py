"""The life of a manager: started once, stopped once, and what it failed of.

Promises that a start which fails or is interrupted is undone; that the first failure is raised,
with the others in its notes; that every caller of ``stop`` waits until the stop has ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from enum import Enum

from clientgo.operator.errors import (
    AlreadyStartedError,
    CancelledError,
    LeadershipLostError,
    ManagerStoppedError,
    ShutdownTimeoutError,
)
from clientgo.wait import StopEvent, call_when_set, stop_on_signals

_log = logging.getLogger("clientgo.operator.manager")


class _Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    STOPPED = "stopped"


class LifeCycle:
    """Thread-safe.

    ``start`` blocks until all has been started, and ends early when ``ending`` is set. ``stop`` is
    called with the seconds that it may take (None: no limit) and returns the names of what runs
    still.
    """

    def __init__(
        self,
        name: str,
        grace: float | None,
        start: Callable[[], object],
        stop: Callable[[float | None], list[str]],
    ) -> None:
        self.lock = threading.RLock()
        """Held while what is started may not change."""
        self.ending = StopEvent()
        """Set when everything has to end."""
        self._name = name
        self._grace = grace
        self._start = start
        self._stop = stop
        self._phase = _Phase.NEW
        self._failure: BaseException | None = None
        self._alive: list[str] = []
        self._started = threading.Event()
        self._ended = threading.Event()

    @property
    def is_new(self) -> bool:
        return self._phase is _Phase.NEW

    @property
    def has_started(self) -> bool:
        """Whether the start is over."""
        return self._started.is_set()

    def check_not_stopped(self) -> None:
        """Raise :class:`~clientgo.operator.errors.ManagerStoppedError` after a stop."""
        if self._phase is _Phase.STOPPED:
            raise ManagerStoppedError("this manager has stopped; make a new one")

    def run(self, *, signals: bool) -> None:
        """Start, block until ``ending`` or a signal, and stop. Raises what failed."""
        with stop_on_signals() if signals else nullcontext(StopEvent()) as stop:
            registration = call_when_set(stop, self.ending.set)
            try:
                if self.begin():
                    try:
                        self.ending.wait()
                    finally:
                        self.end()
            finally:
                registration.cancel()

    def begin(self) -> bool:
        """Start; return False if it was stopped meanwhile, and has ended."""
        with self.lock:
            self.check_not_stopped()
            if self._phase is _Phase.RUNNING:
                raise AlreadyStartedError("this manager runs already")
            self._phase = _Phase.RUNNING
        try:
            self._start()
        except CancelledError:
            self._started.set()
            self.end()
            return False
        except BaseException as error:
            self.fail(error)
            self._started.set()
            self._shut_down()
            raise
        self._started.set()
        return True

    def end(self) -> None:
        """Stop, or wait for the stop that another thread has begun.

        The call that stops raises what failed, or what did not end in time.
        """
        if not self._shut_down():
            return
        if self._failure is not None:
            raise self._failure
        if self._alive:
            raise ShutdownTimeoutError(self._alive, self._grace or 0.0)

    def fail(self, error: BaseException) -> None:
        """End because of a failure; the first one is raised."""
        with self.lock:
            if self._failure is None:
                self._failure = error
            elif self._failure is not error:
                self._failure.add_note(f"then {type(error).__name__}: {error}")
        _log.error("%s: stops because of %r", self._name, error)
        self.ending.set()

    def _shut_down(self) -> bool:
        """Return whether this call has stopped it."""
        with self.lock:
            first = self._phase is _Phase.RUNNING
            never = self._phase is _Phase.NEW
            self._phase = _Phase.STOPPED
        self.ending.set()
        if first:
            self._started.wait()
            # Where another process may lead already there is no time to lose.
            lost = isinstance(self._failure, LeadershipLostError)
            try:
                self._alive = self._stop(0.0 if lost else self._grace)
            finally:
                self._ended.set()
        elif never:
            self._ended.set()
        self._ended.wait()
        return first
