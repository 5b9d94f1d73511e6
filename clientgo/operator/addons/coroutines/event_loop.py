"""The event loop of a manager, in a thread of its own.

Promises that what a coroutine raises ends neither the loop nor its thread, that a cancelled
coroutine counts as running until it has ended, and that a request which a cancelled coroutine waits
for is cut off, and has ended before the coroutine goes on.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar

from clientgo.operator.addons.coroutines.async_run import AsyncRun
from clientgo.operator.addons.coroutines.call_threads import MOST_THREADS, CallThreads
from clientgo.operator.addons.coroutines.client import AsyncClient
from clientgo.operator.addons.coroutines.watchdog import LoopWatchdog
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.errors import CancelledError
from clientgo.operator.runs.steps import Outcome, RunSteps, raising, returning
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import Registration, call_when_set

T = TypeVar("T")

_END_TIME: Final = 5.0
"""Seconds that coroutines which are left at the stop have to end."""

_log = logging.getLogger("clientgo.operator.coroutines")


@uncopyable("it has threads; make one in each process")
class LoopTask:
    """One coroutine on an event loop. Thread-safe."""

    __slots__ = (
        "_begun",
        "_cancelled",
        "_coroutine",
        "_ended",
        "_loop",
        "_name",
        "_outcome",
        "_registration",
        "_stop",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        coroutine: Coroutine[Any, Any, Any],
        ended: Callable[[Outcome], object],
        stop: threading.Event | None,
    ) -> None:
        self._loop = loop
        self._name = name
        self._coroutine = coroutine
        self._ended = ended
        self._stop = stop
        self._registration: Registration | None = None
        self._begun: asyncio.Task[None] | None = None
        self._cancelled = False
        self._outcome: Outcome | None = None

    def cancel(self) -> None:
        """Raise ``asyncio.CancelledError`` in the coroutine once, soon; does not block."""
        try:
            self._loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:
            _log.debug("%s: its event loop is closed, it has ended", self._name)

    def begin(self) -> None:
        """Start the coroutine; called by the loop."""
        if self._stop is not None:
            self._registration = call_when_set(self._stop, self.cancel)
        self._loop.create_task(self._run(), name=self._name).add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._cancelled:
            return
        self._cancelled = True
        if self._begun is not None:
            self._begun.cancel()

    async def _run(self) -> None:
        self._begun = asyncio.current_task()
        if self._cancelled:
            return
        try:
            self._outcome = returning(await self._coroutine)
        except asyncio.CancelledError as error:
            self._outcome = raising(self._cancellation(error))
        except BaseException as error:  # noqa: BLE001 - SystemExit would end the loop
            self._outcome = raising(error)

    def _end(self, _task: object) -> None:
        if self._registration is not None:
            self._registration.cancel()
        if self._outcome is None:  # it was cancelled before its first step
            self._coroutine.close()
            self._outcome = raising(self._cancellation())
        self._ended(self._outcome)

    def _cancellation(self, cause: BaseException | None = None) -> CancelledError:
        error = CancelledError(f"the coroutine of {self._name} was cancelled")
        error.__cause__ = cause
        return error


@uncopyable("it has threads; make one in each process")
class EventLoop:
    """A loop, its watchdog and the threads of its blocking calls. Thread-safe.

    The threads start when they are needed. ``failed`` is called with what ends the loop.
    """

    def __init__(
        self,
        name: str,
        failed: Callable[[BaseException], object] | None = None,
        *,
        threads: int = MOST_THREADS,
    ) -> None:
        self._name = name
        self._failed = failed
        self._threads = CallThreads(f"{name}-call", threads)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: SupervisedThread | None = None
        self._watchdog: LoopWatchdog | None = None
        self._watching: SupervisedThread | None = None
        self._stopped = False

    def start(
        self,
        name: str,
        coroutine: Coroutine[Any, Any, Any],
        ended: Callable[[Outcome], object],
        stop: threading.Event | None = None,
    ) -> LoopTask:
        """Run a coroutine, with the context variables of the caller; does not block.

        It is cancelled when ``stop`` is set. ``ended`` is called by the loop, with what returns the
        result or raises the error. It must be quick. Raises ``CancelledError`` after the stop of
        the loop.
        """
        loop, watchdog = self._running()

        def end(outcome: Outcome) -> None:
            watchdog.ended()
            ended(outcome)

        task = LoopTask(loop, name, coroutine, end, stop)
        watchdog.began()
        try:
            loop.call_soon_threadsafe(task.begin)
        except RuntimeError as error:
            watchdog.ended()
            coroutine.close()
            raise CancelledError(f"{name}: the event loop has stopped") from error
        return task

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
        outcomes: list[Outcome] = []
        done = threading.Event()

        def ended(outcome: Outcome) -> None:
            outcomes.append(outcome)
            done.set()

        limited = coroutine if timeout is None else asyncio.wait_for(coroutine, timeout)
        self.start(name, limited, ended, stop)
        done.wait()
        result: T = outcomes[0]()
        return result

    def take_steps(self, steps: RunSteps, over: Callable[[BaseException | None], object]) -> None:
        """Take the steps of a run, without this thread from the first coroutine on."""
        AsyncRun(steps, self, self.in_thread, over).go_on(steps.begin)

    def client(self, client: LiveClient, stop: threading.Event) -> AsyncClient:
        """Return a client that does what ``client`` does, until ``stop``, and whose calls await."""
        return AsyncClient(client, self, stop)

    def is_current(self) -> bool:
        """Return True in a coroutine of this loop."""
        return self._thread is threading.current_thread()

    def in_thread(self, function: Callable[[], object]) -> None:
        """Call a function in a thread soon; what it raises is logged. Does not block."""
        self._threads.submit(function).add_done_callback(_log_failure)

    async def call(self, function: Callable[[], T], interrupt: Callable[[], object]) -> T:
        """Call a function that blocks in a thread, with the context variables of the coroutine.

        If the coroutine is cancelled, ``interrupt()`` has to make the call end, and its end is
        waited for.
        """
        context = contextvars.copy_context()
        future = self._threads.submit(lambda: context.run(function))
        waiter = asyncio.wrap_future(future)
        try:
            await asyncio.wait([waiter])
        except asyncio.CancelledError:
            if not future.cancel():
                interrupt()
                await asyncio.wait([waiter])
                waiter.exception()  # this cancellation takes its place
            raise
        return waiter.result()

    def stop(self, timeout: float | None = _END_TIME) -> list[str]:
        """Cancel what is left, and end all threads; return the names of those that do not end."""
        with self._lock:
            self._stopped = True
            loop, thread, watchdog, watching = (
                self._loop,
                self._thread,
                self._watchdog,
                self._watching,
            )
        if loop is None or thread is None or watchdog is None or watching is None:
            return []
        deadline = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if deadline is None else max(deadline - time.monotonic(), 0.0)

        with suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(loop.stop)
        thread.join(left())
        watchdog.stop()
        watching.join(left())
        alive = self._threads.stop(left())
        return [thread.name, *alive] if thread.is_alive() else alive

    def _running(self) -> tuple[asyncio.AbstractEventLoop, LoopWatchdog]:
        with self._lock:
            if self._stopped:
                raise CancelledError(f"{self._name}: the event loop has stopped")
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
                then="no coroutine of this manager runs any more; restart this process",
                on_failure=self._failed,
            )
        except BaseException:
            loop.close()
            raise
        assert thread.ident is not None, "it was started"
        watchdog = LoopWatchdog(self._name, loop, thread.ident)
        try:
            self._watching = SupervisedThread.started(
                watchdog.run,
                name=f"{self._name}-event-loop-watchdog",
                then="coroutines that block the event loop are not reported",
            )
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


def _log_failure(future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        _log.error("a call after a coroutine failed: %r", error, exc_info=error)


def _go_on(run: Callable[[], object]) -> None:
    """Run a loop until it is stopped. SystemExit in a task of a user, as the loss of leadership
    raises it, leaves the loop though the task has it already."""
    while True:
        try:
            run()
        except SystemExit as error:
            _log.debug("a task has ended by %r", error)
        else:
            return
