"""Stores and queues of changes beside the dict and the deque that one would write by hand.

Each group has its peer in the same run; "nanoseconds an item" is what to compare. Batches are as
large as what one read of a watch brings in. The peers have no lock, no index and no keys of their
own, so they are the floor, not an alternative.
"""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import (
    DeltaFIFO,
    DeltaType,
    Indexer,
    Lister,
    RealFIFO,
    meta_namespace_index,
)
from clientgo.meta import Codec, Model, Resource, parse_label_selector, resource, resource_of

ITEMS = 20_000
BATCH = 64
NAMES = 5_000


class FooSpec(Model):
    replicas: int = 1


@resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
class Foo(Resource):
    spec: FooSpec = FooSpec()


def decoded(count: int, names: int = NAMES, namespaces: int = 10) -> list[Foo]:
    """Objects as they come off the wire."""
    codec = Codec(Foo)
    return [
        codec.decode(
            b'{"metadata":{"name":"foo-%d","namespace":"ns-%d","resourceVersion":"%d",'
            b'"labels":{"app":"web-%d"}},"spec":{"replicas":3,"note":"%s"}}'
            % (n % names, n % namespaces, n, n % 50, b"x" * 500)
        )
        for n in range(count)
    ]


def by_app(obj: Foo) -> list[str]:
    return [obj.metadata.labels["app"]]


FOOS = decoded(ITEMS)
BATCHES = [
    [(DeltaType.UPDATED, obj) for obj in FOOS[start : start + BATCH]]
    for start in range(0, ITEMS, BATCH)
]


def report(benchmark: Any, items: int = ITEMS) -> None:
    benchmark.extra_info["nanoseconds an item"] = round(benchmark.stats["min"] / items * 1e9)


def through_queue(make: Callable[[], Any]) -> None:
    queue = make()
    for changes in BATCHES:
        queue.apply(changes)
        queue.pop_batch(lambda batch, initial: None)


def one_by_one(make: Callable[[], Any]) -> None:
    queue = make()
    for obj in FOOS:
        queue.add(obj)
        queue.pop(lambda deltas, initial: None)


def through_deque() -> None:
    queue: deque[Any] = deque()
    for changes in BATCHES:
        for change in changes:
            queue.append(change)
        while queue:
            queue.popleft()


QUEUES: dict[str, Callable[[], None]] = {
    "deque": through_deque,
    "DeltaFIFO, batches": lambda: through_queue(DeltaFIFO),
    "RealFIFO, batches": lambda: through_queue(RealFIFO),
    "DeltaFIFO, one by one": lambda: one_by_one(DeltaFIFO),
    "RealFIFO, one by one": lambda: one_by_one(RealFIFO),
}


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.benchmark(group=f"queue of changes, {ITEMS} changes in and out")
def test_queue(benchmark, queue):
    benchmark.pedantic(QUEUES[queue], rounds=7, warmup_rounds=1)
    report(benchmark)


def into_dict() -> None:
    store: dict[str, Foo] = {}
    for changes in BATCHES:
        for _, obj in changes:
            store[f"{obj.metadata.namespace}/{obj.metadata.name}"] = obj


def into_indexer(**indexers: Any) -> None:
    store: Indexer[Foo] = Indexer(indexers=indexers)
    for changes in BATCHES:
        store.apply(changes)


def into_indexer_one_by_one() -> None:
    store: Indexer[Foo] = Indexer(indexers={"namespace": meta_namespace_index})
    for obj in FOOS:
        store.update(obj)


STORES: dict[str, Callable[[], None]] = {
    "dict": into_dict,
    "no index": into_indexer,
    "namespace": lambda: into_indexer(namespace=meta_namespace_index),
    "namespace and label": lambda: into_indexer(namespace=meta_namespace_index, app=by_app),
    "namespace, one by one": into_indexer_one_by_one,
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.benchmark(group=f"store, {ITEMS} writes")
def test_store_writes(benchmark, store):
    benchmark.pedantic(STORES[store], rounds=7, warmup_rounds=1)
    report(benchmark)


READS: dict[str, Callable[[Indexer[Foo], dict[str, Foo]], object]] = {
    "dict values": lambda store, plain: list(plain.values()),
    "list": lambda store, plain: store.list(),
    "by_index, all of it": lambda store, plain: store.by_index("all", "all"),
    "lister, label selector": lambda store, plain: Lister(store, resource_of(Foo)).list(SELECTOR),
}
SELECTOR = parse_label_selector("app=web-7")


@pytest.mark.parametrize("size", [1_000, 100_000])
@pytest.mark.parametrize("read", READS)
@pytest.mark.benchmark(group="store, listing")
def test_store_reads(benchmark, read, size):
    foos = decoded(size, names=size)
    store: Indexer[Foo] = Indexer(indexers={"all": lambda obj: ["all"]})
    store.replace(foos, "1")
    plain = {f"{obj.metadata.namespace}/{obj.metadata.name}": obj for obj in foos}

    benchmark.pedantic(READS[read], args=(store, plain), rounds=7, warmup_rounds=1)
    report(benchmark, size)


@pytest.mark.parametrize("readers", [0, 1, 4, 16])
@pytest.mark.benchmark(group="store, one writer and readers that list a namespace of 1,000")
def test_one_writer_among_readers(benchmark, readers):
    """How long the only writer waits for its lock is what makes caches stale in big clusters."""
    store: Indexer[Foo] = Indexer(indexers={"namespace": meta_namespace_index})
    store.replace(decoded(10_000, names=10_000), "1")
    done = threading.Event()
    reads = [0] * readers

    def read(own: int) -> None:
        while not done.is_set():
            store.by_index("namespace", "ns-3")
            reads[own] += 1

    threads = [threading.Thread(target=read, args=(own,), daemon=True) for own in range(readers)]
    for thread in threads:
        thread.start()
    waits: list[float] = []

    def write() -> None:
        for changes in BATCHES[:20]:
            started = time.perf_counter()
            store.apply(changes)
            waits.append(time.perf_counter() - started)

    benchmark.pedantic(write, rounds=3)
    done.set()
    for thread in threads:
        thread.join()
    benchmark.extra_info["milliseconds a batch, median"] = round(statistics.median(waits) * 1e3, 2)
    benchmark.extra_info["milliseconds a batch, worst"] = round(max(waits) * 1e3, 2)
    benchmark.extra_info["reads"] = sum(reads)


@pytest.mark.benchmark(group="store, a full garbage collection with 100,000 objects")
@pytest.mark.parametrize("holder", ["nothing", "indexer"])
def test_garbage_collection(benchmark, holder):
    store: Indexer[Foo] = Indexer(indexers={"namespace": meta_namespace_index, "app": by_app})
    if holder == "indexer":
        store.replace(decoded(100_000, names=100_000), "1")
    gc.collect()
    benchmark.pedantic(gc.collect, rounds=7)
