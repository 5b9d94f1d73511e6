"""A program that awaits, on one client: ``awaiting_peers WHAT NAME URL COUNT``.

``syncs`` awaits 100 ms for each of so many Foos, all at a time. ``latency`` takes the time from the
sending of an event to a coroutine. Runs in a process of its own and prints what it found, as JSON.
What each client does is said beside it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from benchmarks.peers import events_as_dicts, kubex_events

SLEEP = 0.1
WARM_UP = 200
"""Events whose latency is not counted: connections, modules and caches are made."""

Labels = Mapping[str, str]
Sync = Callable[[Labels], Awaitable[None]]


class DoneError(Exception):
    """So many Foos were synced."""


async def clientgo(url: str, count: int, sync: Sync) -> None:
    """An informer with a cache and an index; a queue with retries, and workers on coroutines."""
    from clientgo.aio import run_workers, running
    from clientgo.client import Client
    from clientgo.informers import SharedInformerFactory
    from clientgo.meta import ObjectName
    from clientgo.testing.bench import Foo
    from clientgo.util.wait import StopEvent
    from clientgo.workqueue import RateLimitingQueue

    queue: RateLimitingQueue[ObjectName] = RateLimitingQueue()
    stop = StopEvent()
    with Client(url) as client:
        factory = SharedInformerFactory(client)
        foos = factory.lister_for(Foo)

        def enqueue(_old: Foo, new: Foo) -> None:
            queue.add(ObjectName.of(new))

        factory.informer_for(Foo).add_event_handler(
            on_add=lambda new: enqueue(new, new), on_update=enqueue
        )

        async def handle(key: ObjectName) -> None:
            try:
                await sync(foos.namespace(key.namespace).get(key.name).metadata.labels)
            except DoneError:
                stop.set()

        async with running(factory, stop):
            await run_workers(stop, queue, handle, workers=count)


async def clientgo_handler(url: str, _count: int, sync: Sync) -> None:
    """The same informer; coroutines as its handler, one after the other."""
    from clientgo.aio import blocking, running, wait_for_event
    from clientgo.client import Client
    from clientgo.informers import SharedInformerFactory
    from clientgo.testing.bench import Foo
    from clientgo.util.wait import StopEvent

    stop = StopEvent()

    async def updated(_old: Foo, new: Foo) -> None:
        await added(new)

    async def added(new: Foo) -> None:
        try:
            await sync(new.metadata.labels)
        except DoneError:
            stop.set()

    with Client(url) as client:
        factory = SharedInformerFactory(client)
        factory.informer_for(Foo).add_event_handler(
            on_add=blocking(added), on_update=blocking(updated)
        )
        async with running(factory, stop):
            await wait_for_event(stop)


async def kubex(url: str, _count: int, sync: Sync) -> None:
    """A watch, and a task for each event: no cache, no queue, no retries."""
    await _a_task_each(_kubex_labels(kubex_events(url)), sync)


async def kubernetes_asyncio(url: str, _count: int, sync: Sync) -> None:
    """The same, with dicts."""
    from kubernetes_asyncio import client, watch

    await _a_task_each(_labels(events_as_dicts(client, watch, url)), sync)


async def kubernetes_aio(url: str, _count: int, sync: Sync) -> None:
    """The same, by the official client."""
    from kubernetes.aio import client, watch

    await _a_task_each(_labels(events_as_dicts(client, watch, url)), sync)


async def _kubex_labels(objects: AsyncIterator[Any]) -> AsyncGenerator[Labels]:
    async for each in objects:
        yield each.metadata.labels or {}


async def _labels(objects: AsyncIterator[Any]) -> AsyncGenerator[Labels]:
    async for each in objects:
        yield each["metadata"].get("labels") or {}


async def _a_task_each(labels: AsyncGenerator[Labels], sync: Sync) -> None:
    async def sync_one(one: Labels) -> None:
        try:
            await sync(one)
        except DoneError:
            done.set()

    async def follow() -> None:
        async with aclosing(labels) as all_of_them:
            async for one in all_of_them:
                tasks.add(task := asyncio.create_task(sync_one(one)))
                task.add_done_callback(tasks.discard)

    done, tasks = asyncio.Event(), set[asyncio.Task[None]]()
    following = asyncio.create_task(follow())
    ended = asyncio.create_task(done.wait())
    await asyncio.wait([following, ended], return_when=asyncio.FIRST_COMPLETED)
    if following.done():
        following.result()
    following.cancel()
    await asyncio.wait([following])


CLIENTS = {
    "clientgo": clientgo,
    "clientgo, handler": clientgo_handler,
    "kubex": kubex,
    "kubernetes_asyncio": kubernetes_asyncio,
    "kubernetes.aio": kubernetes_aio,
}


def syncs(name: str, url: str, count: int) -> dict[str, float]:
    """Await for each of so many Foos, which arrive as fast as they are read."""
    left = waiting = most = 0

    async def sync(_labels: Labels) -> None:
        nonlocal left, waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(SLEEP)
        waiting -= 1
        left -= 1
        if not left:
            raise DoneError

    for _ in range(2):  # the first loads all modules
        left, most = count, 0
        began, began_cpu = time.perf_counter(), time.process_time()
        asyncio.run(CLIENTS[name](f"{url}/live", count, sync))
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {"seconds": seconds, "cpu": cpu, "most": most}


def latency(name: str, url: str, count: int) -> dict[str, float]:
    """Take the times of so many events, of which 500 are sent a second."""
    found: list[int] = []
    began_cpu = 0.0

    async def sync(labels: Labels) -> None:
        nonlocal began_cpu
        found.append(time.monotonic_ns() - int(labels["sent"]))
        if len(found) == WARM_UP:
            began_cpu = time.process_time()
        if len(found) == WARM_UP + count:
            raise DoneError

    asyncio.run(CLIENTS[name](f"{url}/paced-500", 100, sync))
    cpu = (time.process_time() - began_cpu) / (len(found) - WARM_UP)
    times = sorted(found[WARM_UP : WARM_UP + count])
    return {"p50": times[count // 2] / 1e3, "p99": times[count * 99 // 100] / 1e3, "cpu": cpu * 1e6}


if __name__ == "__main__":
    what, client, address, number = sys.argv[1:5]
    print(json.dumps({"syncs": syncs, "latency": latency}[what](client, address, int(number))))
