"""What is kept: heap for each object, key and informer, growth over relists, collector pauses."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from benchmarks.grid import Figure, Grid
from benchmarks.store_cells import INDEXES
from clientgo.api.core_v1 import Pod
from clientgo.cache import Delta, DeltaType, Indexer, SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import Codec, Unstructured
from clientgo.rest import RestConfig
from clientgo.testing import bench
from clientgo.testing.bench.objects import SHAPES, foo
from clientgo.testing.bench.recorded_server import event_line
from clientgo.workqueue import ItemExponentialFailureRateLimiter, Queue, RateLimitingQueue


def measure(grid: Grid) -> None:
    """Measure every cell of the layer."""
    gc.collect()
    # What there is already is no part of what is measured. It stays frozen: it lives to the end.
    gc.freeze()
    count = grid.pick(tiny=20, quick=2_000, full=20_000)
    for name, shape, kinds in (
        ("a Foo of 1 KB", "managed foo", {"typed": bench.Foo, "unstructured": Unstructured}),
        ("a pod of 6 KB", "pod", {"typed": Pod, "unstructured": Unstructured}),
    ):
        make = SHAPES[shape].make
        lines = [event_line("ADDED", make(number, number + 1)) for number in range(count)]
        plain = heap(partial(_dicts, lines))
        for form, kind in kinds.items():
            kept = heap(partial(cached, lines, kind))
            ratios = {"dicts": plain / kept}
            _bytes(grid, f"heap for {name}, {form}", count, kept / count, ratios)
    keys = bench.keys(grid.pick(tiny=20, quick=100_000, full=1_000_000))
    _bytes(grid, "heap for a queued key", len(keys), heap(lambda: _queued(keys)) / len(keys))
    keys = bench.keys(grid.pick(tiny=20, quick=10_000, full=100_000))
    left = heap(lambda: _failed(keys)) / len(keys)
    _bytes(grid, "heap that is left by a key that failed three times", len(keys), left)
    _informers(grid)
    _pauses(grid)


def cached(lines: list[bytes], kind: Any) -> Indexer[Any]:
    """Return a store with objects that were decoded from lines of their own."""
    codec: Codec[Any] = Codec(kind)
    indexes: Any = {"namespace": INDEXES["namespace"], "app": INDEXES["app"]}
    store: Indexer[Any] = Indexer(indexers=indexes)
    # bytes() of a bytearray is a copy: each event has its own line, as a stream's reader cuts it.
    for each in lines:
        store.apply([Delta(DeltaType.ADDED, codec.decode_event(bytes(bytearray(each))).object)])
    return store


def _dicts(lines: list[bytes]) -> list[Any]:
    return list(map(msgspec.json.decode, lines))


def _queued(keys: list[str]) -> Queue[str]:
    work = Queue[str]()
    for key in keys:
        work.add(key)
    return work


def _failed(keys: list[str]) -> RateLimitingQueue[str]:
    """Let each key fail three times, and succeed."""
    limiter = ItemExponentialFailureRateLimiter[str](0.0001, 0.001)
    work = RateLimitingQueue[str](limiter)
    for key in keys:
        work.add(key)
    for _ in range(3 * len(keys)):
        key, _ended = work.get()
        work.add_rate_limited(key)
        work.done(key)
    for _ in range(len(keys)):
        key, _ended = work.get()
        work.forget(key)
        work.done(key)
    work.shut_down()
    return work


def heap(fill: Callable[[], object]) -> float:
    gc.collect()
    tracemalloc.start()
    kept = fill()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return float(size)


def _bytes(
    grid: Grid, operation: str, size: int, value: float, ratios: dict[str, float] | None = None
) -> None:
    cell = ("memory", operation, size, "", "clientgo", "bytes")
    grid.add(Figure(*cell, value, value, value, ratios or {}, smaller_is_better=True))


@contextmanager
def _synced(url: str, count: int) -> Iterator[list[SharedIndexInformer[bench.Foo]]]:
    """Run informers of the same kind until the block ends."""
    stop = threading.Event()
    with Client(RestConfig(server=url)) as client:
        informers: list[SharedIndexInformer[bench.Foo]] = [
            SharedIndexInformer(ResourceListWatch(client.resource(bench.Foo)), bench.Foo)
            for _ in range(count)
        ]
        threads = [threading.Thread(target=each.run, args=(stop,)) for each in informers]
        for thread in threads:
            thread.start()
        try:
            for each in informers:
                _wait_for(each.has_synced)
            yield informers
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def _wait_for(seen: Callable[[], bool]) -> None:
    while not seen():
        time.sleep(0.01)


def _informers(grid: Grid) -> None:
    count = grid.pick(tiny=2, quick=20, full=50)
    objects = grid.pick(tiny=20, quick=2_000, full=20_000)
    with bench.recorded_server(objects, objects) as url:
        tracemalloc.start()
        with _synced(f"{url}/brief", count):
            gc.collect()
            idle = tracemalloc.get_traced_memory()[0] / count
        tracemalloc.stop()
        _bytes(grid, "heap for an idle informer", count, idle)
        sizes = []
        tracemalloc.start()
        for _ in range(11):
            with _synced(f"{url}/full", 1):
                kept, peak = tracemalloc.get_traced_memory()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        left = (sizes[-1] - sizes[0]) / 10
        _bytes(grid, "heap that is left by each of 10 relists", objects, left)
        cell = ("memory", "peak of a first list, of what is kept", objects, "", "clientgo", "times")
        ratio = peak / kept
        grid.add(Figure(*cell, ratio, ratio, ratio, smaller_is_better=True))


def _pauses(grid: Grid) -> None:
    count = grid.pick(tiny=50, quick=100_000, full=100_000)
    gc.collect()
    without = _collection()
    lines = (event_line("ADDED", foo(number, number + 1)) for number in range(count))
    codec = Codec(bench.Foo)
    store: Indexer[bench.Foo] = Indexer(indexers={"namespace": INDEXES["namespace"]})
    store.replace([codec.decode_event(each).object for each in lines], "1")
    paused = _collection()
    for name, value in (("with the objects cached", paused), ("without them", without)):
        cell = ("memory", f"full garbage collection {name}", count, "", "clientgo", "ms")
        grid.add(Figure(*cell, value, value, value, smaller_is_better=True))


def _collection() -> float:
    gc.collect()
    took = []
    for _ in range(3):
        started = time.perf_counter()
        gc.collect()
        took.append((time.perf_counter() - started) * 1e3)
    return sorted(took)[1]
