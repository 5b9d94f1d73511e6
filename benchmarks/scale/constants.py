"""Measure the constants of the model: small parts by themselves, the rest with whole informers.

Each is the median of several rounds. What an object or an event costs is that of a whole informer
with one handler and no index, less the handler.
"""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchmarks.memory_cells import heap
from benchmarks.scale.model import Constants
from benchmarks.scale.run import INDEXES, Measured, Setup, run_apart
from clientgo.cache import Delta, DeltaType, Indexer, meta_namespace_key
from clientgo.cache.informer.handlers import HandlerFuncs
from clientgo.cache.informer.listener import Listener
from clientgo.cache.informer.notifications import Chunk, Kind
from clientgo.meta import Codec
from clientgo.testing import bench
from clientgo.testing.bench.objects import foo
from clientgo.testing.bench.recorded_server import event_line
from clientgo.util.clock import REAL_CLOCK
from clientgo.workqueue import Queue

SMALL, LARGE = 500, 5_500
"""Lengths of a note: Foos of 1 KB and of 6 KB."""

BATCH = 64
WORKERS = 4


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    objects: int = 10_000
    rounds: int = 3
    paced: int = 1_000
    rate: int = 500


def json_size(note: int) -> int:
    """Return the bytes of a Foo."""
    return len(event_line("ADDED", foo(1000, 1001, note))) - len(event_line("ADDED", {})) + 2


def measure(sizes: Sizes, run: Callable[[Setup], Measured] = run_apart) -> Constants:
    """Return the constants of this machine."""
    count = sizes.objects
    small, large = _whole(sizes, SMALL, run), _whole(sizes, LARGE, run)
    many = _whole(replace(sizes, objects=10 * count, paced=0), SMALL, run)
    kilobytes = (json_size(LARGE) - json_size(SMALL)) / 1e3
    handler = middle(sizes, partial(_deliver, _decoded(count, SMALL)), count)
    bare = middle(sizes, lambda: _write(_decoded(count, SMALL), 0), count)
    indexed = middle(sizes, lambda: _write(_decoded(count, SMALL), 3), count)
    reads = [
        middle(sizes, lambda n=note: _read(_decoded(count, n)), count) for note in (SMALL, LARGE)
    ]
    growths = [
        _rewrite(sizes, 10 * count, indexes) - _rewrite(sizes, count, indexes) for indexes in (0, 3)
    ]
    heaps = [_kept(count, note, 0) for note in (SMALL, LARGE)]
    read_heaps = [_kept(count, note, 0, read=True) for note in (SMALL, LARGE)]

    def split(of_small: float, of_large: float, other: float = 0.0) -> tuple[float, float]:
        """Return what any object takes, and what each 1,000 bytes take."""
        for_kb = max(of_large - of_small, 0.0) / kilobytes
        return max(of_small - other - for_kb * json_size(SMALL) / 1e3, 0.0), for_kb

    listed = split(small.first_list, large.first_list, handler)
    event = split(small.event, large.event, handler)
    relist = split(small.relist, large.relist, handler)
    body, memory = split(*reads), split(*heaps)
    read_memory = split(*(after - before for after, before in zip(read_heaps, heaps, strict=True)))
    return Constants(
        list=listed[0],
        list_kb=listed[1],
        event=event[0],
        event_kb=event[1],
        wakeup=max(small.paced_event - small.event, 0.0),
        index=max(indexed - bare, 0.0) / 3,
        handler=handler,
        queue=middle(sizes, partial(_queue, _decoded(count, SMALL)), count),
        body=body[0],
        body_kb=body[1],
        relist=relist[0],
        relist_kb=relist[1],
        resync=max(small.resync - handler, 0.0),
        heap=memory[0],
        heap_kb=memory[1],
        heap_body=read_memory[0],
        heap_body_kb=read_memory[1],
        heap_index=max(_kept(count, SMALL, 2) - heaps[0], 0.0) / 2,
        event_tenfold=max(many.event - small.event, 0.0),
        index_tenfold=max(growths[1] - growths[0], 0.0) / 3,
        objects=count,
    )


