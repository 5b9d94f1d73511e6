"""The work queues under many threads: whatever the interleaving, the promises hold.

The switch interval is turned down, so that threads are interrupted in the middle of everything.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from clientgo.workqueue import (
    DelayingQueue,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
)
from tests.background import Background

KEYS = [f"key-{number}" for number in range(12)]
TIMEOUT = 30.0


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def make_limiter() -> ItemExponentialFailureRateLimiter[str]:
    return ItemExponentialFailureRateLimiter(0.0001, 0.001)


def flow(key: str) -> str:
    return key.rpartition("/")[0] or key[-1]


QUEUES = [
    pytest.param(Queue, id="Queue"),
    pytest.param(DelayingQueue, id="DelayingQueue"),
    pytest.param(lambda: RateLimitingQueue(make_limiter()), id="RateLimitingQueue"),
    pytest.param(lambda: PriorityQueue(make_limiter()), id="PriorityQueue"),
    pytest.param(lambda: PriorityQueue(make_limiter(), fair_by=flow), id="fair PriorityQueue"),
]


class World:
    """What the keys stand for: a version of each that producers raise and workers catch up with."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.wanted = dict.fromkeys(KEYS, 0)
        self.reached = dict.fromkeys(KEYS, 0)
        self._in_hand: set[str] = set()

    def change(self, key: str, add: Callable[[str], None]) -> None:
        with self._changed:
            self.wanted[key] += 1
        add(key)

    def sync(self, key: str) -> None:
        with self._changed:
            assert key not in self._in_hand, f"{key} is in two hands"
            self._in_hand.add(key)
            wanted = self.wanted[key]
        with self._changed:
            self.reached[key] = wanted
            self._in_hand.discard(key)
            self._changed.notify_all()

    def wait_until_caught_up(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.reached == self.wanted, TIMEOUT)
            assert self.reached == self.wanted, "a change was lost"


def produce(world: World, queue: Queue[str], seed: int) -> None:
    rng = random.Random(seed)
    ways: list[Callable[[str], None]] = [queue.add]
    if isinstance(queue, DelayingQueue):
        ways.append(lambda key: queue.add_after(key, rng.choice([0.0, 0.0002, 0.001])))
    if isinstance(queue, RateLimitingQueue):
        ways.append(queue.add_rate_limited)
    for _ in range(200):
        world.change(rng.choice(KEYS), rng.choice(ways))


def work(world: World, queue: Queue[str], seed: int) -> None:
    rng = random.Random(seed)
    while True:
        key, shutdown = queue.get()
        if shutdown:
            return
        try:
            world.sync(key)
            if rng.random() < 0.2:
                world.change(rng.choice(KEYS), queue.add)
        finally:
            queue.done(key)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make_queue", QUEUES)
def test_no_change_is_lost_and_no_key_is_in_two_hands(
    make_queue: Callable[[], Queue[str]], seed: int
) -> None:
    """WQ-07, WQ-08, DLY-05, RLQ-03: after its last change every key is worked on once more."""
    queue, world = make_queue(), World()
    workers = [Background(partial(work, world, queue, seed + number)) for number in range(6)]
    producers = [Background(partial(produce, world, queue, seed + number)) for number in range(4)]
    for producer in producers:
        producer.result(TIMEOUT)

    world.wait_until_caught_up()
    queue.shut_down_with_drain(until_empty=True)

    for worker in workers:
        worker.result(TIMEOUT)
    statistics = queue.statistics()
    assert (statistics.ready, statistics.processing, statistics.dirty) == (0, 0, 0)


@pytest.mark.parametrize("make_queue", QUEUES)
def test_items_of_one_producer_come_out_in_its_order(
    make_queue: Callable[[], Queue[str]],
) -> None:
    """WQ-05."""
    queue = make_queue()
    taken: list[str] = []

    def add_in_order(producer: int) -> None:
        for number in range(300):
            queue.add(f"{producer}/{number}")

    def take() -> None:
        taken.extend(queue.items())

    worker = Background(take)
    producers = [Background(partial(add_in_order, number)) for number in range(4)]
    for producer in producers:
        producer.result(TIMEOUT)
    queue.shut_down()
    worker.result(TIMEOUT)

    for producer_number in range(4):
        own = [item for item in taken if item.startswith(f"{producer_number}/")]
        assert own == [f"{producer_number}/{number}" for number in range(300)]


@pytest.mark.parametrize("round_number", range(5))
@pytest.mark.parametrize("make_queue", QUEUES)
def test_a_shutdown_ends_every_wait_whatever_is_going_on(
    make_queue: Callable[[], Queue[str]], round_number: int
) -> None:
    """WQ-06, WQ-11, WQ-12, DLY-10, DLY-11."""
    queue, world = make_queue(), World()
    calls = [
        *(Background(partial(work, world, queue, number)) for number in range(6)),
        *(Background(partial(produce, world, queue, round_number)) for _ in range(2)),
        *(Background(queue.shut_down_with_drain) for _ in range(3)),
        *(Background(partial(queue.shut_down_with_drain, until_empty=True)) for _ in range(2)),
        Background(queue.shut_down),
    ]

    for call in calls:
        call.result(TIMEOUT)

    assert queue.get() == (None, True)
