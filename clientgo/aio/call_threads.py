"""A bounded number of threads for calls that block.

Promises that a call whose coroutine is cancelled is told to end, and has ended before the coroutine
goes on, however often that is cancelled; what waits for a thread is cancelled immediately.

Differs from ``concurrent.futures``: the threads are daemons, so that a call which does not end
does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar

from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import SupervisedThread, ThreadStartError, join_threads, refuse_in_child
from clientgo.util.wait import StopEvent, call_when_set

T = TypeVar("T")

MOST_THREADS: Final = 32
"""More requests at a time than this do not make one process of Python faster, if the API server
answers within 30 ms; 1,000 coroutines that write at once wait for their turn."""


IN_CHILD: Final = "make event loops and awaiting clients in the child, after the fork"


class CoroutineCancelledError(CopyableError, RuntimeError):
    """A coroutine was cancelled, or what should run it, or its call, has stopped.

    Raised to threads that wait for a coroutine, and for what comes too late. A coroutine that is
    cancelled gets ``asyncio.CancelledError``.
    """


@uncopyable("it has threads; make one in each process")
class CallThreads:
    """Calls functions, first in first out. Thread-safe; threads start when they are needed."""

    def __init__(self, name: str, most: int = MOST_THREADS) -> None:
        self._name = name
        self._most = most
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._threads: list[SupervisedThread] = []
        self._idle = 0
        self._stopped = False
        refuse_in_child(self, f"{name} with its threads", "_changed", advice=IN_CHILD)

    async def call(
        self, function: Callable[[threading.Event], T], until: threading.Event | None = None
    ) -> T:
        """Call a function in a thread, with the context variables of the coroutine.

        The event that it is given is set when the coroutine is cancelled, or ``until`` is set: then
        it has to end, and its end is waited for. Raises what it raises, and
        :class:`CoroutineCancelledError` after the stop of the threads.
        """
        stop = StopEvent()
        context = contextvars.copy_context()
        future = self.submit(lambda: context.run(function, stop))
        registration = None if until is None else call_when_set(until, stop.set)
        waiter = asyncio.wrap_future(future)
        try:
            await asyncio.wait([waiter])
        except asyncio.CancelledError:
            if not future.cancel():
                stop.set()
                while not waiter.done():
                    with suppress(asyncio.CancelledError):  # a second one must wait too
                        await asyncio.wait([waiter])
                waiter.exception()  # this cancellation takes its place
            raise
        finally:
            if registration is not None:
                registration.cancel()
        if waiter.cancelled():
            raise CoroutineCancelledError(f"{self._name} is closed: the call was not made")
        return waiter.result()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Call a function in a thread; after the stop the future is cancelled."""
        future: Future[T] = Future()
        with self._changed:
            if self._stopped:
                future.cancel()
                return future
            self._waiting.append((future, function))
            if self._idle >= len(self._waiting) or len(self._threads) == self._most:
                self._changed.notify()
                return future
            thread = SupervisedThread(
                self._work,
                name=f"{self._name}-{len(self._threads) + 1}",
                then="calls of coroutines have one thread less; restart this process",
            )
            try:
                thread.start()
            except ThreadStartError:
                if self._threads:  # one of those gets to it
                    return future
                self._waiting.pop()
                raise
            self._threads.append(thread)
        return future

    def stop(self, timeout: float | None = None) -> list[str]:
        """Cancel what waits; return the names of threads that are busy after so many seconds."""
        with self._changed:
            self._stopped = True
            waiting, self._waiting = list(self._waiting), deque()
            self._changed.notify_all()
        for future, _ in waiting:
            future.cancel()
        return join_threads(self._threads, timeout)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._waiting or self._stopped)
                self._idle -= 1
                if not self._waiting:
                    return
                future, function = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = function()
            except BaseException as error:  # noqa: BLE001 - the future raises it
                future.set_exception(error)
            else:
                future.set_result(result)
