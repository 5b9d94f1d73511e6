"""The threads of a run queue, of two kinds: one does whole runs, the other only begins them.

Promises that what a run must not raise stops the queue and ends the worker, and that a worker takes
no run beyond those that may take place at a time.
"""

from __future__ import annotations

import contextvars
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from clientgo.operator.runs.run import Run
from clientgo.util.copies import uncopyable
from clientgo.util.process import (
    SupervisedThread,
    deadline_after,
    join_threads,
    start_threads,
    time_left,
)

_MOST_NAMED: Final = 10

Work: TypeAlias = Callable[[Run], object]


class Runs(Protocol):
    """Where the runs come from, and go back to: a run queue."""

    name: str

    def begin(self, over: Callable[[Run, BaseException | None], object]) -> Run | None:
        """Block for the next run; return None at the stop. ``run.over()`` calls ``over``."""

    def end(self, run: Run, failure: BaseException | None) -> None:
        """Take a run back, perhaps with what must stop the queue."""


class Workers(ABC):
    """Threads of one queue, with the context variables of the one that makes them."""

    def __init__(self, runs: Runs, work: Work, threads: int) -> None:
        self._runs = runs
        self._work = work
        self._threads = [
            SupervisedThread(
                contextvars.copy_context().run,
                args=(self._run,),
                name=f"{runs.name}-worker-{n}",
                then="no run of this controller begins any more; restart this process",
            )
            for n in range(1, threads + 1)
        ]

    def start(self) -> None:
        """Start all threads, or none: then it raises ``ThreadStartError``."""
        start_threads(self._threads)

    def stop(self, timeout: float | None) -> list[str]:
        """Wait for current runs, for so many seconds; return the names of what did not end."""
        return join_threads(self._threads, timeout)

    def are_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    @abstractmethod
    def _run(self) -> None:
        """Take runs until there is no further one."""


@uncopyable("it has threads; make one in each process")
class ThreadWorkers(Workers):
    """``work(run)`` does a whole run, one in each thread."""

    def _run(self) -> None:
        while (run := self._runs.begin(self._runs.end)) is not None:
            failure: BaseException | None = None
            try:
                self._work(run)
            except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
                failure = error
            run.over(failure)
            if failure is not None:
                return


@uncopyable("it has threads; make one in each process")
class AsyncWorkers(Workers):
    """``work(run)`` begins a run, in one of a few threads; ``run.over()`` ends it, in any thread.

    ``at_a_time`` is how many runs may have begun and not ended.
    """

    def __init__(self, runs: Runs, work: Work, threads: int, at_a_time: int) -> None:
        super().__init__(runs, work, threads)
        self._free = threading.Semaphore(at_a_time)
        self._begun: set[Run] = set()
        self._all_ended = threading.Condition()

    def stop(self, timeout: float | None) -> list[str]:
        deadline = deadline_after(timeout)
        self._free.release(len(self._threads))  # so that none waits for the end of a run
        alive = super().stop(timeout)
        with self._all_ended:
            self._all_ended.wait_for(lambda: not self._begun, time_left(deadline))
            keys = sorted(run.key for run in self._begun)
        return alive + [f"{self._runs.name} {key}" for key in keys[:_MOST_NAMED]]

    def _run(self) -> None:
        while True:
            self._free.acquire()
            run = self._runs.begin(self._over)
            if run is None:
                return
            with self._all_ended:
                self._begun.add(run)
            try:
                self._work(run)
            except BaseException as error:  # noqa: BLE001 - the manager stops, and raises it
                run.over(error)
                return

    def _over(self, run: Run, failure: BaseException | None) -> None:
        try:
            self._runs.end(run, failure)
        finally:
            with self._all_ended:
                self._begun.discard(run)
                self._all_ended.notify_all()
            self._free.release()
