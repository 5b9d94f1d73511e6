"""An informer beside bare loops over the same bytes; the cost of decoding; byte to handler."""

from __future__ import annotations

import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks import bare_loops, peer_cells
from benchmarks.bare_loops import KEEPING, TO_DICTS, TO_STRUCTS
from benchmarks.grid import Figure, Grid
from clientgo.api.core_v1 import Pod
from clientgo.cache import REAL_FIFO, SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import Codec, Unstructured
from clientgo.rest import RestConfig
from clientgo.testing import bench
from clientgo.testing.bench.objects import SHAPES
from clientgo.testing.bench.recorded_server import event_line

KINDS: dict[str, tuple[str, Any]] = {
    "Foos of 1 KB": ("managed foo", bench.Foo),
    "pods of 6 KB": ("pod", Pod),
}
"""The shape and the type of each kind that is measured."""

Read = Callable[[Any], object]
READS: dict[str, tuple[Read, Read]] = {
    "header": (lambda _: None, lambda _: None),
    "spec read": (lambda obj: obj.spec, lambda obj: obj["spec"]),
    "all read": (
        lambda obj: (obj.spec, obj.status, obj.metadata.managed_fields),
        lambda obj: obj.to_dict(),
    ),
}
"""What a handler does with a typed object, and with an unstructured one."""


def measure(grid: Grid) -> None:
    """Measure every cell of the layer."""
    rate = 0.0
    for kind in grid.pick(tiny=list(KINDS), quick=["Foos of 1 KB"], full=list(KINDS)):
        count = grid.pick(tiny=20, quick=4_000, full=10_000)
        with bench.recorded_server(count, 2 * count, KINDS[kind][0]) as url:
            rate = max(rate, _watch(grid, kind, url, 2 * count))
            _first_list(grid, kind, url, count)
        _decoding(grid, kind)
    peer_cells.measure(grid)
    _latency(grid, rate)


def _watch(grid: Grid, kind: str, url: str, events: int) -> float:
    """Return how many events a second the informer handled by their headers."""
    shape, type_ = KINDS[kind]
    sides = bare_loops.watches(f"{url}/live", SHAPES[shape], events)
    for number, form in enumerate(("typed", "unstructured")):
        for what, reads in READS.items():
            settings: dict[str, Any] = {"typed": not number, "read": reads[number]}
            side = partial(_informer, f"{url}/live", events, kind=type_, **settings)
            sides[f"informer, {form}, {what}"] = side
    real = partial(_informer, f"{url}/live", events, kind=type_, queue=REAL_FIFO)
    sides["informer, typed, header, RealFIFO"] = real
    peers = [TO_DICTS, TO_STRUCTS, KEEPING]
    found = grid.compare("informer", f"watch, {kind}", events, sides, peers=peers, unit="events/s")
    return found.rate("informer, typed, header")


def _first_list(grid: Grid, kind: str, url: str, count: int) -> None:
    shape, type_ = KINDS[kind]
    for how, streamed, sides in (
        ("streamed", True, bare_loops.watches(f"{url}/full", SHAPES[shape], count)),
        ("in pages", False, bare_loops.lists(f"{url}/full", SHAPES[shape])),
    ):
        for form in ("typed", "unstructured"):
            settings: dict[str, Any] = {
                "typed": form == "typed", "stream_initial_list": streamed, "kind": type_
            }  # fmt: skip
            sides[f"informer, {form}"] = partial(_informer, f"{url}/full", count, **settings)
        operation = f"first list {how}, {kind}"
        peers = [TO_DICTS, TO_STRUCTS, KEEPING]
        grid.compare("informer", operation, count, sides, peers=peers, unit="objects/s")


def _informer(url: str, count: int, **settings: Any) -> bench.Stopwatch:
    return bench.sync_informer(url, count, **settings)


def _decoding(grid: Grid, kind: str) -> None:
    """Measure the first read of a body beside the decoding of its event's header."""
    count = grid.pick(tiny=20, quick=2_000, full=5_000)
    shape, type_ = KINDS[kind]
    lines = [event_line("ADDED", SHAPES[shape].make(each, each + 1)) for each in range(count)]
    for form, codec, reads in (
        ("typed", Codec(type_), [each[0] for each in READS.values()]),
        ("unstructured", Codec(Unstructured), [each[1] for each in READS.values()]),
    ):
        name = f"header of an event, {form}"
        sides = {name: partial(_decode, codec, lines, None)}
        for what, read in zip(READS, reads, strict=True):
            if what != "header":
                sides[f"first read of it, {form}, {what}"] = partial(_decode, codec, lines, read)
        grid.compare("informer", f"decoding, {kind}, {form}", count, sides, peers=[name])


def _decode(codec: Codec[Any], lines: list[bytes], read: Read | None) -> float:
    """Decode the headers; return the seconds of that, or of reading the objects after it."""
    started = time.perf_counter()
    objects = [codec.decode_event(line).object for line in lines]
    if read is not None:
        started = time.perf_counter()
        for each in objects:
            read(each)
    return time.perf_counter() - started


def _latency(grid: Grid, most: float) -> None:
    """Measure from the byte that is sent to the handler, at parts of the most events a second."""
    seconds = grid.pick(tiny=0.1, quick=2.0, full=10.0)
    with bench.recorded_server(1, 1) as url:
        for load, part in (("1 %", 0.01), ("80 %", 0.8)):
            rate = max(int(most * part), 100)
            sent = ("informer", f"events sent at {load} load", 0, "", "recorded server", "events/s")
            grid.add(Figure(*sent, rate, rate, rate, is_peer=True))
            for where, cpus in _places().items():
                with _running_on(cpus):
                    waits = sorted(_waits(f"{url}/paced-{rate}", int(rate * seconds)))
                for name, share in (("p50", 0.5), ("p99", 0.99)):
                    value = waits[int(share * (len(waits) - 1))]
                    cell = ("informer", f"byte to handler, {name}, {load} load{where}", 0, "")
                    extremes = (value, waits[0], waits[-1])
                    grid.add(Figure(*cell, "informer", "ms", *extremes, smaller_is_better=True))


def _places() -> dict[str, set[int]]:
    """Return where the informer runs: on all processors, and on one where that can be asked."""
    if sys.platform != "linux":
        return {"": set()}
    every = os.sched_getaffinity(0)
    return {"": every, ", one processor": {max(every)}}


@contextmanager
def _running_on(cpus: set[int]) -> Iterator[None]:
    """Keep this thread, and those that it starts, on some processors."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _waits(url: str, count: int) -> list[float]:
    """Return the milliseconds of each event; the first tenth is left out."""
    # An array, because the garbage collector visits each item of a list.
    stop, waits = threading.Event(), array("d")

    def handle(*objects: Any) -> None:
        waits.append((time.monotonic_ns() - int(objects[-1].metadata.labels["sent"])) / 1e6)
        if len(waits) >= count:
            stop.set()

    with Client(RestConfig(server=url)) as client:
        informer: SharedIndexInformer[bench.Foo] = SharedIndexInformer(
            ResourceListWatch(client.resource(bench.Foo)), bench.Foo
        )
        informer.add_event_handler(on_add=handle, on_update=handle)
        informer.run(stop)
    return [*waits[len(waits) // 10 :]]
