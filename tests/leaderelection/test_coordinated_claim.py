"""A lease that a coordinator hands out is renewed, and never taken."""

from __future__ import annotations

import threading
from dataclasses import replace
from math import inf

import pytest

from clientgo.leaderelection import Ending, LeaderElectionRecord
from clientgo.leaderelection.coordinated_claim import CoordinatedClaim
from clientgo.leaderelection.lease_claim import Renewal
from clientgo.testing import AutoClock
from tests.leaderelection.instruments import Tally
from tests.leaderelection.scene import OTHERS, USUAL, Scene
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease

_STOP = threading.Event()
_OURS = replace(OTHERS, holder_identity="a", strategy="OldestEmulationVersion")


def _claim(record: LeaderElectionRecord | None) -> tuple[CoordinatedClaim, SharedLease, AutoClock]:
    clock, lease = AutoClock(), SharedLease()
    lease.record = record
    lock = ScriptedLock(lease, "a", clock)
    return CoordinatedClaim(lock, USUAL, clock=clock, slow_path=Tally()), lease, clock


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(None, id="missing"),
        pytest.param(replace(_OURS, holder_identity=""), id="free"),
        pytest.param(replace(_OURS, holder_identity="b"), id="another's"),
        pytest.param(replace(_OURS, preferred_holder="b"), id="to be handed over"),
    ],
)
def test_only_a_lease_that_names_us_is_ours(record: LeaderElectionRecord | None) -> None:
    """LE-26."""
    claim, lease, _ = _claim(record)

    assert not claim.acquire(_STOP)
    assert lease.record == record


def test_a_lease_that_names_us_is_renewed_with_what_the_coordinator_wrote() -> None:
    """LE-26."""
    claim, lease, _ = _claim(_OURS)

    assert claim.acquire(_STOP)
    assert lease.record is not None
    assert lease.record == replace(_OURS, renew_time=lease.record.renew_time)
    assert lease.record.renew_time != _OURS.renew_time


def test_a_lease_that_has_expired_is_left_to_the_coordinator() -> None:
    """LE-26."""
    claim, _, clock = _claim(_OURS)
    assert claim.acquire(_STOP)

    clock.step(15.1)

    assert claim.renew(inf, _STOP) is Renewal.FAILED


def test_naming_a_preferred_holder_ends_a_term() -> None:
    """LE-26: at the next renewal, with a release, so that the other can begin."""
    with Scene() as scene:
        scene.lease.write(_OURS)
        a = scene.candidate("a", coordinated=True)
        scene.advance(3)
        assert scene.leaders() == ["a"]
        assert scene.lease.record is not None
        scene.lease.write(replace(scene.lease.record, preferred_holder="b"))

        scene.advance(1)

        assert a.ending is Ending.LOST
        assert scene.lease.record.holder_identity == ""
        assert scene.lease.record.preferred_holder == "b"
