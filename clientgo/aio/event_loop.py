"""An event loop in a thread of its own, for programs that have threads otherwise.

Promises that what a coroutine raises ends neither the loop nor its thread, and that a cancelled
coroutine counts as running until it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from clientgo.aio.call_threads import (
    IN_CHILD,
    MOST_THREADS,
    CallThreads,
    CoroutineCancelledError,
)
from clientgo.aio.watchdog import LoopWatchdog
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, deadline_after, refuse_in_child, time_left
from clientgo.util.wait import Registration, call_when_set

T = TypeVar("T")

Outcome: TypeAlias = Callable[[], Any]
"""Returns what a coroutine has returned, or raises what it has raised."""

_END_TIME: Final = 5.0
"""Seconds that coroutines which are left at the stop have to end."""

_log = logging.getLogger("clientgo.aio")


@uncopyable("it has threads; make one in each process")
class EventLoop:
    """A loop, its watchdog and the threads of its blocking calls. Thread-safe.

    The threads start when they are needed. ``failed`` is called with what ends the loop. ``calls``
    are the threads of what blocks.
    """

    cancellation: ClassVar[type[Exception]] = CoroutineCancelledError
    """Raised to those who wait for a coroutine that was cancelled."""

    def __init__(
        self,
        name: str,
        failed: Callable[[BaseException], object] | None = None,
        *,
        threads: int = MOST_THREADS,
    ) -> None:
        self._name = name
        self._failed = failed
        self.calls: Final = CallThreads(f"{name}-call", threads)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: SupervisedThread | None = None
        self._watchdog: LoopWatchdog | None = None
        self._stopped = False
        refuse_in_child(self, f"the event loop of {name}", "_lock", advice=IN_CHILD)

    def start(
        self,
        name: str,
        coroutine: Coroutine[Any, Any, Any],
        ended: Callable[[Outcome], object],
        stop: threading.Event | None = None,
    ) -> None:
        """Run a coroutine, with the context variables of the caller; does not block.

        It is cancelled once, when ``stop`` is set. ``ended`` is called by the loop, with what
        returns the result or raises the error. It must be quick. Raises
        :class:`CoroutineCancelledError` after the stop of the loop, with the coroutine closed.
        """
        try:
            loop, watchdog = self._running()
        except BaseException:
            coroutine.close()
            raise

        def begin() -> None:
            task = loop.create_task(coroutine, name=name)
            registration: Registration | None = None
            if stop is not None and stop.is_set():
                task.cancel()  # before its first step
            elif stop is not None:
                registration = call_when_set(stop, partial(_cancel, loop, task))
            task.add_done_callback(partial(end, registration))

        def end(registration: Registration | None, task: asyncio.Task[Any]) -> None:
            if registration is not None:
                registration.cancel()
            watchdog.ended()
            ended(partial(self._outcome, task))

        watchdog.began()
        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError as error:
            watchdog.ended()
            coroutine.close()
            raise self.cancellation(f"{name}: the event loop has stopped") from error

    def _outcome(self, task: asyncio.Task[Any]) -> Any:
        try:
            return task.result()
        except asyncio.CancelledError as error:
            raise self.cancellation(f"the coroutine of {task.get_name()} was cancelled") from error

    def run(
        self,
        name: str,
        coroutine: Coroutine[Any, Any, T],
        stop: threading.Event | None = None,
        timeout: float | None = None,
    ) -> T:
        """Run a coroutine and return its result; cancel it when ``stop`` is set. Blocks.

        Raises ``TimeoutError`` after ``timeout`` seconds, and ``RuntimeError`` in a coroutine of
        this loop, which would wait for itself.
        """
        if self.is_current():
            coroutine.close()
            raise RuntimeError(f"{name}: a coroutine must await, not wait for its own event loop")
        limited = coroutine if timeout is None else asyncio.wait_for(coroutine, timeout)
        ended: Future[Outcome] = Future()
        self.start(name, limited, ended.set_result, stop)
        result: T = ended.result()()
        return result

    def is_current(self) -> bool:
        """Return True in a coroutine of this loop."""
        return self._thread is threading.current_thread()

    def in_thread(self, function: Callable[[], object]) -> None:
        """Call a function in a thread soon; what it raises is logged. Does not block."""
        self.calls.submit(function).add_done_callback(_log_failure)

    def stop(self, timeout: float | None = _END_TIME) -> list[str]:
        """Cancel what is left, and end all threads; return the names of those that do not end."""
        with self._lock:
            self._stopped = True
            loop, thread, watchdog = self._loop, self._thread, self._watchdog
        if loop is None or thread is None or watchdog is None:
            return []
        deadline = deadline_after(timeout)
        with suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(loop.stop)
        thread.join(time_left(deadline))
        watchdog.stop(time_left(deadline))
        alive = self.calls.stop(time_left(deadline))
        return [thread.name, *alive] if thread.is_alive() else alive

    def _running(self) -> tuple[asyncio.AbstractEventLoop, LoopWatchdog]:
        with self._lock:
            if self._stopped:
                raise self.cancellation(f"{self._name}: the event loop has stopped")
            if self._loop is None or self._watchdog is None:
                return self._start_locked()
            return self._loop, self._watchdog

    def _start_locked(self) -> tuple[asyncio.AbstractEventLoop, LoopWatchdog]:
        loop = asyncio.new_event_loop()
        try:
            thread = SupervisedThread.started(
                _run_until_stopped,
                args=(loop,),
                name=f"{self._name}-event-loop",
                then="none of its coroutines runs any more; restart this process",
                on_failure=self._failed,
            )
        except BaseException:
            loop.close()
            raise
        assert thread.ident is not None, "it was started"
        watchdog = LoopWatchdog(self._name, loop, thread.ident)
        try:
            watchdog.start()
        except BaseException:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            raise
        self._loop, self._thread, self._watchdog = loop, thread, watchdog
        return loop, watchdog


def _run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        _go_on(loop.run_forever)
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            waiting = asyncio.wait(tasks, timeout=_END_TIME)
            _, left = loop.run_until_complete(waiting)
            if left:
                names = ", ".join(sorted(task.get_name() for task in left))
                _log.error("coroutines do not end though they were cancelled: %s", names)
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with suppress(RuntimeError):  # the loop is closed, so the task has ended
        loop.call_soon_threadsafe(task.cancel)


def _log_failure(future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        _log.error("a call after a coroutine failed: %r", error, exc_info=error)


def _go_on(run: Callable[[], object]) -> None:
    """Run a loop until it is stopped. SystemExit in a task, as the loss of leadership raises it,
    leaves the loop though the task has it already."""
    while True:
        try:
            run()
        except (SystemExit, KeyboardInterrupt) as error:
            _log.debug("a task has ended by %r", error)
        else:
            return
