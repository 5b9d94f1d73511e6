"""A limit of processor time for a piece of work that checks it itself.

Promises: work that calls ``check_cpu_time`` often enough ends when its time is over. Time in which
its thread does not run does not count, so a busy machine changes nothing.

Does not promise to interrupt work that does not check.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from clientgo.util.copies import CopyableError, uncopyable


class CpuTimeExceededError(CopyableError):
    """The work has used all of its processor time, or was cancelled."""


@uncopyable("it belongs to one piece of work")
class CpuTimeLimit:
    """The limit of one piece of work. Any thread may cancel it."""

    __slots__ = ("_cancelled", "_end", "_thread")

    def __init__(self) -> None:
        self._cancelled = False
        self._end = 0.0
        self._thread = 0

    def begin(self, seconds: float) -> None:
        """Begin to count the time of this thread, and of no other."""
        self._thread = threading.get_ident()
        self._end = time.thread_time() + seconds

    def cancel(self) -> None:
        """Let the work end at its next check."""
        self._cancelled = True

    def check(self, expected: float = 0.0) -> None:
        """Raise ``CpuTimeExceededError`` when the time of the work's thread is over.

        Raise it also if a step that checks nothing may take longer than is left: ``expected``, in
        seconds. Another thread, which has the limit in a copy of the context, may only be
        cancelled.
        """
        if self._cancelled or (
            threading.get_ident() == self._thread and time.thread_time() + expected > self._end
        ):
            raise CpuTimeExceededError("the work has used all of its processor time")


_current: ContextVar[CpuTimeLimit | None] = ContextVar("cpu_time_limit", default=None)


@contextmanager
def cpu_time_limit(seconds: float, limit: CpuTimeLimit | None = None) -> Iterator[None]:
    """Limit the processor time of the block, which must stay in one thread.

    Another thread can cancel it by the ``limit``.
    """
    limit = limit or CpuTimeLimit()
    limit.begin(seconds)
    token = _current.set(limit)
    try:
        yield
    finally:
        _current.reset(token)


def current_cpu_time_limit() -> CpuTimeLimit | None:
    """Return the limit of the work that runs now, or None if it has none."""
    return _current.get()


def check_cpu_time(expected: float = 0.0) -> None:
    """Raise ``CpuTimeExceededError`` if the work that runs now has a limit, and it is reached.

    See `CpuTimeLimit.check`.
    """
    if (limit := _current.get()) is not None:
        limit.check(expected)
