"""Coroutines as the workers of a queue.

Promises: a coroutine takes a key only when it asks for one, so keys wait in the queue, which keeps
their order and merges what is added meanwhile. A coroutine that is cancelled while it waits takes
none. No thread is needed: who adds a key wakes the loop. Threads and coroutines, also of several
loops, may share a queue: one of them at a time handles a key.

Does not promise that a loop answers while keys are handled by code that never awaits something that
waits; but between two keys everything else has its turn.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import TypeVar

from clientgo.aio.call_threads import CoroutineCancelledError
from clientgo.aio.waiting import Wakeup, wait_for_event
from clientgo.util.wait import call_when_set
from clientgo.workqueue import Queue, RateLimitingQueue
from clientgo.workqueue.workers import PATIENCE, Workers

T = TypeVar("T", bound=Hashable)


async def get(queue: Queue[T]) -> tuple[T, bool]:
    """Wait until an item is ready, and take it: as :meth:`~clientgo.workqueue.Queue.get`.

    Lets all that is ready in the loop run first. Every item that is taken must be given to `done`.
    """
    await asyncio.sleep(0)
    while True:
        wakeup = Wakeup()
        taken = queue.get(wakeup)
        if taken is not None:
            return taken
        try:
            await wakeup
        except BaseException:
            queue.withdraw(wakeup)
            raise


async def keys(queue: Queue[T]) -> AsyncGenerator[T]:
    """Take items until the queue shuts down, giving each back when the next is asked for.

    ``async for key in keys(queue): ...`` is the loop of a worker whose body does not raise. An
    item is also given back soon after the loop was left.
    """
    while True:
        item, shutting_down = await get(queue)
        if shutting_down:
            return
        try:
            yield item
        finally:
            queue.done(item)


async def run_workers(
    stop: threading.Event,
    queue: RateLimitingQueue[T],
    handle: Callable[[T], Awaitable[object]],
    *,
    workers: int = 1,
    name: str = "worker",
    guard: Callable[[], object] | None = None,
    drain: bool = False,
    expected: tuple[type[Exception], ...] = (),
) -> None:
    """Handle keys, so many at a time, until `stop` is set; then shut the queue down and return.

    All is as in :func:`clientgo.workqueue.run_workers`: retries, logs, `guard`, `drain` and what it
    raises. The stop waits for keys that are being handled.

    A cancellation cancels these, and ends when they have ended. Their keys are added again: without
    effect here, because the queue is shut down first.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    await _Coroutines(stop, queue, handle, guard, drain=drain, expected=expected).run_all(
        workers, name
    )


class _Coroutines(Workers[T]):
    """The workers of one call."""

    async def run_all(self, workers: int, name: str) -> None:
        self._running = workers
        registration = call_when_set(self._stop, self._ending.set)
        tasks = [
            asyncio.create_task(self._take(), name=f"{name}-{number}")
            for number in range(1, workers + 1)
        ]
        try:
            await wait_for_event(self._ending)
            self._queue.shut_down()
            patience = PATIENCE
            while (await asyncio.wait(tasks, timeout=patience))[1]:
                if self._report_running(name):
                    patience *= 2
        finally:
            registration.cancel()
            self._ending.set()
            self._queue.shut_down()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._ended(name)

    async def _take(self) -> None:
        try:
            while True:
                key, shutting_down = await get(self._queue)
                if shutting_down:
                    return
                try:
                    await self._await(key)
                finally:
                    self._queue.done(key)
        except asyncio.CancelledError:
            raise
        except BaseException as failure:  # noqa: BLE001 - raised by run_workers
            self._fail(failure)
        finally:
            self._worker_ended()

    async def _await(self, key: T) -> None:
        """Handle a key, or drop it. Raises only what must end all workers."""
        if self._drops():
            return
        try:
            with self._queue.syncing(key):
                await self._handle(key)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                self._queue.add(key)
                raise
            self._failed(key, CoroutineCancelledError(f"what it awaits was cancelled: {error!r}"))
        except BaseException as error:  # noqa: BLE001 - one key's failure must not end the worker
            self._failed(key, error)
        else:
            self._succeeded(key)
