"""Durations that cannot work are refused, and the others leave time for the work to stop."""

from __future__ import annotations

import math

import pytest

from clientgo.leaderelection import PATIENT_TIMING, USUAL_TIMING, Timing


@pytest.mark.parametrize(
    ("durations", "text"),
    [
        ((10, 10, 2), "lease_duration .* greater than renew_deadline"),
        ((15, 2.4, 2), "renew_deadline .* 1.2 times retry_period"),
        ((15, 10, -1), "retry_period must be greater than zero"),
        ((15, -1, -2), "renew_deadline must be greater than zero"),
        ((-1, -2, -3), "lease_duration must be greater than zero"),
        ((0, 0, 0), "lease_duration .* greater than renew_deadline"),
        ((math.nan, 10, 2), "lease_duration .* greater than renew_deadline"),
        ((math.inf, 10, 2), "finite"),
    ],
)
def test_durations_that_cannot_work_are_refused_in_a_fixed_order(
    durations: tuple[float, float, float], text: str
) -> None:
    """LE-01."""
    lease, renew, retry = durations

    with pytest.raises(ValueError, match=text):
        Timing(lease_duration=lease, renew_deadline=renew, retry_period=retry)


def test_less_than_a_second_is_refused_since_a_lease_cannot_say_it() -> None:
    """P-17."""
    with pytest.raises(ValueError, match="at least 1 s"):
        Timing(lease_duration=0.9, renew_deadline=0.5, retry_period=0.1)


def test_a_lease_says_no_less_than_what_was_meant() -> None:
    """LE-05, P-17: 1.5 s would otherwise become 1 s."""
    assert Timing(lease_duration=1.5, renew_deadline=1, retry_period=0.2).lease_seconds == 2


def test_the_usual_values_are_there_by_name_and_have_no_default() -> None:
    """LE-02."""
    usual = USUAL_TIMING

    assert (usual.lease_duration, usual.renew_deadline, usual.retry_period) == (15, 10, 2)
    with pytest.raises(TypeError):
        Timing()  # type: ignore[call-arg]


@pytest.mark.parametrize("timing", [USUAL_TIMING, PATIENT_TIMING])
def test_after_the_renew_deadline_there_is_time_to_stop(timing: Timing) -> None:
    """LE-13: told to stop after 12 of 15 s at the usual values."""
    last_told = timing.retry_period + timing.renew_deadline

    assert last_told <= timing.safe_period == timing.lease_duration - timing.stop_margin
    assert timing.stop_margin >= 2
    assert not timing.is_cut_short


def test_a_lease_too_short_for_the_renew_deadline_is_noticed() -> None:
    """P-16: nothing in client-go requires the lease to outlast a retry and the deadline."""
    timing = Timing(lease_duration=12, renew_deadline=11, retry_period=3)

    assert timing.is_cut_short
    assert timing.safe_period == 11


@pytest.mark.parametrize("renew_deadline", [0.5, 1.5, 10, 60])
def test_a_request_that_hangs_leaves_time_for_another(renew_deadline: float) -> None:
    """P-18, LE-24."""
    timing = Timing(
        lease_duration=renew_deadline + 1, renew_deadline=renew_deadline, retry_period=0.1
    )

    assert timing.request_timeout <= renew_deadline / 2
