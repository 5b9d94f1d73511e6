"""Loops that call something again."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from clientgo.testing import AutoClock, FakeClock
from clientgo.util.wait import (
    WaitCancelledError,
    poll_until,
    until,
)
from tests.background import Background


def test_until_blocks_until_it_is_stopped_and_then_ends_at_once() -> None:
    clock, stop = FakeClock(), threading.Event()
    loop = Background(lambda: until(lambda: None, 3600.0, stop, clock=clock))
    clock.wait_for_waiters(1)

    stop.set()

    loop.result()


def test_a_period_can_be_lengthened_at_random() -> None:
    clock, stop = AutoClock(), threading.Event()
    calls: list[float] = []
    clock.call_at(50.0, stop.set)

    until(lambda: calls.append(clock.monotonic()), 1.0, stop, jitter_factor=1.0, clock=clock)

    gaps = [after - before for before, after in pairwise(calls)]
    assert all(1.0 <= gap < 2.0 for gap in gaps)
    assert len(set(gaps)) > 1


def test_what_a_function_raises_ends_its_loop() -> None:
    def fail() -> None:
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        until(fail, 1.0, threading.Event(), clock=AutoClock())


def test_a_poll_without_an_interval_asks_without_sleeping() -> None:
    clock = AutoClock()
    answers = iter([False, False, True])

    poll_until(lambda: next(answers), interval=0.0, clock=clock)

    assert clock.monotonic() == 0.0


def test_a_poll_that_times_out_is_a_timeout_error_that_says_after_how_long() -> None:
    with pytest.raises(TimeoutError, match=r"did not hold within 2\.5 s"):
        poll_until(lambda: False, interval=1.0, timeout=2.5, clock=AutoClock())


def test_a_poll_that_is_stopped_ends_at_once() -> None:
    clock, stop = FakeClock(), threading.Event()
    poll = Background(lambda: poll_until(lambda: False, interval=60.0, stop=stop, clock=clock))
    clock.wait_for_waiters(1)

    stop.set()

    with pytest.raises(WaitCancelledError):
        poll.result()
