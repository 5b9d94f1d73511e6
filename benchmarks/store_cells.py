"""The indexer beside a dict, which has no lock, no index and no keys of its own: the floor."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.grid import Figure, Grid
from clientgo.cache import (
    Delta,
    DeltaFIFO,
    DeltaType,
    Indexer,
    Lister,
    RealFIFO,
    meta_namespace_index,
)
from clientgo.meta import Codec, resource_of
from clientgo.testing.bench import Foo

BATCH = 64
Batch = list[Delta]
INDEXES = {
    "namespace": meta_namespace_index,
    "app": lambda obj: [obj.metadata.labels["app"]],
    "tier": lambda obj: [obj.metadata.labels["tier"]],
}


def measure(grid: Grid) -> None:
    """Measure every cell of the layer."""
    for size in grid.pick(tiny=[50], quick=[20_000], full=[1_000, 10_000, 100_000, 1_000_000]):
        foos = decoded(size)
        batches = [
            [Delta(DeltaType.UPDATED, obj) for obj in foos[start : start + BATCH]]
            for start in range(0, size, BATCH)
        ]
        writes: dict[str, Callable[[], float]] = {
            f"Indexer, {count} indexes": partial(_apply, batches, count) for count in range(4)
        }
        writes["dict"] = partial(_into_dict, foos)
        grid.compare("store", "add", size, writes, peers=["dict"])
        stores = {count: filled(foos, count) for count in (0, 2)}
        again: dict[str, Callable[[], float]] = {
            f"Indexer, {count} indexes": partial(_apply, batches, count, store)
            for count, store in stores.items()
        }
        grid.compare("store", "update", size, again)
        _reads(grid, foos, stores[2])
        changes: dict[str, Callable[[], float]] = {
            "DeltaFIFO": partial(_through, DeltaFIFO, batches),
            "RealFIFO": partial(_through, RealFIFO, batches),
            "deque": partial(_through_deque, batches),
        }
        grid.compare("store", "queue of changes", size, changes, peers=["deque"])
    _contended(grid)


def decoded(count: int) -> list[Foo]:
    """Return objects as they come off the wire."""
    codec = Codec(Foo)
    return [
        codec.decode(
            b'{"metadata":{"name":"foo-%d","namespace":"ns-%d","resourceVersion":"%d",'
            b'"labels":{"app":"web-%d","tier":"t%d"}},"spec":{"replicas":3,"note":"%s"}}'
            % (n, n % 10, n + 1, n % 50, n % 3, b"x" * 500)
        )
        for n in range(count)
    ]


def filled(foos: list[Foo], indexes: int) -> Indexer[Foo]:
    """Return a store with the objects and so many indexes."""
    store: Indexer[Foo] = Indexer(indexers=dict(list(INDEXES.items())[:indexes]))
    store.replace(foos, "1")
    return store


def _apply(batches: list[Batch], indexes: int, store: Indexer[Foo] | None = None) -> float:
    store = filled([], indexes) if store is None else store
    started = time.perf_counter()
    for batch in batches:
        store.apply(batch)
    return time.perf_counter() - started


def _into_dict(foos: list[Foo]) -> float:
    store: dict[str, Foo] = {}
    started = time.perf_counter()
    for obj in foos:
        store[f"{obj.metadata.namespace}/{obj.metadata.name}"] = obj
    return time.perf_counter() - started


def _through(make: Callable[[], Any], batches: list[Batch]) -> float:
    queue = make()
    started = time.perf_counter()
    for batch in batches:
        queue.apply(batch)
        queue.pop_batch(lambda _batch, _initial: None)
    return time.perf_counter() - started


def _through_deque(batches: list[Batch]) -> float:
    queue: deque[Any] = deque()
    started = time.perf_counter()
    for batch in batches:
        for change in batch:
            queue.append(change)
        while queue:
            queue.popleft()
    return time.perf_counter() - started


def _reads(grid: Grid, foos: list[Foo], store: Indexer[Foo]) -> None:
    plain = {f"{obj.metadata.namespace}/{obj.metadata.name}": obj for obj in foos}
    lister = Lister(store, resource_of(Foo))
    label = foos[0].metadata.labels["app"]
    sides: dict[str, Callable[[], object]] = {
        "Lister, a namespace": lambda: lister.namespace("ns-3").list(),
        "by_index, a label": lambda: store.by_index("app", label),
        "dict, all looked at": lambda: [
            obj for obj in plain.values() if obj.metadata.namespace == "ns-3"
        ],
    }
    timed = {name: partial(_repeated, read) for name, read in sides.items()}
    peers = ["dict, all looked at"]
    grid.compare("store", "list a part", len(foos), timed, peers=peers, unit="lists/s", count=1)


def _repeated(read: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(5):
        read()
    return (time.perf_counter() - started) / 5


def _contended(grid: Grid) -> None:
    """Measure one writer beside readers: its waits are what makes caches stale."""
    size = grid.pick(tiny=50, quick=10_000, full=10_000)
    foos = decoded(size)
    batches = [
        [Delta(DeltaType.UPDATED, obj) for obj in foos[start : start + BATCH]]
        for start in range(0, min(size, 20 * BATCH), BATCH)
    ]
    for readers in grid.pick(tiny=[1], quick=[0, 4], full=[0, 1, 4, 16]):
        store = filled(foos, 1)
        ended = threading.Event()

        def read(store: Indexer[Foo] = store, ended: threading.Event = ended) -> None:
            while not ended.is_set():
                store.by_index("namespace", "ns-3")

        threads = [threading.Thread(target=read) for _ in range(readers)]
        for thread in threads:
            thread.start()
        waits = []
        for batch in batches:
            started = time.perf_counter()
            store.apply(batch)
            waits.append((time.perf_counter() - started) * 1e3)
        ended.set()
        for thread in threads:
            thread.join()
        waits.sort()
        middle = waits[len(waits) // 2]
        name = f"{readers} readers"
        cell = ("store", f"apply {BATCH} changes", size, name, "Indexer", "ms")
        grid.add(Figure(*cell, middle, waits[0], waits[-1], smaller_is_better=True))
