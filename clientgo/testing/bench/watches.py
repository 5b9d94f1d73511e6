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
import threading
import time
from collections.abc import Callable
from typing import Any

from clientgo.testing.bench.adapters import BenchError
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread

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


@uncopyable("it has a thread; make one for each watch")
class _Following:
    def __init__(self, watch: Watch, url: str, count: int) -> None:
        self._watch = watch
        self._url = url
        self._count = count
        self._seen = 0
        self._seconds = 0.0
        self._error: BenchError | None = None
        self._ended = threading.Event()

    def run(self, timeout: float) -> float:
        started = time.perf_counter()
        SupervisedThread.started(self._run, name="watch", then="the watch is not measured")
        before = 0
        while not self._ended.wait(timeout):
            if self._seen == before:
                raise BenchError(
                    f"no event came for {timeout:g} s; {self._seen:,} of {self._count:,} were seen"
                )
            before = self._seen
        if self._error is not None:
            raise self._error
        return self._seconds - started

    def _run(self) -> None:
        try:
            self._take_all(self._watch(self._url))
        except BenchError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001 - whatever a client of the user's raises
            self._error = BenchError(f"it raised {type(error).__name__}: {error}")
        self._ended.set()

    def _take_all(self, events: Any) -> None:
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
