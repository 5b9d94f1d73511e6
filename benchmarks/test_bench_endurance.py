"""What an informer leaves behind when it reconnects, and what it costs when nothing happens."""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from clientgo.cache import SharedIndexInformer, wait_for_cache_sync
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from clientgo.testing.bench.recorded_server import recorded_server
from sample_controller.demo import running
from sample_controller.types import Foo

WARM_UP = 200
RECONNECTS = 1_000
INFORMERS = 50
SECONDS_IDLE = 5.0


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with recorded_server() as url:
        yield url


def footprint() -> tuple[int, int, int]:
    """Bytes of heap, open files, threads."""
    gc.collect()
    heap, _ = tracemalloc.get_traced_memory()
    return heap, len(os.listdir("/proc/self/fd")), threading.active_count()


def test_a_thousand_reconnects(benchmark: Any, server: str) -> None:
    """Target: no socket, no thread, no growing memory."""
    stop, told, seen = threading.Event(), 0, {}

    def tell(*_: object) -> None:
        nonlocal told
        told += 1
        if told in (WARM_UP, WARM_UP + RECONNECTS):
            seen[told] = footprint()
        if told == WARM_UP + RECONNECTS:
            stop.set()

    with Client(RestConfig(server=f"{server}/brief")) as client:
        source = ResourceListWatch(client.resource(Foo))
        informer = SharedIndexInformer(source, Foo, stream_initial_list=False)
        informer.add_event_handler(on_update=tell)
        tracemalloc.start()
        benchmark.pedantic(lambda: informer.run(stop), rounds=1)
        tracemalloc.stop()
    before, after = seen[WARM_UP], seen[WARM_UP + RECONNECTS]
    for name, was, now in zip(("bytes", "open files", "threads"), before, after, strict=True):
        benchmark.extra_info[f"more {name}"] = now - was


def test_fifty_idle_informers(benchmark: Any, server: str) -> None:
    """Target: less than 1 % of a core."""
    stop = threading.Event()
    with ExitStack() as stack:
        client = stack.enter_context(Client(RestConfig(server=f"{server}/full")))
        source = ResourceListWatch(client.resource(Foo))
        informers = [SharedIndexInformer(source, Foo) for _ in range(INFORMERS)]
        for informer in informers:
            stack.enter_context(running("informer", informer.run))
        assert wait_for_cache_sync(stop, *informers)
        used, started = time.process_time(), time.monotonic()
        benchmark.pedantic(lambda: stop.wait(SECONDS_IDLE), rounds=1)
        used, lasted = time.process_time() - used, time.monotonic() - started
    benchmark.extra_info["% of a core"] = round(100 * used / lasted, 2)
