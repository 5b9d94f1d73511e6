"""Reports coroutines that block the event loop, while they do.

Promises a warning with the stack for every block of a second and a half, again every minute, and a
line when the loop goes on. A loop that is slow because it has much to do, or gets no processor, is
not reported: one coroutine must run at every look. Nothing runs while the loop has no coroutine.

Differs from the debug mode of asyncio, which slows the loop down and reports a slow step only when
it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.process import SupervisedThread

LOOKED_EVERY: Final = 0.1
"""Seconds between looks at a loop that does not answer. On a busy machine a look is as late as the
loop, and the time between two counts the same."""

BLOCKED_AFTER: Final = 10
REPORTED_EVERY: Final = 600
"""Looks in a row at which the loop has not answered and the same coroutine runs."""

ASKED_EVERY: Final = 0.5

_log = logging.getLogger("clientgo.aio")


class LoopWatchdog:
    """Asks a loop every half second whether it runs. Thread-safe; ``ident`` is its thread."""

    def __init__(
        self, name: str, loop: asyncio.AbstractEventLoop, ident: int, clock: Clock = REAL_CLOCK
    ) -> None:
        self._name = name
        self._loop = loop
        self._ident = ident
        self._clock = clock
        self._changed = threading.Condition()
        self._active = 0
        self._answered = True
        self._stopped = False
        self._thread: SupervisedThread | None = None

    def start(self) -> None:
        """Watch in a thread until :meth:`stop`."""
        self._thread = SupervisedThread.started(
            self.run,
            name=f"{self._name}-event-loop-watchdog",
            then="coroutines that block the event loop are not reported",
        )

    def began(self) -> None:
        """Note that one more coroutine runs."""
        with self._changed:
            self._active += 1
            if self._active == 1:
                self._changed.notify_all()

    def ended(self) -> None:
        """Note that a coroutine has ended."""
        with self._changed:
            self._active -= 1

    def stop(self, timeout: float | None = None) -> None:
        """End :meth:`run`, and wait so many seconds for its thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout)

    def run(self) -> None:
        """Watch until :meth:`stop`."""
        while self._wait_for_coroutines():
            asked = since = self._clock.monotonic()
            self._answered = False
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:
                return  # the loop is closed
            seen, looks, report_at = self._current_task(), 0, BLOCKED_AFTER
            while not self._wait_for_answer(self._clock.monotonic() + LOOKED_EVERY):
                task, looks = self._current_task(), looks + 1
                if task is not seen:
                    seen, looks, since = task, 0, self._clock.monotonic()
                elif looks == report_at:
                    self._report(task, self._clock.monotonic() - since)
                    report_at += REPORTED_EVERY
            if report_at > BLOCKED_AFTER:
                seconds = self._clock.monotonic() - asked
                _log.warning("%s: the event loop goes on after %.1f s", self._name, seconds)
            self._wait_until(asked + ASKED_EVERY)

    def _answer(self) -> None:
        with self._changed:
            self._answered = True
            self._changed.notify_all()

    def _wait_for_coroutines(self) -> bool:
        """Block until there is something to watch; return False after the stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._active or self._stopped)
            return not self._stopped

    def _wait_for_answer(self, deadline: float) -> bool:
        """Return False if the loop has not answered by then."""
        with self._changed:
            while not self._answered and not self._stopped:
                if not self._clock.wait_until(self._changed, deadline):
                    return self._answered or self._stopped
            return True

    def _wait_until(self, due: float) -> None:
        with self._changed:
            while not self._stopped and self._clock.monotonic() < due:
                self._clock.wait_until(self._changed, due)

    def _current_task(self) -> asyncio.Task[Any] | None:
        return asyncio.current_task(self._loop)

    def _report(self, task: asyncio.Task[Any] | None, seconds: float) -> None:
        frame = sys._current_frames().get(self._ident)
        _log.warning(
            "%s: the coroutine of %s has blocked the event loop for %.1f s, and all others wait; "
            "await instead, or call what blocks with asyncio.to_thread:\n%s",
            self._name,
            "nothing known" if task is None else task.get_name(),
            seconds,
            "" if frame is None else "".join(_stack_of(frame)).rstrip(),
        )


@contextmanager
def reporting_blocks(name: str) -> Iterator[None]:
    """Report what blocks the running event loop, for a ``with`` block in a coroutine of it."""
    watchdog = LoopWatchdog(name, asyncio.get_running_loop(), threading.get_ident())
    watchdog.start()
    watchdog.began()
    try:
        yield
    finally:
        watchdog.stop()


def _stack_of(frame: FrameType) -> list[str]:
    """Return the lines of a stack, from where the loop calls a coroutine."""
    stack = traceback.extract_stack(frame)
    called = [n for n, each in enumerate(stack) if each.filename == asyncio.events.__file__]
    return traceback.format_list(stack[called[0] + 1 :] if called else stack)
