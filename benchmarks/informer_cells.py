"""An informer beside a bare loop over the same bytes, and beside the watches of other clients."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from benchmarks.grid import Figure, Grid
from benchmarks.peers import PEERS
from clientgo.cache import REAL_FIFO, SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from clientgo.testing import bench

BARE = "bare loop to dicts"
PEER_TIMEOUT = 120.0


def measure(grid: Grid) -> None:
    """Measure every cell of the layer."""
    count = grid.pick(tiny=20, quick=5_000, full=20_000)
    for kind, note in grid.pick(
        tiny=[("Foos of 1 KB", 500)],
        quick=[("Foos of 1 KB", 500)],
        full=[("Foos of 1 KB", 500), ("Foos of 6 KB", 5_500)],
    ):
        with bench.recorded_server(count, 2 * count, note) as url:
            _beside_bare_loop(grid, kind, url, count)
        if note == 500:
            count = grid.pick(tiny=20, quick=10_000, full=20_000)
            with bench.recorded_server(count, 4 * count) as url:
                _beside_peers(grid, url, 2 * count)
    _latency(grid)


READS: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    "header": (lambda _: None, lambda _: None),
    "spec read": (lambda foo: foo.spec.replicas, lambda foo: foo["spec"]["replicas"]),
    "all read": (
        lambda foo: msgspec.to_builtins(foo.spec),
        lambda foo: foo.to_dict(),
    ),
}


def _beside_bare_loop(grid: Grid, kind: str, url: str, count: int) -> None:
    sides: dict[str, Callable[[], float]] = {BARE: partial(_bare_watch, f"{url}/live", 2 * count)}
    for form, number in (("typed", 0), ("unstructured", 1)):
        for what, reads in READS.items():
            settings: dict[str, Any] = {"typed": form == "typed", "read": reads[number]}
            side = partial(_informer, f"{url}/live", 2 * count, **settings)
            sides[f"informer, {form}, {what}"] = side
    real = partial(_informer, f"{url}/live", 2 * count, queue=REAL_FIFO)
    sides["informer, typed, header, RealFIFO"] = real
    operation = f"watch, {kind}"
    grid.compare("informer", operation, 2 * count, sides, peers=[BARE], unit="events/s")
    for how, streamed, bare in (
        ("streamed", True, partial(_bare_watch, f"{url}/full", count)),
        ("in pages", False, partial(_bare_list, f"{url}/full")),
    ):
        sides = {BARE: bare}
        for form in ("typed", "unstructured"):
            settings = {"typed": form == "typed", "stream_initial_list": streamed}
            sides[f"informer, {form}"] = partial(_informer, f"{url}/full", count, **settings)
        operation = f"first list {how}, {kind}"
        grid.compare("informer", operation, count, sides, peers=[BARE], unit="objects/s")


def _informer(url: str, count: int, **settings: Any) -> float:
    return bench.sync_informer(url, count, **settings).wall


def _bare_watch(url: str, count: int) -> float:
    return bench.read_watch(url, count).wall


def _bare_list(url: str) -> float:
    return bench.read_list(url).wall


def _beside_peers(grid: Grid, url: str, count: int) -> None:
    """Run each client in a process of its own, in turn, and ours as one of them."""
    rounds = grid.pick(tiny=1, quick=3, full=7)
    names = [name for name in PEERS if name == "clientgo" or grid.scale != "tiny"]
    found: dict[str, list[dict[str, float]]] = {}
    for number in range(rounds):
        for name in names:
            if number and name not in found:
                continue
            try:
                found.setdefault(name, []).append(_run_peer(name, f"{url}/live", 2 * count))
            except PeerError as error:
                found.pop(name, None)
                grid.skip(f"informer, watch beside {name}", str(error))
    ours = sorted(each["seconds"] for each in found["clientgo"])
    for name, runs in found.items():
        seconds = sorted(each["seconds"] for each in runs)
        rates = [2 * count / each for each in reversed(seconds)]
        ratios = {}
        if name == "clientgo":
            others = [(peer, found[peer]) for peer in found if peer != "clientgo"]
            ratios = {
                peer: _middle(sorted(each["seconds"] for each in theirs)) / _middle(ours)
                for peer, theirs in others
            }
        cell = ("informer", "watch in a process of its own", 2 * count, "", name)
        is_peer = name != "clientgo"
        range_ = (_middle(rates), rates[0], rates[-1])
        grid.add(Figure(*cell, "events/s", *range_, ratios, is_peer=is_peer))
        memory = sorted(each["megabytes"] for each in runs)
        range_ = (_middle(memory), memory[0], memory[-1])
        cell = ("informer", "memory of this process", 2 * count, "", name)
        kept = Figure(*cell, "MB at most", *range_, smaller_is_better=True, is_peer=is_peer)
        grid.add(kept)


def _middle(values: list[float]) -> float:
    return values[len(values) // 2]


class PeerError(Exception):
    """A client that can't do what is asked here, with the reason."""


def _run_peer(name: str, url: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.peers", name, url, str(count)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PEER_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"not done after {PEER_TIMEOUT:.0f} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise PeerError(lines[-1])
    read: dict[str, float] = json.loads(done.stdout)
    return read


def _latency(grid: Grid) -> None:
    """Measure from the byte that is sent to the handler, at a low and at a high load."""
    seconds = grid.pick(tiny=0.1, quick=2.0, full=10.0)
    for load, rate in grid.pick(
        tiny=[("low", 200)],
        quick=[("1 %", 300), ("80 %", 20_000)],
        full=[("1 %", 300), ("80 %", 20_000)],
    ):
        waits = sorted(_waits(rate, int(rate * seconds)))
        for name, part in (("p50", 0.5), ("p99", 0.99)):
            value = waits[int(part * (len(waits) - 1))]
            cell = ("informer", f"byte to handler, {name}, {load} load", 0, f"{rate} events/s")
            extremes = (value, waits[0], waits[-1])
            grid.add(Figure(*cell, "informer", "ms", *extremes, smaller_is_better=True))


def _waits(rate: int, count: int) -> list[float]:
    """Return the milliseconds of each event; the first tenth is left out."""
    stop, waits = threading.Event(), list[float]()

    def handle(*objects: Any) -> None:
        waits.append((time.monotonic_ns() - int(objects[-1].metadata.labels["sent"])) / 1e6)
        if len(waits) >= count:
            stop.set()

    with (
        bench.recorded_server(1, 1) as url,
        Client(RestConfig(server=f"{url}/paced-{rate}")) as client,
    ):
        informer = SharedIndexInformer(ResourceListWatch(client.resource(bench.Foo)), bench.Foo)
        informer.add_event_handler(on_add=handle, on_update=handle)
        informer.run(stop)
    return waits[len(waits) // 10 :]
