"""What a manager runs besides its controllers: anything with ``run(stop)``, or a function.

Promises that what raises stops the manager, that everything has ended when a stop returns, and
that what does not end in time is named.

Source: controller-runtime pkg/manager (runnable groups).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from clientgo.process import SupervisedThread


class Runnable(Protocol):
    """Something that works until its stop event is set."""

    def run(self, stop: threading.Event, /) -> Any: ...


RunFunction: TypeAlias = Callable[[threading.Event], object]


def run_function(runnable: Runnable | RunFunction) -> RunFunction:
    """The function to call. Raises ``TypeError`` for what cannot be run."""
    run = getattr(runnable, "run", None) or runnable
    if not callable(run):
        raise TypeError(f"{runnable!r} cannot be run: pass a function of a stop event")
    return run


def within(deadline: float | None, name: str, step: Callable[[], object]) -> list[str]:
    """Do something that knows no time limit, until an instant of the monotonic clock at most.

    Return ``name`` in a list if it is still running then, in a thread of that name.
    """
    thread = SupervisedThread(step, name=name, then="the stop goes on without this step")
    thread.start()
    thread.join(None if deadline is None else max(deadline - time.monotonic(), 0.0))
    return [name] if thread.is_alive() else []


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
        self._start(name, run)

    def start(self) -> None:
        """Start them all. Idempotent."""
        with self._lock:
            self._started = True
            waiting, self._waiting = self._waiting, []
        for name, run in waiting:
            self._start(name, run)

    def stop(self, timeout: float | None) -> list[str]:
        """Stop them and wait; returns the names of threads that are still alive after so long."""
        self.stop_event.set()
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            threads = [t for t in self._threads if t is not threading.current_thread()]
        for thread in threads:
            thread.join(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        return [thread.name for thread in threads if thread.is_alive()]

    def _start(self, name: str, run: RunFunction) -> None:
        def work() -> None:
            try:
                run(self.stop_event)
            except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
                self._failed(error)

        thread = SupervisedThread(
            work, name=name, then="the manager does not know; restart this process"
        )
        with self._lock:
            self._threads = [other for other in self._threads if other.is_alive()]
            thread.start()
            self._threads.append(thread)
