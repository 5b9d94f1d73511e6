"""When to try again."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from tests.background import Background


def delays(limiter: RateLimiter[str], item: str, count: int) -> list[float]:
    return [limiter.when(item) for _ in range(count)]


def test_each_failure_of_an_item_doubles_its_delay() -> None:
    """RL-01, RL-03."""
    limiter = ItemExponentialFailureRateLimiter[str](0.005, 1000.0)

    assert delays(limiter, "a", 5) == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert limiter.when("b") == 0.005
    assert limiter.num_requeues("a") == 5
    limiter.forget("a")
    assert limiter.num_requeues("a") == limiter.num_requeues("unknown") == 0
    assert limiter.when("a") == 0.005


@pytest.mark.parametrize("base", [0.001, 60.0])
def test_a_thousand_failures_do_not_overflow(base: float) -> None:
    """RL-02."""
    limiter = ItemExponentialFailureRateLimiter[str](base, 1000.0)

    assert delays(limiter, "a", 1100)[-100:] == [1000.0] * 100
    assert limiter.num_requeues("a") == 1100


def test_the_default_limiters_have_upstreams_numbers() -> None:
    """RL-04, RL-05."""
    item_based = default_item_based_rate_limiter()
    assert delays(item_based, "a", 3) == [0.001, 0.002, 0.004]

    clock = FakeClock()
    controller = default_controller_rate_limiter(clock=clock)
    assert delays(controller, "a", 19)[-1] == 1000.0
    assert [controller.when(f"item {number}") for number in range(81)] == [0.005] * 81
    assert controller.when("one more") == pytest.approx(0.1)


def test_the_numbers_of_the_controller_limiter_are_arguments() -> None:
    """P-08: the cap is visible."""
    limiter = default_controller_rate_limiter(max_delay=1.0, qps=50, burst=300)

    assert max(delays(limiter, "a", 300)) == 1.0


@pytest.mark.parametrize(("qps", "burst", "thousandth"), [(10, 100, 90.0), (50, 300, 14.0)])
def test_a_bucket_makes_its_callers_queue_up(qps: float, burst: int, thousandth: float) -> None:
    """RL-06: table 3b."""
    limiter = BucketRateLimiter[int](qps, burst, clock=FakeClock())
    waits = [limiter.when(number) for number in range(1000)]

    assert waits[:burst] == [0.0] * burst
    assert waits[burst] == pytest.approx(1 / qps)
    assert waits[burst + 9] == pytest.approx(10 / qps)
    assert waits[-1] == pytest.approx(thousandth)
    limiter.forget(5)
    assert limiter.num_requeues(5) == 0


def test_a_bucket_can_hand_an_item_its_running_reservation_again() -> None:
    """RL-06: what P-07 asks for."""
    clock = FakeClock()
    limiter = BucketRateLimiter[str](1, 1, reuse=True, clock=clock)
    assert limiter.when("first") == 0.0

    assert delays(limiter, "a", 3) == [1.0, 1.0, 1.0]
    assert limiter.when("b") == 2.0
    clock.step(0.25)
    assert limiter.when("a") == 0.75
    clock.step(0.75)
    assert limiter.when("a") == pytest.approx(2.0)
    clock.step(100.0)
    assert limiter.when("c") == 0.0
    assert limiter.when("d") == 1.0


@pytest.mark.parametrize(("qps", "burst"), [(10, 0), (0, 10), (-1, 10), (math.nan, 10)])
def test_a_bucket_that_never_grants_is_refused(qps: float, burst: int) -> None:
    """RL-07."""
    with pytest.raises(ValueError, match="never grants"):
        BucketRateLimiter(qps, burst)


@pytest.mark.parametrize("delays", [(-1.0, 5.0), (1.0, -5.0), (math.nan, 5.0)])
def test_delays_that_are_none_are_refused(delays: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="a delay is a number of seconds, 0 or more"):
        ItemExponentialFailureRateLimiter(*delays)
    with pytest.raises(ValueError, match="a delay is a number of seconds, 0 or more"):
        ItemFastSlowRateLimiter(*delays, max_fast_attempts=3)


def test_the_first_failures_are_retried_fast_and_the_others_slowly() -> None:
    """RL-08."""
    limiter = ItemFastSlowRateLimiter[str](0.005, 10.0, 3)

    assert delays(limiter, "a", 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.num_requeues("a") == 5
    limiter.forget("a")
    assert limiter.when("a") == 0.005


def test_the_longest_delay_of_all_members_counts() -> None:
    """RL-09."""
    limiter = MaxOfRateLimiter[str](
        ItemFastSlowRateLimiter(0.005, 3.0, 3), ItemExponentialFailureRateLimiter(0.001, 1.0)
    )

    assert delays(limiter, "a", 5) == [0.005, 0.005, 0.005, 3.0, 3.0]
    assert limiter.num_requeues("a") == 5
    assert delays(limiter, "b", 2) == [0.005, 0.005]
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0
    assert limiter.when("a") == 0.005


def test_no_members_mean_no_delay() -> None:
    """RL-09."""
    limiter = MaxOfRateLimiter[str]()

    assert limiter.when("a") == 0.0
    assert limiter.num_requeues("a") == 0


def test_a_maximum_wait_caps_the_answer_but_not_the_counting() -> None:
    """RL-10."""
    limiter = WithMaxWaitRateLimiter[str](ItemExponentialFailureRateLimiter(0.001, 1000.0), 0.1)

    assert delays(limiter, "a", 9)[-3:] == [0.064, 0.1, 0.1]
    assert limiter.num_requeues("a") == 9
    limiter.forget("a")
    assert limiter.when("a") == 0.001


@pytest.mark.parametrize(
    ("limiter", "delay_of"),
    [
        (
            ItemExponentialFailureRateLimiter[str](1.0, 1e9),
            lambda failure: min(2.0**failure, 1e9) if failure < 64 else 1e9,
        ),
        (
            ItemFastSlowRateLimiter[str](1.0, 2.0, 2000),
            lambda failure: 1.0 if failure < 2000 else 2.0,
        ),
        (
            BucketRateLimiter[str](1.0, 1000, clock=FakeClock()),
            lambda failure: float(max(0, failure - 999)),
        ),
    ],
    ids=["exponential", "fast and slow", "bucket"],
)
def test_many_threads_are_answered_as_if_they_had_asked_one_after_the_other(
    limiter: RateLimiter[str], delay_of: Callable[[int], float]
) -> None:
    """RL-11."""
    answers: Counter[float] = Counter()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        callers = [Background(lambda: delays(limiter, "a", 500)) for _ in range(8)]
        for caller in callers:
            answers.update(caller.result())
    finally:
        sys.setswitchinterval(interval)

    assert answers == Counter(delay_of(failure) for failure in range(4000))


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: ItemExponentialFailureRateLimiter[str](0.001, 10.0, **options),
        lambda **options: ItemFastSlowRateLimiter[str](0.001, 10.0, 3, **options),
    ],
)
def test_an_item_that_has_not_failed_for_long_is_forgotten(make) -> None:  # type: ignore[no-untyped-def]
    """P-06: items that are never forgotten explicitly do not pile up."""
    clock = FakeClock()
    limiter = make(forget_after=100.0, clock=clock)
    limiter.when("active")
    limiter.when("old")
    clock.step(60.0)
    limiter.when("active")
    clock.step(41.0)

    limiter.when("new")

    assert limiter.num_requeues("old") == 0
    assert limiter.num_requeues("active") == 2
    assert len(limiter) == 2


def test_failures_are_kept_for_an_hour_at_least() -> None:
    """P-06: retries that are capped at their maximum delay never expire."""
    clock = FakeClock()
    short = ItemExponentialFailureRateLimiter[str](0.001, 1.0, clock=clock)
    long = ItemExponentialFailureRateLimiter[str](0.001, 7200.0, clock=clock)
    for limiter in (short, long):
        limiter.when("a")
    clock.step(3600.0)
    assert short.when("b") == long.when("b") == 0.001
    assert short.num_requeues("a") == long.num_requeues("a") == 1

    clock.step(1.0)
    short.when("b")
    long.when("b")

    assert short.num_requeues("a") == 0
    assert long.num_requeues("a") == 1


@pytest.mark.parametrize(
    "lock_of",
    [
        lambda limiter: limiter._limiters[0]._failures._lock,
        lambda limiter: limiter._limiters[1]._lock,
        lambda limiter: limiter._limiters[1]._bucket._lock,
    ],
    ids=["failures", "reservations", "tokens"],
)
def test_a_signal_handler_may_ask_while_it_interrupts_a_call(
    lock_of: Callable[[Any], AbstractContextManager[object]],
) -> None:
    """FIELD-72: a failure that it adds waited for the call that it had interrupted."""
    limiter = default_controller_rate_limiter(reuse=True)

    def interrupted() -> float:
        with lock_of(limiter):  # where the main thread was
            return limiter.when("a")

    assert Background(interrupted).result(timeout=30) == 0.005


def test_counts_expire_from_the_first_that_is_old_enough_on() -> None:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 8.0, forget_after=10.0, clock=clock)
    limiter.when("a")
    clock.step(6.0)
    limiter.when("b")
    clock.step(4.0)
    limiter.when("c")
    assert [limiter.num_requeues(item) for item in "abc"] == [1, 1, 1]

    clock.step(0.5)
    limiter.when("d")
    assert [limiter.num_requeues(item) for item in "abcd"] == [0, 1, 1, 1]
    clock.step(10.0)
    limiter.when("d")
    assert [limiter.num_requeues(item) for item in "abcd"] == [0, 0, 0, 2]
