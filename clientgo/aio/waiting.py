"""Coroutines and threads that wait for each other.

Promises: whoever waits in a coroutine does not block its loop. What is cancelled ends first: a
function gets a stop event, and its end is waited for.

Does not promise that a loop which is stopped, and neither runs nor is closed, answers a thread.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar

from clientgo import cache
from clientgo.aio.call_threads import CallThreads, CoroutineCancelledError
from clientgo.cache import SyncResult
from clientgo.cache.informer.wait_for_cache_sync import WaitedFor
from clientgo.informers import InformerFactory
from clientgo.util.wait import call_when_set

P = ParamSpec("P")
T = TypeVar("T")


class Wakeup:
    """Wakes a coroutine of the running loop: it awaits this, and any thread calls it."""

    __slots__ = ("_loop", "_woken")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()

    def __call__(self) -> bool:
        """Return False if the loop is closed. Does not block."""
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            return False
        return True

    def __await__(self) -> Generator[Any, None, None]:
        return self._woken.__await__()

    def _wake(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)


async def wait_for_event(event: threading.Event) -> None:
    """Wait until an event is set.

    No thread is needed for a :class:`~clientgo.util.wait.StopEvent`, one watcher for any other.
    """
    wakeup = Wakeup()
    registration = call_when_set(event, wakeup)
    try:
        await wakeup
    finally:
        registration.cancel()


async def in_thread(
    function: Callable[[threading.Event], T],
    *,
    name: str = "in-thread",
    stop: threading.Event | None = None,
) -> T:
    """Call a function that blocks in a thread of its own, and wait for its result.

    The event that it is given is set when the coroutine is cancelled, or ``stop`` is set. It has to
    end then, and its end is waited for: ``await in_thread(partial(loop.run, blocking(sync)))`` runs
    a :class:`~clientgo.control_loop.ControlLoop` that calls a coroutine.
    """
    thread = CallThreads(name, 1)
    try:
        return await thread.call(function, stop)
    finally:
        thread.stop()


async def wait_for_cache_sync(
    stop: threading.Event, *waited_for: WaitedFor, timeout: float | None = None, name: str = ""
) -> SyncResult:
    """Wait until everything has synced, ``stop`` is set or ``timeout`` seconds have passed.

    All is as in :func:`clientgo.cache.wait_for_cache_sync`, which waits in a thread.
    """

    def wait(ending: threading.Event) -> SyncResult:
        return cache.wait_for_cache_sync(ending, *waited_for, timeout=timeout, name=name)

    return await in_thread(wait, name="wait-for-cache-sync", stop=stop)


@asynccontextmanager
async def running(factory: InformerFactory[Any], stop: threading.Event) -> AsyncGenerator[None]:
    """Start the informers of a factory; at the end stop them, and wait for their threads.

    The loop runs meanwhile, so handlers that wait for it can end.
    """
    factory.start(stop)
    try:
        yield
    finally:
        await in_thread(lambda _: factory.shutdown(), name="informers-shutdown")


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return a function for other threads: it runs a coroutine in this loop, and waits for it.

    ``informer.add_event_handler(on_add=blocking(added))``: the handler's thread calls the next one
    when the coroutine has ended, so order and backlog are those of every handler. The coroutine has
    the context variables of the thread. Raises what it raises, :class:`CoroutineCancelledError` if
    it was cancelled, and RuntimeError if the loop is closed or would wait for itself.
    """
    loop, thread = asyncio.get_running_loop(), threading.get_ident()

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.get_ident() == thread:
            raise RuntimeError(f"{function}: a coroutine must await, not wait for its own loop")
        coroutine = function(*args, **kwargs)
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()
        except CancelledError as error:
            raise CoroutineCancelledError(f"{function} was cancelled") from error
        except RuntimeError:
            coroutine.close()  # the loop is closed, or the coroutine has ended
            raise

    return call
