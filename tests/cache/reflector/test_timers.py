"""The resync timer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clientgo.cache.reflector.timers import ResyncTimer
from clientgo.testing import FakeClock


@contextmanager
def ticking(clock: FakeClock, tick: Callable[[], None]) -> Iterator[ResyncTimer]:
    stop = threading.Event()
    timer = ResyncTimer(10.0, tick, clock=clock, name="timer")
    timer.start(stop)
    try:
        yield timer
    finally:
        stop.set()
        timer.join()


def test_it_ticks_at_every_period_from_its_start() -> None:
    """RFL-30."""
    clock, ticks = FakeClock(start=3.0), []
    with ticking(clock, lambda: ticks.append(clock.monotonic())):
        clock.wait_for_waiters(1)
        clock.run_for(25.0, lambda: clock.next_deadline() is not None)
    assert ticks == [13.0, 23.0]


def test_starting_it_again_changes_nothing() -> None:
    """FIELD-10."""
    clock, ticks = FakeClock(), []
    with ticking(clock, lambda: ticks.append(clock.monotonic())) as timer:
        clock.wait_for_waiters(1)
        clock.step(6.0)
        timer.start(threading.Event())
        clock.run_for(4.0, lambda: clock.next_deadline() is not None)
    assert ticks == [10.0]


def test_beats_that_a_slow_call_missed_are_dropped() -> None:
    """FIELD-10."""
    clock, ticks = FakeClock(), []

    def slow() -> None:
        ticks.append(clock.monotonic())
        if len(ticks) == 1:
            clock.step(25.0)

    with ticking(clock, slow):
        clock.wait_for_waiters(1)
        clock.run_for(10.0, lambda: clock.next_deadline() is not None)
        assert clock.next_deadline() == 40.0


def test_one_that_never_started_has_nothing_to_wait_for() -> None:
    ResyncTimer(10.0, lambda: None, clock=FakeClock(), name="timer").join()
