"""Work that takes long, on threads: other requests are answered meanwhile.

Promises: what takes as long as an object is large (to read, patch, own, validate and show it) does
not hold the event loop. One thread does it, one object at a time, so that a request in between
waits for some turns of the interpreter. Without it, an object within the limits (a Pod of 1 MB, a
ConfigMap of 100,000 keys) holds all other requests for 1 to 5 seconds; with it for 0.1 to 1.

Expressions can take long for a small object too, and no one can say beforehand. They begin where
the object is worked on; if they are not done in a short time, they begin again on a thread of their
own, with a limit of processor time.

Does not promise less work. Differs from upstream, where each request has a goroutine.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, ParamSpec, TypeVar

import msgspec

from clientgo.testcluster.server.resources.errors import expressions_too_slow
from clientgo.util.process import CpuTimeExceededError, CpuTimeLimit, cpu_time_limit

P = ParamSpec("P")
T = TypeVar("T")

LARGE: Final = 32 * 1024
"""Bytes of an object; below, the work takes a few milliseconds."""

FIRST_TRY: Final = 0.01
"""Seconds of processor time after which expressions leave the event loop."""

_TURN: Final = 0.001
"""Seconds of processor time after which expressions let the event loop go on."""

_ANSWER_TIMEOUT: Final = 10.0
"""Seconds that a thread waits for the event loop."""

_FIRST_TRY_ELSEWHERE: Final = 2.0
"""The same for the thread of large objects, whose validation takes time besides."""

EXPRESSIONS_LIMIT: Final = 20.0
"""Seconds of processor time that the expressions for one object may use. It is the time that the
cost limits of a real server take here, several times over."""


class LargeWork:
    """The threads of one server. On the server's event loop."""

    def __init__(self) -> None:
        self._objects: ThreadPoolExecutor | None = None
        self._expressions: ThreadPoolExecutor | None = None
        self._running: set[CpuTimeLimit] = set()

    def on(self, size: int) -> WorkOn:
        """Return what runs the work on one object of ``size`` bytes."""
        if size < LARGE:
            return WorkOn(self, None)
        if self._objects is None:
            self._objects = ThreadPoolExecutor(1, thread_name_prefix="apiserver-large-objects")
        return WorkOn(self, self._objects)

    async def evaluate(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns on the thread of expressions.

        Raises:
            FailedRequestError: 504, it takes too much processor time.
        """
        if self._expressions is None:
            self._expressions = ThreadPoolExecutor(1, thread_name_prefix="apiserver-expressions")
        limit = CpuTimeLimit()
        self._running.add(limit)
        call = functools.partial(_within, EXPRESSIONS_LIMIT, work, limit)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._expressions, call)
        except CpuTimeExceededError as error:
            raise expressions_too_slow(EXPRESSIONS_LIMIT) from error
        finally:
            limit.cancel()  # the client may have gone
            self._running.remove(limit)

    def close(self) -> None:
        """End the threads, after the object that they work on; cancel expressions."""
        for limit in self._running:
            limit.cancel()
        if self._expressions is not None:
            # It is not waited for: an expression may wait for the event loop.
            self._expressions.shutdown(wait=False, cancel_futures=True)
            self._expressions = None
        if self._objects is not None:
            self._objects.shutdown(cancel_futures=True)
            self._objects = None


class WorkOn(msgspec.Struct, frozen=True):
    """Runs the work on one object."""

    _large_work: LargeWork
    _thread: ThreadPoolExecutor | None
    """None: the object is small."""

    @property
    def is_large(self) -> bool:
        """Return True if the work is done on the thread."""
        return self._thread is not None

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what ``work`` returns for the arguments.

        It may run on a thread, so it must use nothing that belongs to the event loop; what the
        event loop has may change meanwhile.
        """
        if self._thread is None:
            return work(*args, **kwargs)
        call = functools.partial(work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def evaluate(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what ``work`` returns, which evaluates expressions and changes nothing.

        It may run twice, and on a thread as for ``run``.

        Raises:
            FailedRequestError: 504, it takes too much processor time.
        """
        call = functools.partial(work, *args, **kwargs)
        seconds = FIRST_TRY if self._thread is None else _FIRST_TRY_ELSEWHERE
        begin = time.thread_time()
        try:
            result = await self.run(_within, seconds, call)
        except CpuTimeExceededError:
            return await self._large_work.evaluate(call)
        if self._thread is None and time.thread_time() - begin > _TURN:
            await asyncio.sleep(0)
        return result


def _within(seconds: float, work: Callable[[], T], limit: CpuTimeLimit | None = None) -> T:
    with cpu_time_limit(seconds, limit):
        return work()


def called_on_this_loop(call: Callable[P, T]) -> Callable[P, T]:
    """Return a function that calls ``call`` on the event loop that runs here, from any thread.

    It blocks, and raises what ``call`` raises; ``CpuTimeExceededError`` if the loop has ended or
    does not answer.
    """
    loop, thread = asyncio.get_running_loop(), threading.get_ident()

    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.get_ident() == thread:
            return call(*args, **kwargs)
        answer: Future[T] = Future()

        def answer_on_loop() -> None:
            try:
                answer.set_result(call(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised where it was called
                answer.set_exception(error)

        try:
            loop.call_soon_threadsafe(answer_on_loop)
        except RuntimeError as error:
            raise CpuTimeExceededError("the event loop has ended") from error
        if not wait([answer], _ANSWER_TIMEOUT).done:
            raise CpuTimeExceededError("the event loop does not answer")
        return answer.result()

    return called
