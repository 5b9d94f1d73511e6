"""A client whose calls await."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from clientgo.aio import AsyncClient, CoroutineCancelledError, wait_for_event
from clientgo.api.core_v1 import ConfigMap, Container, Pod, PodSpec
from clientgo.client import Client, ResourceClient
from clientgo.meta import (
    APIResource,
    EventType,
    ListOptions,
    NotFoundError,
    ObjectMeta,
    WatchEvent,
)
from clientgo.rest import RequestStoppedError, RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer, PodProcess, PodPrograms
from clientgo.testing import FakeClient
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer_json,
    stay_silent,
    watch_begin,
    watch_end,
    watch_events,
)
from clientgo.util.wait import StopEvent

LIMIT = 60.0
MAPS = "/api/v1/namespaces/default/configmaps"


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, LIMIT))


async def until(condition: Callable[[], object]) -> None:
    """Let everything else in the loop run until a condition holds."""
    while not condition():
        await asyncio.sleep(0.001)


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


def plain(name: str = "a") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "resourceVersion": "7"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[Client]:
    with Client(RestConfig(server=server.url)) as client:
        yield client


def test_every_verb_awaits_and_means_what_it_means_without() -> None:
    async def main() -> None:
        async with AsyncClient(FakeClient()) as client:
            maps = client.resource(ConfigMap).namespace("default")
            created = await client.create(config_map(k="1"))
            created.data["k"] = "2"
            await client.update(created)
            assert (await maps.get("a")).data == {"k": "2"}
            assert (await maps.patch("a", {"data": {"k": "3"}})).data == {"k": "3"}
            await client.apply(config_map(k="4"), field_manager="tests", force=True)
            found = await maps.list(ListOptions(label_selector=""))
            assert [obj.data for obj in found.items] == [{"k": "4"}]
            unstructured = client.resource(
                APIResource(group="", version="v1", kind="ConfigMap", plural="configmaps")
            )
            assert (await unstructured.namespace("default").get("a"))["data"] == {"k": "4"}
            await client.delete(created)
            with pytest.raises(NotFoundError):
                await maps.get("a")

    run(main())


def test_requests_wait_at_the_same_time_as_many_as_there_are_threads(
    server: ScriptedServer, client: Client
) -> None:
    together = threading.Barrier(3, timeout=LIMIT)

    def answer(_request: object) -> Any:
        together.wait()
        return answer_json(plain())

    server.on(f"{MAPS}/a", *[answer] * 6)

    async def main() -> None:
        async with AsyncClient(client, threads=3) as requests:
            maps = requests.resource(ConfigMap).namespace("default")
            await asyncio.gather(*(maps.get("a") for _ in range(6)))
            names = {thread.name for thread in threading.enumerate()}
            assert {f"async-client-{number}" for number in (1, 2, 3)} <= names
            assert "async-client-4" not in names

    run(main())
    assert not [t for t in threading.enumerate() if t.name.startswith("async-client")]


@pytest.mark.parametrize("how", ["cancel", "timeout", "stop"])
def test_a_request_is_cut_off(server: ScriptedServer, client: Client, how: str) -> None:
    """AIO-07. By a cancellation, by a time limit, and by a stop event of the call."""
    server.on(f"{MAPS}/a", stay_silent())

    async def main() -> None:
        async with AsyncClient(client) as requests:
            maps = requests.resource(ConfigMap).namespace("default")
            if how == "timeout":
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await maps.get("a")
                return
            stop = StopEvent()
            asking = asyncio.create_task(maps.get("a", stop=stop))
            await asyncio.to_thread(server.wait_for_requests, 1)
            if how == "cancel":
                asking.cancel()
                await asyncio.wait([asking])
                assert asking.cancelled()
            else:
                stop.set()
                with pytest.raises(RequestStoppedError):
                    await asking

    run(main())


def test_a_call_that_waits_for_a_thread_is_never_made_if_it_is_cancelled(
    server: ScriptedServer, client: Client
) -> None:
    """AIO-07."""
    server.on(f"{MAPS}/a", stay_silent())

    async def main() -> None:
        async with AsyncClient(client, threads=1) as requests:
            maps = requests.resource(ConfigMap).namespace("default")
            first = asyncio.create_task(maps.get("a"))
            await asyncio.to_thread(server.wait_for_requests, 1)
            second = asyncio.create_task(maps.get("b"))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([second])
            first.cancel()
            await asyncio.wait([first])

    run(main())
    assert [request.path for request in server.requests] == [f"{MAPS}/a"]


def test_a_closed_client_makes_no_call() -> None:
    async def main() -> None:
        async with AsyncClient(FakeClient()) as client:
            pass
        with pytest.raises(CoroutineCancelledError, match="closed"):
            await client.create(config_map())

    run(main())


def test_a_watch_yields_events_until_the_server_ends_it(
    server: ScriptedServer, client: Client
) -> None:
    """AIO-11."""
    events = [{"type": "ADDED", "object": plain(name)} for name in "ab"]
    server.on(MAPS, watch_begin() + watch_events(*events) + watch_end())

    async def main() -> list[str]:
        async with AsyncClient(client) as requests:
            maps = requests.resource(ConfigMap).namespace("default")
            return [event.object.metadata.name async for event in maps.watch()]

    assert run(main()) == ["a", "b"]


@pytest.mark.parametrize("how", ["ends", "cancel"])
def test_a_command_in_a_container_awaits(
    kube_api_server: EmbeddedAPIServer, kube_client: Client, how: str
) -> None:
    """AIO-07: its connection is cut off as that of every call."""
    begun, may_end = threading.Event(), threading.Event()

    def program(process: PodProcess) -> int:
        process.write("ready\n")
        begun.set()
        may_end.wait(LIMIT)
        return 3

    spec = PodSpec(node_name="n", containers=[Container(name="c", image="i")])
    kube_client.create(Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=spec))
    kube_api_server.provide_programs(PodPrograms(exec=program))

    async def main() -> None:
        async with AsyncClient(kube_client) as requests:
            pods = requests.resource(Pod).namespace("default")
            running = asyncio.create_task(pods.exec("p", ["it"]))
            await wait_for_event(begun)
            if how == "cancel":
                running.cancel()
                await asyncio.wait([running])
                assert running.cancelled()
            else:
                may_end.set()
                result = await running
                assert (result.stdout, result.exit_code) == (b"ready\n", 3)

    try:
        run(main())
    finally:
        may_end.set()


class SilentStream:
    """One event, and then nothing until it is stopped."""

    def __init__(self) -> None:
        self.reads = 0
        self.is_reading, self.stopped = threading.Event(), threading.Event()

    def read(self) -> list[WatchEvent[Any]]:
        self.reads += 1
        if self.reads == 1:
            return [WatchEvent(EventType.ADDED, config_map())]
        self.is_reading.set()
        self.stopped.wait(LIMIT)
        return []

    def stop(self) -> None:
        self.stopped.set()


@pytest.mark.parametrize("how", ["leave", "cancel"])
def test_a_watch_ends_with_its_loop(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AIO-11: also while it reads."""
    stream = SilentStream()
    monkeypatch.setattr(ResourceClient, "watch", lambda *_: stream)

    async def main() -> None:
        async with AsyncClient(FakeClient(), threads=1) as requests:

            async def watch() -> None:
                async with aclosing(requests.resource(ConfigMap).watch()) as events:
                    async for _ in events:
                        if how == "leave":
                            return

            watching = asyncio.create_task(watch())
            if how == "cancel":
                await wait_for_event(stream.is_reading)
                watching.cancel()
            await asyncio.wait([watching])
            assert watching.cancelled() == (how == "cancel")

    run(main())
    assert stream.stopped.is_set()
    assert stream.reads == (1 if how == "leave" else 2), "it reads only what is asked for"
    assert not [t for t in threading.enumerate() if t.name.startswith("watch-")]
