"""Queues beside those of the standard library and a textbook one with the same semantics."""

from __future__ import annotations

import queue
from functools import partial

from benchmarks.grid import Grid
from clientgo.testing import bench
from clientgo.testing.bench.measure import Side

OURS = ("Queue", "RateLimitingQueue", "PriorityQueue", "PriorityQueue, fair")
TEXTBOOK = "textbook Condition queue"
PEERS = ("queue.Queue", "queue.SimpleQueue", TEXTBOOK)
STANDARD_PRIORITY = "queue.PriorityQueue"


def measure(grid: Grid) -> None:
    """Measure every cell of the layer."""
    for size in grid.pick(tiny=[20], quick=[20_000], full=[100, 10_000, 1_000_000]):
        items = bench.keys(size)
        one: dict[str, Side] = {name: partial(_one, name, items) for name in (*OURS, *PEERS)}
        one[STANDARD_PRIORITY] = partial(_one_in_standard_priority, items)
        peers = (*PEERS, STANDARD_PRIORITY)
        grid.compare("queue", "add, get, done", size, one, peers=peers)
    size = grid.pick(tiny=20, quick=10_000, full=50_000)
    items = bench.keys(size)
    readds = {name: partial(_readds, name, items) for name in (*OURS[:2], TEXTBOOK)}
    grid.compare("queue", "added again while processed", size, readds, peers=[TEXTBOOK])
    later = {"RateLimitingQueue": partial(bench.load_delayed, items)}
    grid.compare("queue", "add_after 1 ms", size, later)
    failed = {"RateLimitingQueue": partial(bench.load_failures, items)}
    grid.compare("queue", "failed once", size, failed)
    for producers, workers in grid.pick(
        tiny=[(1, 2)],
        quick=[(1, 1), (1, 4), (1, 16), (4, 4), (16, 16)],
        full=[(p, w) for p in (1, 4, 16) for w in (1, 2, 4, 8, 16)],
    ):
        names = ("Queue", *PEERS)
        sides = {name: partial(_threads, name, items, producers, workers) for name in names}
        threads = f"{producers} producers, {workers} workers"
        grid.compare("queue", "threads", size, sides, peers=PEERS, workers=threads)


def _one(name: str, items: list[str]) -> float:
    return bench.load_one_by_one(bench.new_queue(name), items)


def _one_in_standard_priority(items: list[str]) -> float:
    return bench.load_one_by_one(queue.PriorityQueue(), items)


def _readds(name: str, items: list[str]) -> float:
    return bench.load_readds(bench.new_queue(name), items)


def _threads(name: str, items: list[str], producers: int, workers: int) -> float:
    return bench.load_threads(bench.new_queue(name), items, producers=producers, workers=workers)
