"""An informer beside a bare loop: what the road from the socket to a handler costs.

Both sides read the same bytes from the same server in turn, several times over, so that a ratio
holds when the machine's speed drifts. A clock runs from before anything is connected until the last
object is decoded (the bare loop) or the handler was called for it (the informer); what comes after
that, such as stopping and forgetting, is left out. Beside the ratio of the times there is that of
the processor time of the whole process, which other work on the machine disturbs less.

The bare loop reads with urllib3, decodes with msgspec, and does nothing else: no cache, no index,
no handler. It decodes to dicts; objects with a typed header would take it as long.
"""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import urllib3

from benchmarks.rounds import rounds
from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    QueueChoice,
    SharedIndexInformer,
    meta_namespace_index,
)
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from clientgo.testing.bench.recorded_server import EVENTS, OBJECTS, recorded_server
from sample_controller.types import Foo

ROUNDS = 11
WATCH = "/apis/samplecontroller.k8s.io/v1alpha1/foos?watch=true&sendInitialEvents=true"
LIST = "/apis/samplecontroller.k8s.io/v1alpha1/foos"


class Stopwatch:
    """Seconds, and seconds of processor time, from when it is made until it is stopped."""

    def __init__(self) -> None:
        gc.collect()
        self._started = time.perf_counter(), time.process_time()
        self.wall = self.cpu = 0.0

    def stop(self) -> None:
        self.wall = time.perf_counter() - self._started[0]
        self.cpu = time.process_time() - self._started[1]


Side = Callable[[Stopwatch], None]
"""One side of a comparison: does its work and stops the watch when it is done."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with recorded_server() as url:
        yield url


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["DeltaFIFO", "RealFIFO"])
def test_watching(benchmark: Any, server: str, queue: QueueChoice) -> None:
    """Target: at least 0.6 of the bare loop's events a second."""
    compare(
        benchmark,
        lambda watch: until_told(watch, f"{server}/live", EVENTS, queue=queue),
        lambda watch: read_watch(watch, f"{server}/live", EVENTS),
        EVENTS,
    )


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["DeltaFIFO", "RealFIFO"])
def test_syncing_by_stream(benchmark: Any, server: str, queue: QueueChoice) -> None:
    """Target: at least 0.7 of the bare loop's objects a second."""
    compare(
        benchmark,
        lambda watch: until_told(watch, f"{server}/full", OBJECTS, queue=queue),
        lambda watch: read_watch(watch, f"{server}/full", OBJECTS),
        OBJECTS,
    )


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["DeltaFIFO", "RealFIFO"])
def test_syncing_by_pages(benchmark: Any, server: str, queue: QueueChoice) -> None:
    """Target: at least 0.7 of the bare loop's objects a second."""
    options = {"queue": queue, "stream_initial_list": False}
    compare(
        benchmark,
        lambda watch: until_told(watch, f"{server}/full", OBJECTS, **options),
        lambda watch: read_list(watch, f"{server}/full"),
        OBJECTS,
    )


def compare(benchmark: Any, ours: Side, bare: Side, count: int) -> None:
    timed(ours), timed(bare)  # whatever is done only once is done now
    pairs = [(timed(ours), timed(bare)) for _ in rounds(ROUNDS)]
    benchmark.pedantic(lambda: timed(ours), rounds=1)
    benchmark.extra_info["events/s"] = round(count / statistics.median(o.wall for o, _ in pairs))
    benchmark.extra_info["of the bare loop's rate"] = round(
        statistics.median(b.wall / o.wall for o, b in pairs), 2
    )
    benchmark.extra_info["by processor time"] = round(
        statistics.median(b.cpu / o.cpu for o, b in pairs), 2
    )


def timed(side: Side) -> Stopwatch:
    watch = Stopwatch()
    side(watch)
    return watch


def until_told(watch: Stopwatch, url: str, count: int, **options: Any) -> None:
    """Run an informer with two indexes and one handler until that has been called so often."""
    stop, told = threading.Event(), 0

    def tell(*_: object) -> None:
        nonlocal told
        told += 1
        if told == count:
            watch.stop()
            stop.set()

    with Client(RestConfig(server=url)) as client:
        informer = SharedIndexInformer(
            ResourceListWatch(client.resource(Foo)),
            Foo,
            indexers={
                "namespace": meta_namespace_index,
                "app": by_app,
            },
            **options,
        )
        informer.add_event_handler(on_add=tell, on_update=tell)
        informer.run(stop)


def by_app(foo: Foo) -> list[str]:
    return [foo.metadata.labels["app"]]


def read_watch(watch: Stopwatch, url: str, count: int) -> None:
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
        watch.stop()
        answer.close()


def read_list(watch: Stopwatch, url: str) -> None:
    """Read and decode all pages of a list."""
    token = "0"
    with urllib3.PoolManager() as pool:
        while token:
            answer = pool.request("GET", f"{url}{LIST}?limit=500&continue={token}")
            token = msgspec.json.decode(answer.data)["metadata"]["continue"]
        watch.stop()