def _whole(sizes: Sizes, note: int, run: Callable[[Setup], Measured]) -> Measured:
    """Run whole informers and keep the median of each figure."""
    setup = Setup(
        objects=sizes.objects, note=note, events=sizes.objects, paced=sizes.paced, rate=sizes.rate
    )
    runs = [run(setup) for _ in range(sizes.rounds)]
    names = ("first_list", "event", "paced_event", "relist", "resync")
    return Measured(
        **{name: sorted(getattr(each, name) for each in runs)[len(runs) // 2] for name in names}
    )


def middle(sizes: Sizes, part: Callable[[], float], count: int) -> float:
    """Return the median seconds for one of ``count``."""
    taken = sorted(part() for _ in range(sizes.rounds))
    return taken[len(taken) // 2] / count


def _decoded(count: int, note: int) -> list[Any]:
    """Return objects none of whose bodies was read."""
    codec = Codec(bench.Foo)
    lines = (event_line("ADDED", foo(number, number + 1, note)) for number in range(count))
    return [codec.decode_event(line).object for line in lines]


def _write(foos: list[Any], indexes: int) -> float:
    """Write batches into a store, as an informer does."""
    store: Indexer[Any] = Indexer(indexers=dict(list(INDEXES.items())[:indexes]))
    began = time.process_time()
    for start in range(0, len(foos), BATCH):
        store.apply([Delta(DeltaType.ADDED, obj) for obj in foos[start : start + BATCH]])
    return time.process_time() - began


def _rewrite(sizes: Sizes, count: int, indexes: int) -> float:
    """Replace each object of a store, none after its neighbour; return the median seconds of one.

    What was replaced is freed meanwhile.
    """
    store: Indexer[Any] = Indexer(indexers=dict(list(INDEXES.items())[:indexes]))
    store.replace(_decoded(count, SMALL), "1")

    def rewrite() -> float:
        spent, foos = 0.0, _decoded(count, SMALL)
        for start in range(0, count, BATCH):
            places = range(start, min(start + BATCH, count))
            changes = [Delta(DeltaType.UPDATED, foos[place * 7919 % count]) for place in places]
            began = time.process_time()
            store.apply(changes)
            spent += time.process_time() - began
        return spent

    return middle(sizes, rewrite, count)


def _deliver(foos: list[Any]) -> float:
    listener = Listener(HandlerFuncs(on_add=lambda _foo: None), name="scale", clock=REAL_CLOCK)
    chunks = [
        Chunk([(Kind.ADD, obj, False) for obj in foos[start : start + BATCH]])
        for start in range(0, len(foos), BATCH)
    ]
    listener.start()
    began = time.process_time()
    for chunk in chunks:
        listener.hand_over(chunk)
    listener.wait_until_idle()
    taken = time.process_time() - began
    listener.close()
    listener.join()
    return taken


def _queue(foos: list[Any]) -> float:
    """Queue keys in one thread; take them and look objects up in others."""
    store: Indexer[Any] = Indexer()
    store.replace(foos, "1")
    work = Queue[str]()

    def take() -> None:
        while True:
            key, ended = work.get()
            if ended:
                return
            store.get_by_key(key)
            work.done(key)

    threads = [threading.Thread(target=take) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    began = time.process_time()
    for obj in foos:
        work.add(meta_namespace_key(obj))
    work.shut_down()
    for thread in threads:
        thread.join()
    return time.process_time() - began


def _read(foos: list[Any]) -> float:
    began = time.process_time()
    for obj in foos:
        _ = obj.spec.replicas
    return time.process_time() - began


def _kept(count: int, note: int, indexes: int, *, read: bool = False) -> float:
    """Return the bytes that are kept of an object."""

    def fill() -> Indexer[Any]:
        store: Indexer[Any] = Indexer(indexers=dict(list(INDEXES.items())[:indexes]))
        codec = Codec(bench.Foo)
        for number in range(count):
            line = event_line("ADDED", foo(number, number + 1, note))
            obj = codec.decode_event(line).object
            store.apply([Delta(DeltaType.ADDED, obj)])
            if read:
                _ = obj.spec.replicas
        return store

    assert not tracemalloc.is_tracing()
    return heap(fill) / count
