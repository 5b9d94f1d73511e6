"""Work that follows a write, after the request that made it has been answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVarTuple

from clientgo.testcluster.server.storage.storage import Storage

LOG = logging.getLogger("clientgo.testcluster.server")

Args = TypeVarTuple("Args")

_Work: TypeAlias = Coroutine[Any, Any, None]

_Call: TypeAlias = tuple[Callable[..., _Work], tuple[Any, ...]]
"""A function that returns work, and its arguments."""

_RETRY_SECONDS = 0.1
_MOST_RETRY_SECONDS = 60.0
"""The first delay of a retry, which doubles each time until it is forgotten, and the longest."""


class BackgroundWork:
    """The tasks that controllers have started. On the server's event loop only."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[_Call, asyncio.TimerHandle] = {}
        self._delays: dict[_Call, float] = {}
        self._stopped: list[_Call] = []
        """What waited for a delay when the server was stopped."""

    def start(self, work: _Work, after: float = 0) -> None:
        """Run ``work`` soon, or some seconds later; an error is logged."""
        task = asyncio.get_running_loop().create_task(self._run(work, after))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def later(self, delay: float, function: Callable[[*Args], _Work], *args: *Args) -> None:
        """Start the work of a function in ``delay`` seconds, once if this is asked before.

        The end of the server does not wait for the delay.
        """
        if (function, args) not in self._waiting:
            loop = asyncio.get_running_loop()
            self._waiting[function, args] = loop.call_later(delay, self._call, function, args)

    def retry(self, function: Callable[[*Args], _Work], *args: *Args) -> None:
        """Start work later, after longer and longer delays; once if this is asked before.

        A function has its own delays for each of its arguments.
        """
        call = (function, args)
        if call not in self._waiting:
            delay = self._delays.get(call, _RETRY_SECONDS)
            self._delays[call] = min(2 * delay, _MOST_RETRY_SECONDS)
            self.later(delay, function, *args)

    def forget(self, function: Callable[[*Args], _Work], *args: *Args) -> None:
        """Don't start what waits for a delay, and let its next retry come after the first one."""
        self._delays.pop((function, args), None)
        if (waiting := self._waiting.pop((function, args), None)) is not None:
            waiting.cancel()

    def _call(self, function: Callable[[*Args], _Work], args: tuple[*Args]) -> None:
        del self._waiting[function, args]
        self.start(function(*args))

    def close(self) -> None:
        """Don't start what waits for a delay, until :meth:`resume`."""
        for waiting in self._waiting.values():
            waiting.cancel()
        self._stopped += self._waiting
        self._waiting.clear()

    def resume(self) -> None:
        """Start what waited for a delay when the server was stopped."""
        stopped, self._stopped = self._stopped, []
        for function, args in stopped:
            self.start(function(*args))

    async def _run(self, work: _Work, after: float) -> None:
        if after:
            await asyncio.sleep(after)
        await work
        await self._storage.durable()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("background work failed", exc_info=error)

    async def settle(self) -> None:
        """Wait until no work is left, including the work that work starts."""
        while self._tasks:
            await asyncio.wait(self._tasks)
