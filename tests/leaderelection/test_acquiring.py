"""How a candidate becomes leader: its attempts, and when it gives up."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from clientgo.leaderelection import Ending, LeaderElectionRecord, LeaderElector, Leadership
from clientgo.testing import AutoClock
from tests.leaderelection.scene import OTHERS, Scene, config_of
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease


def test_the_first_candidate_leads_and_the_second_stands_by(scene: Scene) -> None:
    a, b = scene.candidate("a"), scene.candidate("b")

    scene.advance(60)

    assert scene.leaders() == ["a"]
    assert a.elector.is_leader()
    assert not b.elector.is_leader()
    assert b.elector.get_leader() == "a"


@pytest.mark.parametrize(("random", "pause"), [(0.0, 2.0), (0.5, 3.2), (0.999, 4.3976)])
def test_attempts_to_acquire_are_spread(scene: Scene, random: float, pause: float) -> None:
    """LE-08: between one and 2.2 retry periods."""
    scene.lease.write(replace(OTHERS, lease_duration_seconds=60))
    a = scene.candidate("a", random=lambda: random)

    scene.advance(3 * pause)

    assert [call.at for call in a.lock.calls] == pytest.approx([pause * n for n in range(4)])


def test_a_candidate_tries_at_the_moment_the_lease_that_it_has_seen_ends(scene: Scene) -> None:
    """LE-13: at 15 s, where the rhythm of its attempts would come to it at 17.6 s."""
    scene.lease.write(OTHERS)
    a = scene.candidate("a", random=lambda: 0.9999)

    scene.advance(15)

    assert a.elector.is_leader()


@pytest.mark.parametrize("since_renewal", [0.0, 1.9])
@pytest.mark.parametrize("random", [0.0, 0.9999])
def test_a_leader_that_falls_silent_is_replaced_within_20_seconds(
    scene: Scene, since_renewal: float, random: float
) -> None:
    """LE-13: 15 s after its last renewal at the earliest, 19.4 s at the latest."""
    a = scene.candidate("a")
    b = scene.candidate("b", random=lambda: random)
    scene.advance(10 + since_renewal)
    a.lock.answers.extend(["server_error"] * 1000)
    last_renewal, dies = 10.0, scene.clock.monotonic()

    scene.advance(25)

    began = next(at for at, name, _ in b.callbacks if name == "started_leading")
    assert last_renewal + 15 <= began <= last_renewal + 15 + 4.4
    assert began - dies < 20


def test_a_candidate_that_is_stopped_never_led(scene: Scene) -> None:
    """LE-15, P-14."""
    scene.lease.write(OTHERS)
    a = scene.candidate("a")

    a.stop()

    assert a.ending is Ending.STOPPED
    assert a.called("stopped_leading") == [False]
    assert a.called("started_leading") == []
    assert scene.lease.record == OTHERS


def test_a_run_that_was_stopped_before_sends_nothing() -> None:
    """LE-08."""
    lock = ScriptedLock(SharedLease(), "a", AutoClock())
    stop = threading.Event()
    stop.set()

    assert LeaderElector(config_of(lock), clock=AutoClock()).run(stop) is Ending.STOPPED
    assert lock.calls == []


def test_a_lease_granted_while_stopping_is_given_back_without_a_term(scene: Scene) -> None:
    a_stop = threading.Event()
    lock = ScriptedLock(scene.lease, "a", scene.clock)
    started: list[Leadership] = []
    granted = lock.create

    def create(record: LeaderElectionRecord, **limits: Any) -> None:
        granted(record, **limits)
        a_stop.set()

    lock.create = create  # type: ignore[method-assign]
    config = config_of(lock, on_started_leading=started.append)

    assert LeaderElector(config, clock=scene.clock).run(a_stop) is Ending.STOPPED
    assert started == []
    assert scene.lease.record is not None
    assert scene.lease.record.holder_identity == ""


def test_a_grant_that_took_as_long_as_the_lease_is_not_used() -> None:
    """P-18: here a process is suspended while it waits for the answer."""
    clock = AutoClock()
    lock = ScriptedLock(SharedLease(), "a", clock)
    terms: list[float] = []
    granted = lock.create

    def create(record: LeaderElectionRecord, **limits: Any) -> None:
        granted(record, **limits)
        clock.step(14)

    lock.create = create  # type: ignore[method-assign]
    config = config_of(lock, on_started_leading=lambda _: terms.append(clock.monotonic()))
    stop = threading.Event()
    clock.call_at(14.5, stop.set)

    LeaderElector(config, clock=clock).run(stop)

    assert terms == []
