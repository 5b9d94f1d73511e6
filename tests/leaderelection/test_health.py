"""The health of a process whose lease has expired."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from clientgo.leaderelection import (
    Ending,
    LeaderElector,
    LeaderHealth,
    LeaseExpiredError,
    run_or_raise,
)
from tests.leaderelection.scene import OTHERS, Scene, config_of
from tests.leaderelection.shared_lease import ScriptedLock


def test_health_is_good_until_an_elector_is_attached() -> None:
    """LE-21."""
    health = LeaderHealth(tolerance=0)

    health.check()

    assert health.name == "leaderElection"


@pytest.mark.parametrize(
    ("age", "tolerance", "healthy"),
    [(15, 0, True), (15.1, 0, False), (25, 10, True), (25.1, 10, False)],
)
def test_a_leader_whose_lease_has_expired_is_unhealthy(
    scene: Scene, age: float, tolerance: float, healthy: bool
) -> None:
    """LE-21."""
    a = scene.candidate("a", release_on_stop=False)
    health = LeaderHealth(tolerance)
    health.attach(a.elector)
    a.lock.answers.extend(["server_error"] * 1000)

    scene.advance(age)

    assert _is_healthy(health) == healthy


def test_a_candidate_is_healthy_however_old_the_lease_of_another_is(scene: Scene) -> None:
    """LE-21."""
    scene.lease.write(replace(OTHERS, lease_duration_seconds=5000))
    a = scene.candidate("a")

    scene.advance(1000)

    a.elector.check(0)


def test_run_or_raise_attaches_its_elector(scene: Scene) -> None:
    """LE-21."""
    attached = []

    class Noting(LeaderHealth):
        def attach(self, elector: Any) -> None:
            attached.append(elector)

    lock = ScriptedLock(scene.lease, "a", scene.clock)
    config = config_of(lock, health=Noting(tolerance=0))

    assert run_or_raise(config, threading.Event(), clock=scene.clock) is Ending.FINISHED
    assert [type(elector) for elector in attached] == [LeaderElector]


def _is_healthy(health: LeaderHealth) -> bool:
    try:
        health.check()
    except LeaseExpiredError:
        return False
    return True
