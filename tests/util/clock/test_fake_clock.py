"""Clocks that only the test moves."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from clientgo.testing import AutoClock, FakeClock
from tests.background import Background


def test_time_stands_still_until_it_is_stepped() -> None:
    clock = FakeClock(start=5.0, wall=1000.0)
    assert (clock.monotonic(), clock.time()) == (5.0, 1000.0)

    clock.step(2.5)

    assert (clock.monotonic(), clock.time()) == (7.5, 1002.5)


def test_many_small_steps_add_up_exactly() -> None:
    clock = FakeClock()

    for _ in range(1000):
        clock.step(0.001)

    assert clock.monotonic() == 1.0


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        FakeClock().step(-1)


def test_a_step_wakes_exactly_the_sleeps_that_are_due() -> None:
    clock = FakeClock()
    short = Background(lambda: clock.sleep(1.0))
    long = Background(lambda: clock.sleep(2.0))
    clock.wait_for_waiters(2)

    clock.step(1.0)

    assert short.result() is False
    assert long.is_running
    assert clock.next_deadline() == 2.0
    clock.step(1.0)
    assert long.result() is False
    assert not clock.has_waiters()


def test_a_sleep_of_no_time_does_not_wait_for_a_step() -> None:
    assert FakeClock().sleep(0) is False


def test_a_stop_ends_a_sleep_without_a_step() -> None:
    clock, stop = FakeClock(), threading.Event()
    sleep = Background(lambda: clock.sleep(1.0, stop))
    clock.wait_for_waiters(1)

    stop.set()

    assert sleep.result() is True
    assert not clock.has_waiters()
    assert clock.sleep(1.0, stop) is True


@pytest.mark.parametrize("absolute", [False, True])
def test_a_condition_wait_ends_by_its_deadline(absolute: bool) -> None:
    clock, condition = FakeClock(start=10.0), threading.Condition()

    def wait() -> bool:
        with condition:
            return clock.wait_until(condition, 12.0) if absolute else clock.wait(condition, 2.0)

    waiting = Background(wait)
    clock.wait_for_waiters(1)
    clock.step(1.999999999)
    assert waiting.is_running
    clock.step(0.000000001)

    assert waiting.result() is False


@pytest.mark.parametrize("timeout", [None, 2.0])
def test_a_condition_wait_ends_by_a_notification(timeout: float | None) -> None:
    clock, condition = FakeClock(), threading.Condition()
    arrived = threading.Event()

    def wait() -> bool:
        with condition:
            arrived.set()
            return clock.wait(condition, timeout)

    waiting = Background(wait)
    arrived.wait(30)
    with condition:
        condition.notify()

    assert waiting.result() is True
    assert not clock.has_waiters()


def test_a_wait_for_a_past_instant_returns_at_once() -> None:
    clock, condition = FakeClock(start=10.0), threading.Condition()
    with condition:
        assert clock.wait_until(condition, 10.0) is False
        assert clock.wait(condition, 0.0) is False


def test_waiting_for_a_component_that_never_arrives_says_so() -> None:
    with pytest.raises(TimeoutError, match="expected 1 waits on the fake clock, found 0"):
        FakeClock().wait_for_waiters(1, timeout=0.001)


def test_a_run_shows_each_thread_the_instants_it_waited_for() -> None:
    clock = FakeClock()
    seen: list[float] = []

    def beat() -> None:
        for _ in range(3):
            clock.sleep(0.5)
            seen.append(clock.monotonic())

    beating = Background(beat)
    clock.wait_for_waiters(1)

    clock.run_for(1.25, at_rest=clock.has_waiters)

    assert seen == [0.5, 1.0]
    assert clock.monotonic() == 1.25
    clock.step(1)
    beating.result()


def test_an_auto_clock_sleeps_by_moving_time_on() -> None:
    clock = AutoClock()

    assert clock.sleep(2.0) is False
    condition = threading.Condition()
    assert clock.wait(condition, 1.0) is False
    assert clock.wait_until(condition, 4.5) is False

    assert clock.monotonic() == 4.5


def test_an_auto_clock_does_on_the_way_what_was_planned() -> None:
    clock, stop = AutoClock(), threading.Event()
    happened: list[float] = []
    clock.call_at(2.0, lambda: happened.append(clock.monotonic()))
    clock.call_at(1.0, lambda: happened.append(clock.monotonic()))
    clock.call_at(3.0, stop.set)

    assert clock.sleep(10.0, stop) is True

    assert happened == [1.0, 2.0]
    assert clock.monotonic() == 3.0


def test_an_auto_clock_refuses_to_wait_for_ever() -> None:
    with pytest.raises(RuntimeError, match="one thread"):
        AutoClock().wait(threading.Condition(), None)


def test_the_fake_clock_loads_without_the_other_test_tools() -> None:
    script = (
        "import sys; from clientgo.testing import FakeClock; "
        "print([m for m in sys.modules if m.startswith(('kubernetes', 'clientgo.'))])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "clientgo.testing.fake_clock" in loaded
    assert "kubernetes" not in loaded
    assert "clientgo.testcluster.server" not in loaded


def test_an_unknown_name_of_the_test_tools_is_an_attribute_error() -> None:
    import clientgo.testing

    with pytest.raises(AttributeError, match="no attribute 'no_such_tool'"):
        _ = clientgo.testing.no_such_tool
    assert "FakeClock" in dir(clientgo.testing)
