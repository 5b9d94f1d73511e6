"""A watch by a client of the user's, which is any function that returns events.

::

    def watch(url):
        for line in urllib3.request("GET", f"{url}/apis/...?watch=true", preload_content=False):
            yield json.loads(line)

The function gets the address of a server, and returns an iterable or an asynchronous iterable with
an item for each event. What an item is does not matter: items are counted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from clientgo.testing.bench.adapters import BenchError
from clientgo.testing.bench.guard import Guard

Watch = Callable[[str], Any]


def follow(watch: Watch, url: str, count: int, *, name: str, timeout: float) -> float:
    """Take ``count`` events; return the seconds from before the watch is asked for.

    Raises BenchError, with the ``name``, for a watch that raises, ends too early, or is none, and
    if no event came for ``timeout`` seconds.
    """
    try:
        return _Following(watch, url, count).run(timeout)
    except BenchError as error:
        raise BenchError(f"{name}: {error}") from error


class _Following:
    def __init__(self, watch: Watch, url: str, count: int) -> None:
        self._watch = watch
        self._url = url
        self._count = count
        self._seen = 0
        self._seconds = 0.0

    def run(self, timeout: float) -> float:
        started = time.perf_counter()
        Guard(lambda: "it").run(
            self._take_all,
            timeout,
            progress=lambda: self._seen,
            stuck=lambda: BenchError(
                f"no event came for {timeout:g} s; {self._seen:,} of {self._count:,} were seen"
            ),
        )
        return self._seconds - started

    def _take_all(self) -> None:
        events = self._watch(self._url)
        if hasattr(events, "__aiter__"):
            asyncio.run(self._take_awaiting(events))
        elif hasattr(events, "__iter__"):
            self._take(events)
        else:
            raise BenchError(f"it returned a {type(events).__name__}, which has no events")
        if not self._seconds:
            raise BenchError(f"it ended after {self._seen:,} of {self._count:,} events")

    def _take(self, events: Any) -> None:
        for _ in events:
            if self._is_last():
                break
        if hasattr(events, "close"):
            events.close()

    async def _take_awaiting(self, events: Any) -> None:
        async for _ in events:
            if self._is_last():
                break
        if hasattr(events, "aclose"):
            await events.aclose()

    def _is_last(self) -> bool:
        self._seen += 1
        if self._seen < self._count:
            return False
        self._seconds = time.perf_counter()
        return True
