"""Work on large objects, on a thread: other requests are answered meanwhile.

Promises: what takes as long as an object is large (to read, patch, own, validate and show it) does
not hold the event loop. One thread does it, one object at a time, so that a request in between
waits for some turns of the interpreter. Without it, an object within the limits (a Pod of 1 MB, a
ConfigMap of 100,000 keys) holds all other requests for 1 to 5 seconds; with it for 0.1 to 1.

Does not promise less work. Differs from upstream, where each request has a goroutine.
"""

from __future__ import annotations

import asyncio
import functools
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

    def on(self, size: int) -> WorkOn:
        """Return what runs the work on one object of ``size`` bytes."""
        if size < LARGE:
            return WorkOn(None)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="apiserver-large-objects")
        return WorkOn(self._thread)

    def close(self) -> None:
        """End the thread, after the object that it works on."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None


class WorkOn(msgspec.Struct, frozen=True):
    """Runs the work on one object."""

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
