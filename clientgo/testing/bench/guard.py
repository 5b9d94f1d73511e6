"""Threads that call a user's queue or client: it may raise, or never return.

Promises: what it raises becomes one BenchError, and a wait ends when there is no progress. Does not
promise that the threads end: Python can't stop a call. They don't keep the program alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from clientgo.testing.bench.adapters import BenchError, raised
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread

_THEN: Final = "the measurement has no result"


@uncopyable("it has threads; make one for each run")
class Guard:
    """Runs a target in a thread and waits for it.

    ``what`` returns what the message of an error begins with, such as "the queue".
    """

    def __init__(self, what: Callable[[], str]) -> None:
        self._what = what
        self._error: BenchError | None = None
        self._ended = threading.Event()

    def run(
        self,
        target: Callable[[], object],
        timeout: float,
        *,
        stuck: Callable[[], BenchError],
        progress: Callable[[], int] = lambda: 0,
    ) -> None:
        """Run the target in a thread until it returns.

        Raises BenchError if it raises, or what runs in a thread of ``thread`` does; and what
        ``stuck`` returns if ``progress`` has not changed for ``timeout`` seconds.
        """
        SupervisedThread.started(self._run, args=(target,), name="bench", then=_THEN)
        before = 0
        while not self._ended.wait(timeout):
            if (now := progress()) == before:
                raise stuck()
            before = now
        if self._error is not None:
            raise self._error

    def thread(self, target: Callable[..., object], *args: object) -> SupervisedThread:
        """Return a thread, not started, whose error ends ``run`` too."""
        return SupervisedThread(self._call, args=(target, *args), name="load", then=_THEN)

    def _run(self, target: Callable[[], object]) -> None:
        self._call(target)
        self._ended.set()

    def _call(self, target: Callable[..., object], *args: object) -> None:
        try:
            target(*args)
        except Exception as error:  # noqa: BLE001 - a user's queue or client may raise anything
            self._error = raised(self._what(), error)
            self._ended.set()
