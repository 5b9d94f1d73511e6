"""Work on large objects, on a thread: other requests are answered meanwhile.

Promises: what takes as long as an object is large (to read, patch, own and validate it) does not
hold the event loop. One thread does it, one object at a time, so that a request in between waits
for some turns of the interpreter, not for several threads.

Does not promise less work: a large object takes as long as before.

Differs from upstream, where each request has a goroutine.
"""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

LARGE: Final = 32 * 1024
"""Bytes of an object; below, the work takes a few milliseconds."""


class LargeWork:
    """The thread of one server. On the server's event loop."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """Return what ``work`` on an object of ``size`` bytes returns.

        It may run on a thread, so it must use nothing that belongs to the event loop; what the
        event loop has may change meanwhile.
        """
        if size < LARGE:
            return work()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="apiserver-large-objects")
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, _without_collections, work
        )

    def on(self, size: int) -> WorkOn:
        """Return what runs the work on one object of ``size`` bytes."""
        return WorkOn(self, size)

    def close(self) -> None:
        """End the thread, after the object that it works on."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None


class WorkOn(msgspec.Struct, frozen=True):
    """Runs the work on one object, as ``LargeWork.run``."""

    _large_work: LargeWork
    size: int
    """Bytes of the object."""

    @property
    def is_large(self) -> bool:
        """Return True if the work is done on the thread."""
        return self.size >= LARGE

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what ``work`` returns for the arguments."""
        if not self.is_large:
            return work(*args, **kwargs)
        return await self._large_work.run(self.size, functools.partial(work, *args, **kwargs))


def _without_collections(work: Callable[[], T]) -> T:
    """Return what ``work`` returns; the garbage collector waits for it.

    A collection stops all threads, and looks at all of a large object again and again while it
    grows: most of the time of the work, up to a second at once.
    """
    if not gc.isenabled():
        return work()
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()
