"""Growing delays."""

from __future__ import annotations

import pytest

from clientgo.testing import AutoClock
from clientgo.util.wait import Backoff, BackoffManager, BackoffSteps, Reset, jitter

GROWING = Backoff(duration=1.0, factor=2.0, steps=10, cap=30.0)


def test_delays_grow_by_the_factor_up_to_the_cap() -> None:
    """RTY-05: a value beyond the cap becomes the cap and uses up the steps."""
    steps = BackoffSteps(Backoff(duration=1.0, factor=3.0, steps=10, cap=5.0))

    assert [steps.step() for _ in range(4)] == [1.0, 3.0, 5.0, 5.0]
    assert steps.remaining == 0


def test_the_growth_does_not_see_the_jitter() -> None:
    """RTY-03."""
    steps = BackoffSteps(
        Backoff(duration=1.0, factor=2.0, jitter=0.5, steps=3),
        random=iter([0.5, 0.0, 1.0]).__next__,
    )

    assert [steps.step() for _ in range(3)] == [1.25, 2.0, 6.0]


def test_one_backoff_serves_any_number_of_walks() -> None:
    first, second = BackoffSteps(GROWING), BackoffSteps(GROWING)
    first.step()
    first.step()

    assert second.step() == 1.0


def test_a_factor_of_zero_draws_no_random_number() -> None:
    def fail() -> float:
        raise AssertionError("drawn")

    assert jitter(3.0, 0.0, random=fail) == 3.0
    assert jitter(3.0, 0.5, random=lambda: 0.5) == 3.75


def test_a_manager_starts_over_after_a_quiet_interval() -> None:
    """RFL-06: the interval is measured from the last delay, so an outage does not end it."""
    clock = AutoClock()
    manager = BackoffManager(GROWING, 60.0, clock=clock)

    def wait_out(delays: int) -> list[float]:
        taken = []
        for _ in range(delays):
            taken.append(manager.step())
            clock.sleep(taken[-1])
        return taken

    assert wait_out(9) == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]
    clock.step(30.0)
    assert manager.step() == 30.0
    clock.step(60.000000001)
    assert manager.step() == 1.0


def test_a_manager_can_start_over_in_the_middle_of_an_outage_as_client_go_does() -> None:
    """RFL-06: upstream's reset."""
    clock = AutoClock()
    manager = BackoffManager(GROWING, 60.0, clock=clock, reset=Reset.AFTER_INTERVAL)
    taken = []
    for _ in range(8):
        taken.append(manager.step())
        clock.sleep(taken[-1])

    assert taken == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 1.0, 2.0]


@pytest.mark.parametrize("reset", list(Reset))
def test_a_manager_without_an_interval_never_starts_over(reset: Reset) -> None:
    clock = AutoClock()
    manager = BackoffManager(GROWING, clock=clock, reset=reset)
    manager.step()
    clock.step(1e6)

    assert manager.step() == 2.0
