"""Start and stop of a manager and its runnables.

Promises that a start which fails or is interrupted is undone; that the first failure is raised,
with the others in its notes; that every caller of ``stop`` waits until the stop has ended, and that
what does not end in time is named.

Source: controller-runtime pkg/manager (runnable groups).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from enum import Enum
from typing import Any, Protocol, TypeAlias

from clientgo.operator.errors import (
    AlreadyStartedError,
    CancelledError,
    LeadershipLostError,
    ManagerStoppedError,
    ShutdownTimeoutError,
)
from clientgo.util.process import (
    SupervisedThread,
    ThreadStartError,
    join_threads,
    start_threads,
    time_left,
)
from clientgo.util.wait import StopEvent, call_when_set, stop_on_signals

_log = logging.getLogger("clientgo.operator.manager")


class _Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    STOPPED = "stopped"


class LifeCycle:
    """Thread-safe. ``start`` blocks, and ends early when ``ending`` is set. ``stop`` is called with
    the seconds that it may take (None: no limit) and returns the names of what still runs."""

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
        """Return True if the start is over."""
        return self._started.is_set()

    def check_not_stopped(self) -> None:
        """Raise ``ManagerStoppedError`` after a stop."""
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
        """Start; return False if it was stopped during the start, and has ended."""
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


class Runnable(Protocol):
    """Something that works until its stop event is set."""

    def run(self, stop: threading.Event, /) -> Any: ...


RunFunction: TypeAlias = Callable[[threading.Event], object]


def run_function(runnable: Runnable | RunFunction) -> RunFunction:
    """Return the function to call. Raises ``TypeError`` for what cannot be run."""
    run = getattr(runnable, "run", None) or runnable
    if not callable(run):
        raise TypeError(f"{runnable!r} cannot be run: pass a function of a stop event")
    return run


def within(deadline: float | None, name: str, step: Callable[[], object]) -> list[str]:
    """Call a function that has no time limit, until an instant of the monotonic clock at most.

    Return ``name`` in a list if it is still running then, in a thread of that name.
    """
    try:
        thread = SupervisedThread.started(step, name=name, then="the manager goes on without it")
    except ThreadStartError as error:
        _log.warning("%s; this step has no time limit", error)
        step()
        return []
    return join_threads([thread], time_left(deadline))


class RunnableGroup:
    """Runnables that start and stop together, each in a thread. Thread-safe.

    ``failed`` is called with what one of them raised. One that returns has finished.
    """

    def __init__(self, failed: Callable[[BaseException], object]) -> None:
        self.stop_event = threading.Event()
        self._failed = failed
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, RunFunction]] = []
        self._threads: list[threading.Thread] = []
        self._started = False

    def add(self, name: str, run: RunFunction) -> None:
        """Run it with the others, immediately if they run already."""
        with self._lock:
            if not self._started:
                self._waiting.append((name, run))
                return
            thread = self._thread(name, run)
            thread.start()
            self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]

    def start(self) -> None:
        """Start them all. Idempotent."""
        with self._lock:
            threads = [self._thread(name, run) for name, run in self._waiting]
            start_threads(threads)
            self._threads += threads
            self._started, self._waiting = True, []

    def stop(self, timeout: float | None) -> list[str]:
        """Stop them and wait; returns the names of threads that are still alive after so long."""
        self.stop_event.set()
        with self._lock:
            threads = [t for t in self._threads if t is not threading.current_thread()]
        return join_threads(threads, timeout)

    def _thread(self, name: str, run: RunFunction) -> SupervisedThread:
        def work() -> None:
            try:
                run(self.stop_event)
            except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
                self._failed(error)

        return SupervisedThread(
            work, name=name, then="the manager does not know; restart this process"
        )
