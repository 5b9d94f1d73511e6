"""What the queue's memory costs, and that it is given back.

`make bench-full` measures a million keys.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from prometheus_client import CollectorRegistry

from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.testing import FakeClock
from clientgo.workqueue import (
    BucketRateLimiter,
    DelayingQueue,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
)
from tests.background import Background

pytestmark = pytest.mark.usefixtures("frozen_heap")

KEYS = [f"namespace-{number % 10}/object-{number}" for number in range(8_000)]
NEGLIGIBLE = 30_000
"""Bytes: less than a pointer for each key."""


@pytest.fixture(autouse=True)
def _trace_memory() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def handle_all(queue: Queue[str], clock: FakeClock) -> Background[tuple[str, bool]]:
    """Take and give back every listed item; return a worker that waits for more."""
    while len(queue):
        queue.done(queue.get()[0])
    worker = Background(queue.get)
    clock.wait_for(lambda: queue.statistics().idle_getters == 1)
    return worker


@pytest.mark.parametrize(("name", "limit"), [("", 250), ("foos", 500)])
def test_a_queued_key_costs_little_and_leaves_nothing_behind(name: str, limit: int) -> None:
    clock = FakeClock()
    metrics = PrometheusProvider(CollectorRegistry())
    queue: Queue[str] = Queue(name=name, metrics=metrics, clock=clock)
    before = allocated()
    for key in KEYS:
        queue.add(key)
    cost = (allocated() - before) / len(KEYS)

    worker = handle_all(queue, clock)

    assert cost < limit
    assert allocated() - before < NEGLIGIBLE
    queue.shut_down()
    assert worker.result() == (None, True)


@pytest.mark.parametrize("fair_by", [None, lambda key: key, lambda key: key.partition("/")[0]])
def test_priorities_and_flows_leave_nothing_behind(fair_by: Callable[[str], str] | None) -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock, fair_by=fair_by)
    before = allocated()
    for number, key in enumerate(KEYS):
        queue.add(key, priority=number % 3)
    for key in KEYS:
        queue.add(key, priority=2)

    worker = handle_all(queue, clock)

    assert allocated() - before < NEGLIGIBLE
    queue.shut_down()
    worker.result()


def test_delays_leave_nothing_behind() -> None:
    clock = FakeClock()
    queue: DelayingQueue[str] = DelayingQueue(clock=clock)
    queue.add_after("warm up", 0.5)
    clock.wait_for_waiters(1)
    before = allocated()
    for delay in (3.0, 2.0, 1.0):
        for key in KEYS:
            queue.add_after(key, delay)

    clock.step(1.0)
    clock.wait_for(lambda: queue.statistics().next_due is None)
    worker = handle_all(queue, clock)

    assert allocated() - before < NEGLIGIBLE
    queue.shut_down()
    worker.result()


def test_forgotten_failures_leave_nothing_behind() -> None:
    clock = FakeClock()
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(
        0.001, 1.0, clock=clock
    )
    before = allocated()
    for key in KEYS:
        limiter.when(key)
    for key in KEYS:
        limiter.forget(key)

    assert allocated() - before < NEGLIGIBLE


def test_failures_that_nobody_forgets_leave_nothing_behind_once_they_expire() -> None:
    """P-06."""
    clock = FakeClock()
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(
        0.001, 1.0, clock=clock
    )
    before = allocated()
    for key in KEYS:
        limiter.when(key)
    clock.step(3601.0)

    limiter.when("another")

    assert allocated() - before < NEGLIGIBLE


def test_reservations_that_have_come_leave_nothing_behind() -> None:
    clock = FakeClock()
    limiter: BucketRateLimiter[str] = BucketRateLimiter(1e6, 1, reuse=True, clock=clock)
    before = allocated()
    for key in KEYS:
        limiter.when(key)
    clock.step(1.0)

    limiter.when("another")

    assert allocated() - before < NEGLIGIBLE


def test_a_controller_that_retries_every_key_ends_where_it_began() -> None:
    clock = FakeClock()
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(
        0.001, 1.0, clock=clock
    )
    queue: RateLimitingQueue[str] = RateLimitingQueue(limiter, clock=clock)
    before = allocated()
    for key in KEYS:
        queue.add(key)
        queue.get()
        queue.add_rate_limited(key)
        queue.done(key)
    clock.wait_for_waiters(1)
    clock.step(1.0)
    clock.wait_for(lambda: queue.statistics().next_due is None)
    for key in KEYS:
        queue.forget(key)

    worker = handle_all(queue, clock)

    assert allocated() - before < NEGLIGIBLE
    queue.shut_down()
    worker.result()
