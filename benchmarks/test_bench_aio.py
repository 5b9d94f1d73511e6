"""Programs that await: this library beside others that do, and a queue beside a worker's thread.

Each client runs in a process of its own, all in turn. kubex and kubernetes_asyncio take part if
they are installed, as the extra ``bench`` does. They have a watch and neither cache, queue nor
retries; what each does is said in ``awaiting_peers``.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from benchmarks.awaiting_peers import CLIENTS, SLEEP
from clientgo.aio import keys
from clientgo.testing import bench
from clientgo.workqueue import Queue

ROUNDS = 5
SYNCS = 1000
EVENTS = 1000
ADDS = 1000


def clients(what: str) -> list[str]:
    """Return those that are installed; a handler awaits for one object at a time."""
    names = [name for name in CLIENTS if what == "latency" or "handler" not in name]
    found = [
        name for name in names if importlib.util.find_spec(name.partition(",")[0].partition(".")[0])
    ]
    print("not installed:", ", ".join(sorted({*names} - {*found})) or "none")
    return found


def measured(what: str, name: str, url: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.awaiting_peers", what, name, url, str(count)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def compare(benchmark: Any, what: str, count: int, units: dict[str, float]) -> None:
    """Run each client in turn; ``units`` are the figures that are kept, and their factors."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in clients(what)}
    with bench.recorded_server(SYNCS, SYNCS, "managed foo") as url:
        for _ in range(ROUNDS):
            for name, figures in found.items():
                figures.append(measured(what, name, url, count))
        benchmark.pedantic(lambda: measured(what, "clientgo", url, count), rounds=1)
    for name, figures in found.items():
        for unit, factor in units.items():
            of_rounds = [each[unit.split(" ")[0]] * factor for each in figures]
            benchmark.extra_info[f"{name}: {unit}"] = spread(of_rounds)


def spread(values: Iterable[float]) -> str:
    """The median, the least and the most."""
    ordered = sorted(values)
    return f"{statistics.median(ordered):.3g} ({ordered[0]:.3g} to {ordered[-1]:.3g})"


def test_a_thousand_syncs_that_await(benchmark: Any) -> None:
    """1,000 Foos arrive by a watch, and each is awaited for 100 ms, all at a time."""
    compare(benchmark, "syncs", SYNCS, {"seconds in ms": 1e3, "cpu in ms": 1e3, "most": 1})
    benchmark.extra_info["asyncio alone: seconds in ms"] = spread(
        1e3 * timed(lambda: asyncio.run(sleep_at_a_time())) for _ in range(ROUNDS)
    )


async def sleep_at_a_time() -> None:
    await asyncio.gather(*(asyncio.sleep(SLEEP) for _ in range(SYNCS)))


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def test_from_the_server_to_a_coroutine(benchmark: Any) -> None:
    """500 events a second: the time from the sending of each to the coroutine that takes it."""
    compare(benchmark, "latency", EVENTS, {"p50 in µs": 1, "p99 in µs": 1, "cpu in µs": 1})


def test_from_a_handler_to_a_coroutine(benchmark: Any) -> None:
    """A thread adds a key every 2 ms; a coroutine takes it, or a thread, or a coroutine that reads
    asyncio's queue, which has no order, no duplicates and no retries to look after."""
    found: dict[str, list[list[float]]] = {}
    ways = {"coroutine": in_coroutine, "thread": in_thread, "asyncio.Queue": in_asyncio_queue}
    for _ in range(ROUNDS):
        for name, take in ways.items():
            found.setdefault(name, []).append(sorted(take()))
    benchmark.pedantic(in_coroutine, rounds=1)
    for name, rounds in found.items():
        for percent in (50, 99):
            of_rounds = [times[ADDS * percent // 100] for times in rounds]
            benchmark.extra_info[f"{name}: p{percent} in µs"] = spread(of_rounds)


class Adds:
    """Adds a key every 2 ms, and takes the microseconds until each is taken."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._added: dict[int, int] = {}

    def begin(self, add: Callable[[int], object], end: Callable[[], object]) -> None:
        threading.Thread(target=self._add, args=(add, end)).start()

    def taken(self, number: int) -> None:
        self.times.append((time.perf_counter_ns() - self._added[number]) / 1e3)

    def _add(self, add: Callable[[int], object], end: Callable[[], object]) -> None:
        pause = threading.Event()
        for number in range(ADDS):
            pause.wait(0.002)
            self._added[number] = time.perf_counter_ns()
            add(number)
        end()


def in_coroutine() -> list[float]:
    adds, queue = Adds(), Queue[int]()

    async def take() -> None:
        adds.begin(queue.add, queue.shut_down)
        async for number in keys(queue):
            adds.taken(number)

    asyncio.run(take())
    return adds.times


def in_thread() -> list[float]:
    adds, queue = Adds(), Queue[int]()
    adds.begin(queue.add, queue.shut_down)
    for number in queue.items():
        adds.taken(number)
    return adds.times


def in_asyncio_queue() -> list[float]:
    adds = Adds()

    async def take() -> None:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[int]()
        put = partial(loop.call_soon_threadsafe, queue.put_nowait)
        adds.begin(put, partial(put, -1))
        while (number := await queue.get()) >= 0:
            adds.taken(number)

    asyncio.run(take())
    return adds.times
