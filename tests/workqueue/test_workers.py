"""The ready-made worker loop."""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue, run_workers
from tests.background import Background


def make_queue() -> tuple[RateLimitingQueue[str], FakeClock]:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 10.0, clock=clock)
    return RateLimitingQueue(limiter, clock=clock), clock


def test_workers_handle_keys_until_they_are_stopped() -> None:
    queue, _ = make_queue()
    stop, handled = threading.Event(), SimpleQueue[str]()
    running = Background(lambda: run_workers(stop, queue, handled.put, workers=3))
    for key in "abc":
        queue.add(key)
    assert sorted(handled.get(timeout=30) for _ in range(3)) == ["a", "b", "c"]

    stop.set()

    running.result()
    assert queue.shutting_down
    assert queue.statistics().processing == 0


def test_keys_that_are_listed_when_the_stop_comes_are_still_handled() -> None:
    queue, _ = make_queue()
    stop, handled = threading.Event(), []
    for key in "abc":
        queue.add(key)
    stop.set()

    run_workers(stop, queue, handled.append)

    assert handled == ["a", "b", "c"]


def test_a_key_that_fails_is_tried_again_later_and_forgotten_when_it_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue, clock = make_queue()
    stop, attempts = threading.Event(), SimpleQueue[str]()
    failures = iter([True, False])

    def handle(key: str) -> None:
        attempts.put(key)
        if next(failures):
            raise RuntimeError("not yet")

    with caplog.at_level(logging.WARNING, "clientgo.workqueue"):
        running = Background(lambda: run_workers(stop, queue, handle))
        queue.add("default/a")
        attempts.get(timeout=30)
        clock.wait_for_waiters(1)
        assert queue.num_requeues("default/a") == 1
        clock.step(1.0)
        attempts.get(timeout=30)
        stop.set()
        running.result()

    assert queue.num_requeues("default/a") == 0
    (record,) = caplog.records
    assert record.getMessage() == (
        "default/a: RuntimeError: not yet; trying again later (failure 1)"
    )


def test_no_workers_are_refused() -> None:
    queue, _ = make_queue()

    with pytest.raises(ValueError, match="at least 1"):
        run_workers(threading.Event(), queue, print, workers=0)
