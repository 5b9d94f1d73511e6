"""What the configuration of an elector must have."""

from __future__ import annotations

import pytest

from clientgo.testing import AutoClock
from tests.leaderelection.scene import config_of
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease


@pytest.mark.parametrize("part", ["on_started_leading", "on_stopped_leading", "lock"])
def test_what_an_election_needs_must_be_there(part: str) -> None:
    """LE-01, P-23: a ValueError, not the end of the process."""
    lock = ScriptedLock(SharedLease(), "a", AutoClock())

    with pytest.raises(ValueError, match=f"{part} is missing"):
        config_of(lock, **{part: None})


def test_a_candidate_needs_an_identity() -> None:
    """LE-01."""
    with pytest.raises(ValueError, match="identity of lock default/le is empty"):
        config_of(ScriptedLock(SharedLease(), "", AutoClock()))


def test_a_negative_stop_timeout_is_refused() -> None:
    with pytest.raises(ValueError, match="stop_timeout"):
        config_of(ScriptedLock(SharedLease(), "a", AutoClock()), stop_timeout=-1)
