"""Asking before a request whether it may go out."""

from __future__ import annotations

import threading

import pytest

from clientgo.testing import AutoClock, FakeClock
from clientgo.util.flowcontrol import (
    AlwaysRateLimiter,
    NeverRateLimiter,
    NotAcceptedError,
    PassiveRateLimiter,
    RateLimiter,
    TokenBucketRateLimiter,
)
from tests.background import Background


def test_a_burst_passes_and_the_next_one_is_refused() -> None:
    """FLC-06."""
    clock = AutoClock()
    three = TokenBucketRateLimiter(1, 3, clock=clock)
    assert [three.try_accept() for _ in range(4)] == [True, True, True, False]

    one = TokenBucketRateLimiter(1, 1, clock=clock)
    assert [one.try_accept() for _ in range(2)] == [True, False]
    clock.step(2.0)
    assert one.try_accept()


def test_accepts_beyond_the_burst_are_spaced_at_the_rate() -> None:
    """FLC-03, FLC-06."""
    clock = AutoClock()
    limiter = TokenBucketRateLimiter(10, 5, clock=clock)

    for _ in range(16):
        limiter.accept()

    assert clock.monotonic() == pytest.approx(1.1)


def test_concurrent_accepts_are_spaced_at_the_rate() -> None:
    """FLC-03, FLC-06."""
    clock = FakeClock()
    limiter = TokenBucketRateLimiter(100, 1, clock=clock)
    limiter.accept()
    callers = [Background(limiter.accept) for _ in range(10)]
    clock.wait_for_waiters(10)

    clock.step(0.0501)

    assert clock.waiters() == 5
    clock.step(0.05)
    for caller in callers:
        caller.result()


def test_a_wait_takes_the_token_when_it_comes() -> None:
    """FLC-04."""
    clock = AutoClock()
    limiter = TokenBucketRateLimiter(1, 1, clock=clock)

    limiter.wait()
    limiter.wait(timeout=1.0)

    assert clock.monotonic() == 1.0


def test_a_wait_past_its_timeout_fails_at_once_and_consumes_nothing() -> None:
    """FLC-04, FLC-06."""
    clock = AutoClock()
    limiter = TokenBucketRateLimiter(0.0001, 1, clock=clock)
    limiter.wait(timeout=1.0)

    for _ in range(2):
        with pytest.raises(NotAcceptedError, match="timeout of 1"):
            limiter.wait(timeout=1.0)

    assert clock.monotonic() == 0.0
    limiter.wait(timeout=10_000.0)


def test_a_stopped_wait_gives_its_token_back() -> None:
    """FLC-04."""
    clock, stop = FakeClock(), threading.Event()
    limiter = TokenBucketRateLimiter(1, 1, clock=clock)
    limiter.accept()
    waiting = Background(lambda: limiter.wait(stop=stop))
    clock.wait_for_waiters(1)

    stop.set()

    with pytest.raises(NotAcceptedError, match="while waiting"):
        waiting.result()
    clock.step(1.0)
    assert limiter.try_accept()


def test_a_wait_that_is_stopped_beforehand_fails_at_once() -> None:
    """FLC-04."""
    stop = threading.Event()
    stop.set()
    limiter = TokenBucketRateLimiter(1, 1, clock=AutoClock())

    with pytest.raises(NotAcceptedError, match="before asking"):
        limiter.wait(stop=stop)
    assert limiter.try_accept()


def test_stopping_a_real_limiter_changes_nothing() -> None:
    """FLC-05."""
    limiter = TokenBucketRateLimiter(7.5, 1, clock=AutoClock())

    limiter.stop()

    assert limiter.try_accept()
    assert limiter.qps == 7.5


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (1, 0), (float("nan"), 1)])
def test_a_limit_that_lets_nothing_through_is_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="lets nothing through"):
        TokenBucketRateLimiter(qps, burst)


def test_the_limiter_that_always_accepts_never_blocks() -> None:
    """FLC-05."""
    limiter: RateLimiter = AlwaysRateLimiter()

    assert limiter.try_accept()
    limiter.accept()
    limiter.wait(timeout=0.0)
    limiter.stop()
    assert limiter.qps == 1.0


def test_the_limiter_that_never_accepts_blocks_until_it_is_stopped() -> None:
    """FLC-05."""
    limiter: RateLimiter = NeverRateLimiter()
    assert not limiter.try_accept()
    with pytest.raises(NotAcceptedError):
        limiter.wait()
    accepting = Background(limiter.accept)
    assert accepting.is_running

    limiter.stop()

    accepting.result()
    assert limiter.qps == 1.0


def test_a_limiter_that_is_only_asked_needs_no_more_than_the_passive_interface() -> None:
    """FLC-05."""
    limiter: PassiveRateLimiter = TokenBucketRateLimiter(1, 1, clock=AutoClock())

    assert limiter.try_accept()
