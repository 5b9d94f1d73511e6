"""The clock interface and the machine's clock."""

from __future__ import annotations

import math
import threading
import time

import pytest

from clientgo.testing import FakeClock
from clientgo.util.clock import REAL_CLOCK, monotonic_ns, nanoseconds
from tests.background import Background


def test_sums_of_decimal_seconds_are_the_same_instant_in_nanoseconds() -> None:
    assert 0.1 + 0.2 != 0.3
    assert nanoseconds(0.1 + 0.2) == nanoseconds(0.3) == 300_000_000


def test_an_instant_in_nanoseconds_is_that_of_the_clock() -> None:
    clock = FakeClock()
    clock.step(0.1)
    assert monotonic_ns(clock)() == nanoseconds(clock.monotonic())

    before = nanoseconds(REAL_CLOCK.monotonic())
    assert before <= monotonic_ns(REAL_CLOCK)() <= nanoseconds(REAL_CLOCK.monotonic())


def test_infinity_is_the_longest_duration_that_go_knows() -> None:
    assert nanoseconds(math.inf) == 2**63 - 1
    assert nanoseconds(-math.inf) == -(2**63 - 1)
    assert nanoseconds(1e300) == nanoseconds(2.0**63) == 2**63 - 1
    assert nanoseconds(-1e300) == -(2**63 - 1)


def test_a_duration_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        nanoseconds(math.nan)


def test_the_real_clock_reads_the_machines_clocks() -> None:
    assert abs(REAL_CLOCK.monotonic() - time.monotonic()) < 5
    assert abs(REAL_CLOCK.time() - time.time()) < 5


def test_a_sleep_returns_at_once_when_stop_is_set_already() -> None:
    stop = threading.Event()
    stop.set()

    assert REAL_CLOCK.sleep(3600, stop) is True


def test_a_sleep_ends_when_stop_gets_set() -> None:
    stop = threading.Event()
    sleep = Background(lambda: REAL_CLOCK.sleep(3600, stop))

    stop.set()

    assert sleep.result() is True


def test_a_sleep_of_no_time_returns_at_once() -> None:
    assert REAL_CLOCK.sleep(0) is False
    assert REAL_CLOCK.sleep(-1, threading.Event()) is False


def test_a_sleep_without_a_stop_takes_its_time() -> None:
    before = time.monotonic()

    assert REAL_CLOCK.sleep(0.002) is False

    assert time.monotonic() - before >= 0.002


def test_a_wait_says_whether_it_was_notified() -> None:
    condition = threading.Condition()
    with condition:
        assert REAL_CLOCK.wait(condition, 0.001) is False
        assert REAL_CLOCK.wait_until(condition, REAL_CLOCK.monotonic() - 1) is False
        threading.Thread(target=notify, args=(condition,)).start()
        assert REAL_CLOCK.wait_until(condition, None) is True


def test_a_wait_may_be_longer_than_a_lock_can_wait() -> None:
    condition = threading.Condition()
    with condition:
        threading.Thread(target=notify, args=(condition,)).start()
        assert REAL_CLOCK.wait(condition, 1e12) is True
        threading.Thread(target=notify, args=(condition,)).start()
        assert REAL_CLOCK.wait_until(condition, 1e12) is True


def notify(condition: threading.Condition) -> None:
    with condition:
        condition.notify_all()
