"""Which handler is resynced when."""

from __future__ import annotations

import math

import pytest

from clientgo.cache.informer.shared_processor import ResyncSchedule, checked_period
from clientgo.testing import FakeClock
from clientgo.util.clock import nanoseconds


def ticks(schedule: ResyncSchedule, period: float, count: int) -> list[bool]:
    return [schedule.tick(nanoseconds(period * n)) for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("requested", "check", "expected"),
    [
        (0.0, 10.0, [False, False, False, False]),
        (10.0, 0.0, [False, False, False, False]),
        (10.0, 10.0, [True, True, True, True]),
        (3.0, 10.0, [True, True, True, True]),
        (20.0, 10.0, [False, True, False, True]),
        (15.0, 10.0, [False, True, False, True]),
        (25.0, 10.0, [False, False, True, False]),
    ],
)
def test_a_handler_is_due_at_the_tick_after_its_period(
    requested: float, check: float, expected: list[bool]
) -> None:
    """RSY-04, RSY-05."""
    schedule = ResyncSchedule(requested, check, FakeClock())
    assert ticks(schedule, 10.0, 4) == expected


def test_it_counts_as_syncing_until_the_first_tick_and_then_as_the_last_tick_said() -> None:
    """RSY-06."""
    schedule = ResyncSchedule(20.0, 10.0, FakeClock())
    assert schedule.is_syncing
    schedule.tick(nanoseconds(10.0))
    assert not schedule.is_syncing
    schedule.tick(nanoseconds(20.0))
    assert schedule.is_syncing


def test_a_shorter_check_period_lets_handlers_have_what_they_asked_for() -> None:
    """RSY-03."""
    schedule = ResyncSchedule(5.0, 10.0, FakeClock())
    schedule.check_period_changed(5.0)
    schedule.tick(nanoseconds(10.0))
    assert schedule.tick(nanoseconds(15.0))


def test_less_than_a_second_is_raised_to_one(caplog: pytest.LogCaptureFixture) -> None:
    """RSY-02."""
    assert checked_period(0.1) == 1.0
    assert "raised" in caplog.text
    assert checked_period(0.0) == 0.0


def test_a_period_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        checked_period(math.nan)
