"""What a queue knows of one item, for people who ask why nothing happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, Queue, RateLimitingQueue
from tests.observe.metrics.recording import RecordingProvider


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(start=100.0)


@pytest.fixture
def queue(clock: FakeClock) -> Iterator[RateLimitingQueue[str]]:
    limiter: Any = ItemExponentialFailureRateLimiter(5.0, 60.0, clock=clock)
    with RateLimitingQueue[str](limiter, name="q", clock=clock) as queue:
        yield queue


def test_an_item_goes_from_unknown_to_ready_to_processed_to_dirty(
    queue: RateLimitingQueue[str],
) -> None:
    assert queue.explain("a").state == "unknown"
    assert "nothing has added it" in str(queue.explain("a"))
    queue.add("a")
    assert str(queue.explain("a")) == "ready, one of 1; every worker is busy"
    queue.get()
    assert str(queue.explain("a")) == "being processed"
    queue.add("a")
    assert str(queue.explain("a")) == "being processed, and added again: one more sync follows"


def test_a_delay_is_told_with_its_rest_and_the_failures(
    queue: RateLimitingQueue[str], clock: FakeClock
) -> None:
    queue.add_rate_limited("a")
    queue.add_rate_limited("a")
    clock.step(1.0)
    explanation = queue.explain("a")
    assert (explanation.state, explanation.due, explanation.requeues) == ("unknown", 105.0, 2)
    assert str(explanation) == "delayed; it is added in 4 s; it has failed 2 times"


def test_a_shutdown_is_told(queue: RateLimitingQueue[str]) -> None:
    queue.shut_down()
    assert str(queue.explain("a")).endswith("the queue shuts down and takes nothing")


def test_a_queue_with_metrics_knows_since_when(clock: FakeClock) -> None:
    with Queue[str](name="q", metrics=RecordingProvider(), clock=clock) as queue:
        queue.add("a")
        clock.step(3.0)
        assert str(queue.explain("a")) == "ready for 3 s, one of 1; every worker is busy"
        queue.get()
        clock.step(2.0)
        assert str(queue.explain("a")) == "being processed for 2 s"
