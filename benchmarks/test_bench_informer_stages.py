"""Where the time of an initial list goes: each stage of an informer by itself.

One stage after the other processes the whole list in this thread, each with what the stage before
it made, and is timed by itself; the stages and the bare loop take turns. The figures are
microseconds of processor time for an object: they add up to what an informer takes, less the
threads' taking turns.

    read      a reflector writes into a store that forgets: request, read, cut, decode, read events
    decode    of this, the decoding alone
    queue     DeltaFIFO takes the list and gives it out in batches
    store     batches become changes of a store with two indexes, and notifications
    deliver   a listener calls a handler for each notification
"""

from __future__ import annotations

import statistics
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from benchmarks.rounds import rounds
from benchmarks.store_cells import INDEXES
from clientgo.cache import DeltaFIFO, Indexer, Reflector, meta_namespace_index
from clientgo.cache.informer.controller import DeltaProcessor
from clientgo.cache.informer.handlers import HandlerFuncs
from clientgo.cache.informer.listener import Listener
from clientgo.cache.informer.notifications import Chunk
from clientgo.cache.queues.queue import Deltas
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import Codec
from clientgo.rest import RestConfig
from clientgo.testing.bench import Stopwatch, read_list, read_watch
from clientgo.testing.bench.objects import foo
from clientgo.testing.bench.recorded_server import (
    OBJECTS,
    event_line,
    page_body,
    recorded_server,
)
from clientgo.util.clock import REAL_CLOCK
from sample_controller.types import Foo

ROUNDS = 11
PAGE = 500


class Forgetful:
    """A reflector's store that keeps nothing but the list on its way through."""

    def __init__(self, told: Callable[[], None]) -> None:
        self._told = told
        self.listed: Sequence[Foo] = ()

    def replace(self, objs: Sequence[Foo], _resource_version: str) -> None:
        self.listed = objs
        self._told()

    def apply(self, changes: Sequence[Any]) -> None:
        raise AssertionError("nothing happens after the list")

    add = update = delete = apply

    def resync(self) -> None:
        raise AssertionError("nobody asked for resyncs")


class Stages:
    """An informer taken apart; each method is one stage and stops the watch when it is done."""

    def __init__(self, url: str, *, stream: bool) -> None:
        self._url = url
        self._stream = stream
        foos = [foo(number, number + 1) for number in range(OBJECTS)]
        self._bodies = (
            [event_line("ADDED", obj) for obj in foos]
            if stream
            else [page_body(foos[at : at + PAGE]) for at in range(0, OBJECTS, PAGE)]
        )
        self._listed: Sequence[Foo] = ()
        self._batches: list[Sequence[Deltas]] = []
        self._chunks: list[Chunk] = []

    def read(self, watch: Stopwatch) -> None:
        stop = threading.Event()

        def told() -> None:
            watch.stop()
            stop.set()

        store = Forgetful(told)
        with Client(RestConfig(server=self._url)) as client:
            source = ResourceListWatch(client.resource(Foo))
            Reflector(source, store, expected=Foo, stream_initial_list=self._stream).run(stop)
        self._listed = store.listed

    def decode(self, watch: Stopwatch) -> None:
        codec = Codec(Foo)
        decode: Callable[[bytes], object] = (
            codec.decode_event if self._stream else codec.decode_list
        )
        kept = [decode(body) for body in self._bodies]
        watch.stop()
        assert len(kept) == len(self._bodies)

    def queue(self, watch: Stopwatch) -> None:
        queue = DeltaFIFO(known_objects=Indexer())
        batches: list[Sequence[Deltas]] = []
        queue.replace(self._listed, "1")
        while not queue.has_synced():
            queue.pop_batch(lambda batch, _initial: batches.append(batch))
        watch.stop()
        self._batches = batches

    def store(self, watch: Stopwatch) -> None:
        chunks: list[Chunk] = []
        store = Indexer[Foo](indexers={"namespace": meta_namespace_index, "app": INDEXES["app"]})
        processor = DeltaProcessor(store, chunks.append, quarantine=QuarantineLog("stage"))
        for batch in self._batches:
            processor.process(batch, is_in_initial_list=True)
        watch.stop()
        self._chunks = chunks

    def deliver(self, watch: Stopwatch) -> None:
        told = 0

        def tell(_foo: Foo) -> None:
            nonlocal told
            told += 1

        listener = Listener(HandlerFuncs(on_add=tell), name="stage", clock=REAL_CLOCK)
        listener.start()
        for chunk in self._chunks:
            listener.hand_over(chunk)
        listener.wait_until_idle()
        watch.stop()
        listener.close()
        listener.join()
        assert told == OBJECTS


def timed(part: Callable[[Stopwatch], None]) -> Stopwatch:
    watch = Stopwatch()
    part(watch)
    return watch


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with recorded_server() as url:
        yield f"{url}/full"


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "pages"])
def test_initial_list(benchmark: Any, server: str, stream: bool) -> None:
    stages = Stages(server, stream=stream)
    parts: dict[str, Callable[[Stopwatch], None]] = {
        "read": stages.read,
        "decode": stages.decode,
        "queue": stages.queue,
        "store": stages.store,
        "deliver": stages.deliver,
    }
    taken: dict[str, list[float]] = defaultdict(list)
    for _ in rounds(ROUNDS):
        for name, part in parts.items():
            taken[name].append(timed(part).cpu)
        bare = read_watch(server, OBJECTS) if stream else read_list(server)
        taken["bare loop"].append(bare.cpu)
    benchmark.pedantic(lambda: timed(stages.read), rounds=1)
    for name, seconds in taken.items():
        benchmark.extra_info[f"µs: {name}"] = round(statistics.median(seconds) / OBJECTS * 1e6, 2)
