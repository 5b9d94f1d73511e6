"""The work queues beside `queue.Queue`, which neither merges equal items nor keeps one item out of
two hands: it is the price of a lock and a wake-up in Python, not an alternative.

Each group is one load; the number in brackets is the ratio to the fastest of the group. Worker
threads end with the load, so their start and end are part of it for both.
"""

from __future__ import annotations

import gc
import queue
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import (
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
)

ITEMS = 20_000
KEYS = [f"namespace-{number % 10}/object-{number}" for number in range(ITEMS)]

OURS = {
    "Queue": Queue,
    "RateLimitingQueue": RateLimitingQueue,
    "PriorityQueue": PriorityQueue,
}
ALL = {"queue.Queue": queue.Queue, **OURS}

Load = Callable[[Any], None]


def one_by_one(work: Any) -> None:
    """Add an item, take it, give it back."""
    if isinstance(work, queue.Queue):
        for key in KEYS:
            work.put(key)
            work.get()
            work.task_done()
    else:
        for key in KEYS:
            work.add(key)
            item, _ = work.get()
            work.done(item)


def all_at_once(work: Any) -> None:
    """Add all items, then take and give back each."""
    if isinstance(work, queue.Queue):
        for key in KEYS:
            work.put(key)
        for _ in KEYS:
            work.get()
            work.task_done()
    else:
        for key in KEYS:
            work.add(key)
        for _ in KEYS:
            item, _ = work.get()
            work.done(item)


def one_producer(workers: int) -> Load:
    """One thread adds, `workers` threads take and give back."""

    def load(work: Any) -> None:
        is_peer = isinstance(work, queue.Queue)
        loop = peer_loop if is_peer else worker_loop
        threads = [threading.Thread(target=loop, args=(work,)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        if is_peer:
            for key in KEYS:
                work.put(key)
            for _ in threads:
                work.put(None)
        else:
            for key in KEYS:
                work.add(key)
            work.shut_down()
        for thread in threads:
            thread.join()

    return load


def worker_loop(work: Queue[str]) -> None:
    while True:
        item, shutdown = work.get()
        if shutdown:
            return
        work.done(item)


def peer_loop(work: queue.Queue[str | None]) -> None:
    while work.get() is not None:
        work.task_done()


def measure(benchmark: Any, make: Callable[[], Any], load: Load) -> None:
    def setup() -> tuple[tuple[Any], dict[str, Any]]:
        gc.collect()
        return (make(),), {}

    benchmark.pedantic(load, setup=setup, rounds=15, warmup_rounds=1)
    benchmark.extra_info["nanoseconds an item"] = round(benchmark.stats["median"] / ITEMS * 1e9)


@pytest.mark.parametrize("implementation", ALL)
@pytest.mark.benchmark(group=f"work queue, one thread, {ITEMS} items one by one")
def test_one_thread_item_by_item(benchmark: Any, implementation: str) -> None:
    measure(benchmark, ALL[implementation], one_by_one)


@pytest.mark.parametrize("implementation", ALL)
@pytest.mark.benchmark(group=f"work queue, one thread, {ITEMS} items at once")
def test_one_thread_all_at_once(benchmark: Any, implementation: str) -> None:
    measure(benchmark, ALL[implementation], all_at_once)


@pytest.mark.parametrize("implementation", ["queue.Queue", "Queue", "RateLimitingQueue"])
@pytest.mark.parametrize("workers", [1, 2, 4, 8, 16])
def test_one_producer_and_workers(benchmark: Any, workers: int, implementation: str) -> None:
    benchmark.group = f"work queue, one producer and {workers:2} workers, {ITEMS} items"
    measure(benchmark, ALL[implementation], one_producer(workers))


# Memory, with a million keys. Timing is by the way here: tracing makes everything slow.


@pytest.fixture(scope="module")
def million_keys() -> list[str]:
    return [f"namespace-{number % 10}/object-{number}" for number in range(1_000_000)]


@pytest.fixture
def bytes_a_key(million_keys: list[str]) -> Iterator[Callable[[], float]]:
    """What is allocated, beyond the keys themselves."""
    gc.collect()
    tracemalloc.start()

    def measure() -> float:
        gc.collect()
        return round(tracemalloc.get_traced_memory()[0] / len(million_keys), 2)

    yield measure
    tracemalloc.stop()


@pytest.mark.benchmark(group="memory, a million keys")
def test_memory_of_a_million_keys(
    benchmark: Any, million_keys: list[str], bytes_a_key: Callable[[], float]
) -> None:
    clock = FakeClock()
    work: Queue[str] = Queue(clock=clock)

    def load() -> None:
        for key in million_keys:
            work.add(key)
        benchmark.extra_info["bytes a queued key"] = bytes_a_key()
        threading.Thread(target=worker_loop, args=(work,), daemon=True).start()
        clock.wait_for(lambda: work.statistics().idle_getters == 1, timeout=600)
        benchmark.extra_info["bytes a key, idle again"] = bytes_a_key()

    benchmark.pedantic(load, rounds=1)
    work.shut_down()


@pytest.mark.benchmark(group="memory, a million keys")
def test_memory_of_a_million_retries(
    benchmark: Any, million_keys: list[str], bytes_a_key: Callable[[], float]
) -> None:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 1.0, clock=clock)
    work = RateLimitingQueue(limiter, clock=clock)

    def succeed() -> None:
        for key in work.items():
            work.forget(key)

    def load() -> None:
        for key in million_keys:
            work.add_rate_limited(key)
        benchmark.extra_info["bytes a failed and delayed key"] = bytes_a_key()
        clock.wait_for_waiters(1)
        clock.step(1.0)
        threading.Thread(target=succeed, daemon=True).start()
        clock.wait_for(
            lambda: len(limiter) == 0 and work.statistics().idle_getters == 1, timeout=600
        )
        benchmark.extra_info["bytes a key, idle again"] = bytes_a_key()

    benchmark.pedantic(load, rounds=1)
    work.shut_down()
