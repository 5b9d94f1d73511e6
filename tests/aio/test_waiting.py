"""Coroutines and threads that wait for each other: caches, handlers, stops."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from clientgo.aio import (
    CoroutineCancelledError,
    blocking,
    in_thread,
    reporting_blocks,
    run_workers,
    running,
    wait_for_cache_sync,
    wait_for_event,
)
from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import SharedIndexInformer
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.informers import SharedInformerFactory
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing import FakeClient, FakeSource
from clientgo.util.wait import StopEvent
from clientgo.workqueue import RateLimitingQueue
from clientgo.workqueue import run_workers as run_worker_threads
from tests.background import Background
from tests.cache.running import running as running_informer

LIMIT = 60.0


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, LIMIT))


async def until(condition: Callable[[], object]) -> None:
    """Let everything else in the loop run until a condition holds."""
    while not condition():
        await asyncio.sleep(0.001)


def config_map(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


# Events and functions


@pytest.mark.parametrize("kind", [StopEvent, threading.Event])
def test_a_coroutine_waits_for_an_event(kind: type[threading.Event]) -> None:
    async def main() -> None:
        event = kind()
        waiting = asyncio.create_task(wait_for_event(event))
        await asyncio.sleep(0)
        assert not waiting.done()
        await asyncio.to_thread(event.set)
        await waiting
        await wait_for_event(event)

    run(main())


def test_a_function_in_a_thread_is_told_to_end_when_its_coroutine_is_cancelled() -> None:
    """AIO-05."""
    begun, ended = threading.Event(), threading.Event()

    def work(stop: threading.Event) -> None:
        begun.set()
        stop.wait(LIMIT)
        ended.set()

    async def main() -> None:
        working = asyncio.create_task(in_thread(work))
        await wait_for_event(begun)
        working.cancel()
        await asyncio.wait([working])
        assert working.cancelled()
        assert ended.is_set(), "its end is waited for"

    before = set(threading.enumerate())
    run(main())
    left = [t for t in threading.enumerate() if t not in before and t.name != "stop-watcher"]
    assert left == []


def test_a_second_cancellation_waits_for_the_function_too() -> None:
    """AIO-05: a time limit around another one, or the end of a group of tasks."""
    begun, told, release, ended = (threading.Event() for _ in range(4))

    def work(stop: threading.Event) -> None:
        begun.set()
        stop.wait(LIMIT)
        told.set()
        release.wait(LIMIT)
        ended.set()

    async def main() -> None:
        working = asyncio.create_task(in_thread(work))
        await wait_for_event(begun)
        working.cancel()
        await wait_for_event(told)
        working.cancel()
        await asyncio.sleep(0.01)
        assert not working.done()
        release.set()
        await asyncio.wait([working])
        assert working.cancelled()
        assert ended.is_set()

    run(main())


def test_a_function_in_a_thread_returns_and_raises_and_ends_with_the_stop() -> None:
    async def main() -> None:
        assert await in_thread(lambda _: 42) == 42
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda _: 1 / 0)
        stop = StopEvent()
        waiting = asyncio.create_task(in_thread(lambda ending: ending.wait(LIMIT), stop=stop))
        stop.set()
        assert await waiting

    run(main())


# Caches


def test_a_coroutine_waits_for_a_cache_and_for_a_handler() -> None:
    """AIO-05."""
    source = FakeSource([config_map("a"), config_map("b")])
    informer = SharedIndexInformer(source, ConfigMap)
    seen: list[str] = []

    async def main() -> None:
        async def added(obj: ConfigMap) -> None:
            await asyncio.sleep(0)
            seen.append(obj.metadata.name)

        registration = informer.add_event_handler(on_add=blocking(added))
        stop = StopEvent()
        informing = asyncio.create_task(in_thread(informer.run, stop=stop))
        assert await wait_for_cache_sync(stop, informer, registration)
        assert seen == ["a", "b"]
        stop.set()
        await informing

    run(main())


def test_a_wait_for_a_cache_ends_with_the_stop_the_time_and_a_cancellation() -> None:
    """AIO-05."""
    informer = SharedIndexInformer(FakeSource(), ConfigMap, name="never")

    async def main() -> None:
        stop = StopEvent()
        result = await wait_for_cache_sync(stop, informer, timeout=0.01)
        assert "never" in str(result.as_error())
        for end in ("stop", "cancel"):
            waiting = asyncio.create_task(wait_for_cache_sync(stop, informer))
            await until(lambda: any("wait-for" in t.name for t in threading.enumerate()))
            if end == "cancel":
                waiting.cancel()
                await asyncio.wait([waiting])
                assert waiting.cancelled()
            else:
                stop.set()
                assert not await waiting
                stop = StopEvent()
            assert not [t for t in threading.enumerate() if "wait-for" in t.name]

    run(main())


# Handlers


def test_a_coroutine_is_called_for_one_event_at_a_time_in_order() -> None:
    """AIO-06."""
    source = FakeSource([config_map()])
    informer = SharedIndexInformer(source, ConfigMap)
    calls: list[str] = []
    release: list[asyncio.Event] = []

    async def main() -> None:
        release.append(asyncio.Event())

        async def updated(_old: ConfigMap, new: ConfigMap) -> None:
            calls.append(f"begin {new.metadata.resource_version}")
            await release[0].wait()
            calls.append(f"end {new.metadata.resource_version}")

        async def deleted(_obj: object) -> None:
            calls.append("deleted")

        registration = informer.add_event_handler(
            on_update=blocking(updated), on_delete=blocking(deleted)
        )
        stop = StopEvent()
        informing = asyncio.create_task(in_thread(informer.run, stop=stop))
        await wait_for_cache_sync(stop, registration)
        source.update(config_map())
        source.update(config_map())
        source.delete(config_map())
        await until(lambda: bool(calls) and registration.statistics().backlog == 3)
        assert calls == ["begin 2"]
        release[0].set()
        await until(lambda: "deleted" in calls)
        stop.set()
        await informing

    run(main())
    assert calls == ["begin 2", "end 2", "begin 3", "end 3", "deleted"]


def test_a_coroutine_that_fails_is_a_handler_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """AIO-06."""
    informer = SharedIndexInformer(FakeSource([config_map("a"), config_map("b")]), ConfigMap)

    async def main() -> None:
        async def added(obj: ConfigMap) -> None:
            if obj.metadata.name == "a":
                raise ValueError("no")

        registration = informer.add_event_handler(on_add=blocking(added))
        stop = StopEvent()
        informing = asyncio.create_task(in_thread(informer.run, stop=stop))
        await wait_for_cache_sync(stop, registration)
        assert registration.statistics().failed == 1
        stop.set()
        await informing

    run(main())
    assert "failed for the add of default/a: no" in caplog.text
    assert "added" in caplog.text, "the handler has the name of the coroutine"


def test_informers_end_with_their_block_while_a_handler_waits_for_the_loop() -> None:
    client = FakeClient(config_map())
    ended: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def added(_obj: ConfigMap) -> None:
            begun.set()
            await asyncio.sleep(0.01)
            ended.append("handler")

        factory = SharedInformerFactory(client)
        factory.informer_for(ConfigMap).add_event_handler(on_add=blocking(added))
        async with running(factory, StopEvent()):
            await begun.wait()
        ended.append("block")
        assert factory.informer_for(ConfigMap).is_stopped()

    run(main())
    assert ended == ["handler", "block"]


def test_a_coroutine_has_the_context_of_the_thread_that_calls_it() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")

    async def main() -> None:
        async def ask() -> str:
            return name.get()

        def thread(_stop: threading.Event) -> str:
            name.set("thread")
            return asked()

        asked = blocking(ask)
        assert await in_thread(thread) == "thread"

    run(main())


def test_a_blocking_function_never_waits_for_what_cannot_come() -> None:
    """Its own loop, a cancelled coroutine, a closed loop."""

    async def main() -> Callable[[], None]:
        async def wait() -> None:
            tasks.append(asyncio.current_task())
            await asyncio.sleep(LIMIT)

        tasks: list[Any] = []
        function = blocking(wait)
        with pytest.raises(RuntimeError, match="must await"):
            function()
        calling = asyncio.create_task(in_thread(lambda _: function()))
        await until(lambda: tasks)
        tasks[0].cancel()
        with pytest.raises(CoroutineCancelledError, match="wait"):
            await calling
        return function

    function = run(main())
    with pytest.raises(RuntimeError, match="closed"):
        Background(function).result()


def test_what_blocks_the_loop_of_the_program_is_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AIO-10."""
    monkeypatch.setattr("clientgo.aio.watchdog.BLOCKED_AFTER", 1)
    monkeypatch.setattr("clientgo.aio.watchdog.ASKED_EVERY", 0.001)
    reported = threading.Event()

    class Reported(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has blocked" in record.getMessage():
                reported.set()

    async def main() -> None:
        with reporting_blocks("site"):
            assert reported.wait(LIMIT)

    handler = Reported()
    logging.getLogger("clientgo.aio").addHandler(handler)
    try:
        run(main())
    finally:
        logging.getLogger("clientgo.aio").removeHandler(handler)
    assert "site: the coroutine of" in caplog.text
    assert "reported.wait(LIMIT)" in caplog.text


# What blocks, for coroutines


def test_a_control_loop_calls_a_coroutine(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    """With its lease, in threads that wait for the event loop."""
    kube_client.create(config_map())
    synced: list[ObjectName] = []

    async def main() -> None:
        stop = StopEvent()

        async def sync(key: ObjectName) -> None:
            await asyncio.sleep(0)
            if key.name == "a":
                synced.append(key)
                stop.set()

        loop = ControlLoop(kube_client, "one", lease="default/one")
        loop.watch(ConfigMap)
        await in_thread(partial(loop.run, blocking(sync)), stop=stop)

    run(main())
    assert synced == [ObjectName("default", "a")]


async def coroutine(*_: object) -> None: ...


def test_a_coroutine_where_a_function_is_called_is_refused() -> None:
    """AIO-08. It would never be awaited."""
    informer = SharedIndexInformer(FakeSource(), ConfigMap)
    with pytest.raises(TypeError, match=r"clientgo\.aio\.blocking"):
        informer.add_event_handler(on_add=coroutine)
    queue: RateLimitingQueue[str] = RateLimitingQueue()
    with pytest.raises(TypeError, match=r"clientgo\.aio\.run_workers"):
        run_worker_threads(StopEvent(), queue, coroutine)
    with pytest.raises(TypeError, match=r"clientgo\.aio\.blocking"):
        ControlLoop(FakeClient(), "one").run(coroutine, StopEvent())  # type: ignore[arg-type]
    with running_informer(informer):
        pass
    assert run_workers is not run_worker_threads
