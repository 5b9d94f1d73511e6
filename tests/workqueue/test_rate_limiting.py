"""Spacing out retries."""

from __future__ import annotations

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue


def make_queue() -> tuple[RateLimitingQueue[str], FakeClock]:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](0.001, 1.0, clock=clock)
    return RateLimitingQueue(limiter, clock=clock), clock


def test_each_retry_of_an_item_waits_longer_whatever_the_others_do() -> None:
    """RLQ-01."""
    queue, _ = make_queue()
    with queue:
        queue.add_rate_limited("a")
        assert queue.statistics().next_due == 0.001
        queue.add_rate_limited("b")
        queue.add_rate_limited("b")
        queue.add_rate_limited("a")

        assert queue.num_requeues("a") == queue.num_requeues("b") == 2
        queue.forget("a")
        assert queue.num_requeues("a") == 0
        assert queue.num_requeues("b") == 2


def test_forgetting_takes_nothing_out_of_the_queue() -> None:
    """RLQ-02."""
    queue, clock = make_queue()
    with queue:
        queue.add_rate_limited("a")
        queue.add("b")
        queue.get()
        queue.forget("a")
        queue.forget("b")

        assert queue.statistics().delayed == 1
        assert queue.statistics().processing == 1
        clock.wait_for_waiters(1)
        clock.step(0.001)
        assert queue.get() == ("a", False)


def test_a_retry_counts_as_a_failure_even_when_the_queue_shuts_down() -> None:
    """RLQ-01."""
    queue, _ = make_queue()
    queue.shut_down()

    queue.add_rate_limited("a")

    assert queue.num_requeues("a") == 1
    assert queue.statistics().delayed == 0


def test_a_retry_may_be_asked_for_before_its_item_is_given_back() -> None:
    """RLQ-03."""
    queue, clock = make_queue()
    with queue:
        queue.add("a")
        queue.get()
        queue.add_rate_limited("a")
        clock.wait_for_waiters(1)
        clock.step(0.001)
        clock.wait_for(lambda: queue.statistics().dirty == 1)
        assert len(queue) == 0

        queue.done("a")

        assert queue.get() == ("a", False)


def test_without_a_limiter_the_queue_has_that_of_controllers() -> None:
    """RL-05."""
    clock = FakeClock()
    with RateLimitingQueue[str](clock=clock) as queue:
        queue.add_rate_limited("a")

        assert queue.statistics().next_due == 0.005


def test_an_item_that_fails_all_the_time_does_not_delay_the_retries_of_others() -> None:
    """FIELD-75: in client-go the 5,000 failures of one key delay the next key by 490 s."""
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    for _ in range(5000):
        queue.add_rate_limited("hot")
    queue.add_rate_limited("other")

    delays = {item: queue.explain(item).due for item in ("hot", "other")}
    assert delays["other"] == pytest.approx(clock.monotonic() + 0.2)
    queue.shut_down()


def test_many_items_that_fail_share_the_retries_of_the_bucket() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[int] = RateLimitingQueue(clock=clock)
    for item in range(300):
        queue.add_rate_limited(item)

    assert queue.explain(299).due == pytest.approx(clock.monotonic() + 20.0)
    queue.shut_down()
