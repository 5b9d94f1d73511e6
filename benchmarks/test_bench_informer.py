"""An informer beside a bare loop: what the road from the socket to a handler costs.

Both sides read the same bytes from the same server in turn, several times over, so that the ratio
holds when the machine's speed drifts. The bare loop reads with urllib3 and decodes with msgspec,
and does nothing else: no cache, no index, no handler.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import urllib3

from benchmarks.recorded_server import EVENTS, OBJECTS, recorded_server
from clientgo.cache import DELTA_FIFO, REAL_FIFO, QueueChoice, SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import labels_of
from clientgo.rest import RestConfig
from sample_controller.types import Foo

ROUNDS = 5
WATCH = "/apis/samplecontroller.k8s.io/v1alpha1/foos?watch=true&sendInitialEvents=true"
LIST = "/apis/samplecontroller.k8s.io/v1alpha1/foos"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with recorded_server() as url:
        yield url


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["DeltaFIFO", "RealFIFO"])
def test_watching(benchmark: Any, server: str, queue: QueueChoice) -> None:
    """Target: at least 0.6 of the bare loop's events a second."""
    compare(
        benchmark,
        lambda: until_told(f"{server}/live", EVENTS, queue=queue),
        lambda: read_watch(f"{server}/live", EVENTS),
        EVENTS,
    )


def test_syncing_by_pages(benchmark: Any, server: str) -> None:
    """Target: at least 0.7 of the bare loop's objects a second."""
    compare(
        benchmark,
        lambda: until_told(f"{server}/full", OBJECTS, stream_initial_list=False),
        lambda: read_list(f"{server}/full"),
        OBJECTS,
    )


def test_syncing_by_stream(benchmark: Any, server: str) -> None:
    """Target: at least 0.7 of the bare loop's objects a second."""
    compare(
        benchmark,
        lambda: until_told(f"{server}/full", OBJECTS),
        lambda: read_watch(f"{server}/full", OBJECTS),
        OBJECTS,
    )


def compare(benchmark: Any, ours: Callable[[], None], bare: Callable[[], None], count: int) -> None:
    pairs = [(seconds(ours), seconds(bare)) for _ in range(ROUNDS)]
    benchmark.pedantic(ours, rounds=1)
    benchmark.extra_info["events/s"] = round(count / statistics.median(o for o, _ in pairs))
    benchmark.extra_info["of the bare loop's rate"] = round(
        statistics.median(b / o for o, b in pairs), 2
    )


def seconds(run: Callable[[], None]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def until_told(url: str, count: int, **options: Any) -> None:
    """Run an informer with two indexes and one handler until that has been called so often."""
    stop, told = threading.Event(), 0

    def tell(*_: object) -> None:
        nonlocal told
        told += 1
        if told == count:
            stop.set()

    with Client(RestConfig(server=url, qps=-1.0)) as client:
        informer = SharedIndexInformer(
            ResourceListWatch(client.resource(Foo)),
            Foo,
            indexers={
                "namespace": lambda foo: [foo.metadata.namespace],
                "app": lambda foo: [labels_of(foo)["app"]],
            },
            **options,
        )
        informer.add_event_handler(on_add=tell, on_update=tell)
        informer.run(stop)


def read_watch(url: str, count: int) -> None:
    """Read and decode so many events."""
    with urllib3.PoolManager() as pool:
        answer = pool.request("GET", url + WATCH, preload_content=False)
        rest = b""
        for chunk in answer.read_chunked():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if msgspec.json.decode(line)["type"] != "BOOKMARK":
                    count -= 1
            if count <= 0:
                break
        answer.close()


def read_list(url: str) -> None:
    """Read and decode all pages of a list."""
    token = ""
    with urllib3.PoolManager() as pool:
        while True:
            answer = pool.request("GET", f"{url}{LIST}?limit=500&continue={token or 0}")
            page = msgspec.json.decode(answer.data)
            token = page["metadata"]["continue"]
            if not token:
                return
