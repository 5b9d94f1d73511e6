"""The lock of a queue under contention: no wake-up and no add is lost."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from clientgo.workqueue import PriorityQueue, Queue, RateLimitingQueue
from tests.background import Background

KEYS = 3
ADDS = 500
THREADS = 4


def fair_queue() -> PriorityQueue[int]:
    return PriorityQueue(fair_by=lambda key: str(key % 2))


class Watched(Queue[str]):
    """Counts the threads that had to wait for the lock."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = threading.Semaphore(0)

    def _wait_for_token(self) -> None:
        self.waiting.release()
        super()._wait_for_token()


def test_getters_that_find_the_lock_taken_go_on_when_it_is_released() -> None:
    queue = Watched()
    for item in "abc":
        queue.add(item)
    with queue._lock:
        getters = [Background(queue.get) for _ in range(3)]
        assert all(queue.waiting.acquire(timeout=30) for _ in getters)

    assert {getter.result(timeout=30)[0] for getter in getters} == {"a", "b", "c"}


def test_a_length_counts_what_its_caller_has_added() -> None:
    queue = Watched()
    with queue._lock:
        counter = Background(lambda: (queue.add("a"), len(queue)))
        assert queue.waiting.acquire(timeout=30), "an add that was left is not counted"

    assert counter.result(timeout=30) == (None, 1)


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Let threads take turns nearly as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize("make", [Queue, RateLimitingQueue, PriorityQueue, fair_queue])
def test_workers_see_every_add_and_no_item_twice_at_a_time(
    make: Callable[[], Queue[int]],
) -> None:
    queue = make()
    counting = threading.Lock()
    added, seen = [0] * KEYS, [0] * KEYS
    processed_by: dict[int, int] = {}
    overlaps: list[int] = []

    def produce(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(ADDS):
            key = chance.randrange(KEYS)
            with counting:
                added[key] += 1
            queue.add(key)

    def work() -> None:
        me = threading.get_ident()
        for key in queue.items():
            if processed_by.setdefault(key, me) != me:
                overlaps.append(key)
            seen[key] = added[key]
            del processed_by[key]

    workers = [Background(work) for _ in range(THREADS)]
    producers = [Background(lambda seed=seed: produce(seed)) for seed in range(THREADS)]
    for producer in producers:
        producer.result(timeout=60)
    queue.shut_down_with_drain(until_empty=True)
    for worker in workers:
        worker.result(timeout=60)

    assert seen == added
    assert not overlaps
