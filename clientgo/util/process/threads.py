"""Threads that do not end silently.

Promises: if the target raises anything, `SystemExit` included, the thread logs it once and says
what does not work any more, counts it, and calls `on_failure`. It does not run the target again.
A thread begins without the context variables of the one that starts it, in every build of CPython.

Differs from client-go (apimachinery pkg/util/runtime, `HandleCrash`): a crash does not end the
process. Python itself reports nothing for `SystemExit`.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from typing import Any, Final, Self

from clientgo.util.copies import CopyableError, uncopyable

_log = logging.getLogger("clientgo.util.process")

crash_handlers: list[Callable[[str, BaseException], object]] = []
"""Called, in order, with the role of a thread that failed and with its error.

`clientgo.observe.metrics` counts failures this way. Source: client-go `util/runtime` PanicHandlers.
"""


RETRY_AFTER: Final = 5.0
"""Seconds until a thread that was refused is tried again, where no caller can do it."""


class ThreadStartError(CopyableError, RuntimeError):
    """The system has refused a thread. What needed it is as before, and can be tried again."""


@uncopyable("it has threads; make one in each process")
class SupervisedThread(threading.Thread):
    """A daemon thread that reports its failure.

    `then` completes the log line: what this means for the program and what to do. `on_failure` is
    called in the thread, with what the target raised; it ends what depends on the thread.
    """

    def __init__(
        self,
        target: Callable[..., object],
        *,
        args: tuple[Any, ...] = (),
        name: str,
        then: str,
        on_failure: Callable[[BaseException], object] | None = None,
    ) -> None:
        super().__init__(target=target, args=args, name=name, daemon=True)
        self._then = then
        self._on_failure = on_failure
        self.gate: _Gate | None = None
        """Set by `start_threads`."""

    @classmethod
    def started(
        cls,
        target: Callable[..., object],
        *,
        args: tuple[Any, ...] = (),
        name: str,
        then: str,
        on_failure: Callable[[BaseException], object] | None = None,
    ) -> Self:
        """Return a thread that has started; keep it nowhere before. Raises as `start` does."""
        thread = cls(target, args=args, name=name, then=then, on_failure=on_failure)
        thread.start()
        return thread

    def start(self) -> None:
        """Start the thread. Raises ThreadStartError if the system refuses it; then call it again.

        Raises RuntimeError if it has been started.
        """
        try:
            super().start()
        except RuntimeError as error:
            if "new thread" not in str(error):  # it was started before, or is running
                raise
            raise ThreadStartError(
                f"thread {self.name} cannot be started: {error}; this process, or its container, "
                "is at its limit of threads (ulimit -u, pids.max) or of memory"
            ) from error

    def run(self) -> None:
        if self.gate is None or self.gate.pass_through():
            # Free-threaded CPython starts a thread in a copy of its starter's context: what a run
            # of one object starts would write the log fields of that object for ever.
            Context().run(self._run)

    def _run(self) -> None:
        try:
            super().run()
        except BaseException as failure:  # noqa: BLE001 - SystemExit must not end it silently
            self._report(failure)
            if self._on_failure is not None:
                try:
                    self._on_failure(failure)
                except BaseException as second:  # noqa: BLE001 - as above
                    self._report(second)

    def _report(self, failure: BaseException) -> None:
        _log.critical(
            "thread %s ended by %s: %s; %s",
            self.name,
            type(failure).__name__,
            failure,
            self._then,
            exc_info=failure,
        )
        role = re.sub(r"-\d+$", "", self.name)
        for handle in crash_handlers:
            handle(role, failure)


def start_threads(threads: Sequence[SupervisedThread]) -> None:
    """Start all threads, or none: no target runs before the last thread has started.

    If one cannot be started, the others end without running their target, and it raises.
    """
    gate = _Gate()
    started: list[SupervisedThread] = []
    try:
        for thread in threads:
            thread.gate = gate
            thread.start()
            started.append(thread)
        gate.may_pass = True
    finally:
        gate.opened.set()
        if not gate.may_pass:
            for thread in started:
                thread.join()


def deadline_after(timeout: float | None) -> float | None:
    """Return the instant ``timeout`` seconds from now on the monotonic clock; None for no limit."""
    return None if timeout is None else time.monotonic() + timeout


def time_left(deadline: float | None) -> float | None:
    """Return the seconds until a deadline of :func:`deadline_after`, 0 when it has passed."""
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)


def join_threads(threads: Iterable[threading.Thread], timeout: float | None = None) -> list[str]:
    """Wait until all threads have ended, ``timeout`` seconds at most for all of them together.

    Return the names of those that still run.
    """
    threads, deadline = list(threads), deadline_after(timeout)
    for thread in threads:
        thread.join(time_left(deadline))
    return [thread.name for thread in threads if thread.is_alive()]


def run_with_threads(run: Callable[[threading.Event], object], stop: threading.Event) -> None:
    """Call ``run(stop)``, and again while it is refused a thread, in a thread of its own.

    It is called once even if ``stop`` is set, so that it can note that it has ended.
    """
    while True:
        try:
            run(stop)
        except ThreadStartError as error:
            _log.error("%s; trying again in %g s", error, RETRY_AFTER)
            if stop.wait(RETRY_AFTER):
                return
        else:
            return


class _Gate:
    """Where threads that are started together wait for each other."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.may_pass = False

    def pass_through(self) -> bool:
        self.opened.wait()
        return self.may_pass
