"""The arithmetic of a token bucket."""

from __future__ import annotations

import math

import pytest

from clientgo.util.flowcontrol import TokenBucket


def test_a_bucket_starts_full_and_never_holds_more_than_its_burst() -> None:
    """FLC-01."""
    bucket = TokenBucket(qps=10, burst=3)

    assert [bucket.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.tokens(1000.0) == 3.0


def test_a_refusal_does_not_slow_the_refill() -> None:
    """FLC-02: one token in 300 s is there after 300 s, however often it was asked for."""
    bucket = TokenBucket(qps=1 / 300, burst=1)
    granted = [second for second in range(1801) if bucket.take(float(second))]

    assert granted == [0, 300, 600, 900, 1200, 1500, 1800]


def test_a_rate_that_is_no_nice_number_grants_every_time_all_the_same() -> None:
    """FLC-06."""
    bucket = TokenBucket(qps=1 / 1.031425, burst=1)

    assert all(bucket.take(2.0 * number) for number in range(60))


def test_reservations_queue_up_behind_each_other() -> None:
    """FLC-03."""
    bucket = TokenBucket(qps=10, burst=1)

    assert [bucket.reserve(0.0).delay(0.0) for _ in range(4)] == pytest.approx([0, 0.1, 0.2, 0.3])


def test_a_reservation_further_away_than_the_limit_takes_nothing() -> None:
    """FLC-04."""
    bucket = TokenBucket(qps=1, burst=1)
    bucket.take(0.0)

    refused = bucket.reserve(0.0, max_wait=0.5)

    assert not refused.ok
    assert refused.delay(0.0) == math.inf
    assert bucket.tokens(0.0) == 0.0


def test_a_cancelled_reservation_gives_its_token_back() -> None:
    """FLC-04."""
    bucket = TokenBucket(qps=1, burst=1)
    bucket.take(0.0)
    reservation = bucket.reserve(0.0)

    reservation.cancel(0.25)

    assert bucket.tokens(0.25) == pytest.approx(0.25)


def test_reservations_that_are_cancelled_one_after_the_other_give_everything_back() -> None:
    """FLC-04."""
    bucket = TokenBucket(qps=1, burst=1)
    bucket.take(0.0)
    first, second = bucket.reserve(0.0), bucket.reserve(0.0)

    second.cancel(0.0)
    first.cancel(0.0)

    assert bucket.tokens(0.0) == 0.0


def test_a_bucket_without_a_limit_grants_everything_at_once() -> None:
    bucket = TokenBucket(qps=math.inf, burst=0)

    assert bucket.reserve(5.0, 1000).delay(5.0) == 0.0
    assert bucket.take(5.0, 10**9)


def test_a_bucket_that_is_not_refilled_keeps_waiting_for_ever() -> None:
    bucket = TokenBucket(qps=0, burst=1)
    bucket.take(0.0)

    assert not bucket.take(1e6)
    assert bucket.reserve(0.0).delay(0.0) > 1e9
