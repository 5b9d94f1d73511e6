"""The assertion that matters most of a controller: it gets there, and then it rests."""

from __future__ import annotations

import time
from collections.abc import Callable

from clientgo.testing.operator.fake_cluster import FakeCluster
from clientgo.testing.operator.waiting import eventually


def assert_stable(
    cluster: FakeCluster,
    reached: Callable[[], object],
    *,
    within: float = 60.0,
    quiet: float = 0.5,
) -> None:
    """Assert that the desired state is reached, that nothing is written from then on, and that it
    is still so. Call it when nothing desired changes any more and faults are over.

    ``within`` and ``quiet`` are seconds of real time: to get there, and without any write to count
    as rest. Raises ``AssertionError`` with the writes that would not end.
    """
    deadline = time.monotonic() + within
    eventually(reached, timeout=within)
    while cluster.wait_for_write(len(cluster.writes()), quiet):
        if time.monotonic() > deadline:
            latest = "; ".join(cluster.writes()[-5:])
            raise AssertionError(f"still writing after {within:g} s, the latest: {latest}")
    if not reached():
        raise AssertionError("the desired state was reached, and then left again")
