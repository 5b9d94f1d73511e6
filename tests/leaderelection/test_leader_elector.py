"""Candidates compete, one leads, and its guarded work ends before another's begins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo.leaderelection import (
    Ending,
    LeaderElectionConfig,
    LeaderElectionRecord,
    LeaderElector,
    LeaderHealth,
    Leadership,
    LeadershipLostError,
    LeaseExpiredError,
    Timing,
    WorkStillRunningError,
    run_or_raise,
)
from clientgo.testing import AutoClock
from tests.leaderelection.instruments import Tallies
from tests.leaderelection.scene import Scene
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease

OTHERS = LeaderElectionRecord(
    holder_identity="other",
    lease_duration_seconds=15,
    acquire_time=datetime(1999, 1, 1, tzinfo=UTC),
    renew_time=datetime(1999, 1, 1, tzinfo=UTC),
    leader_transitions=3,
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


# Acquiring


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

    assert LeaderElector(_config(lock), clock=AutoClock()).run(stop) is Ending.STOPPED
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
    config = _config(lock, on_started_leading=started.append)

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
    config = _config(lock, on_started_leading=lambda _: terms.append(clock.monotonic()))
    stop = threading.Event()
    clock.call_at(14.5, stop.set)

    LeaderElector(config, clock=clock).run(stop)

    assert terms == []


# Renewing


def test_a_leader_renews_at_once_and_then_every_retry_period(scene: Scene) -> None:
    """LE-12."""
    a = scene.candidate("a")

    scene.advance(6)

    updates = [call.at for call in a.lock.calls if call.op == "update"]
    assert updates == [0, 2, 4, 6]


def test_failed_renewals_keep_to_their_beat_until_the_deadline(scene: Scene) -> None:
    """LE-12, LE-13: told to stop 12 s after the last renewal; 3 s of the lease are left."""
    a = scene.candidate("a", release_on_stop=False)
    scene.advance(1)
    a.lock.answers.extend(["server_error"] * 1000)

    scene.advance(20)

    assert [call.at for call in a.lock.calls if call.op == "get" and call.at > 1] == [
        2,
        4,
        6,
        8,
        10,
    ]
    assert _ended_at(a) == 12
    assert a.ending is Ending.LOST


def test_a_request_that_hangs_leaves_time_for_others(scene: Scene) -> None:
    """LE-14, P-18: client-go waits for one request until it is too late."""
    a = scene.candidate("a")
    scene.advance(1)
    a.lock.answers.append("hang")

    scene.advance(20)

    assert scene.leaders() == ["a"]
    assert [call.error for call in a.lock.calls if call.at == 2] == ["TimeoutError"]


def test_slow_answers_do_not_prolong_a_term_beyond_its_lease(scene: Scene) -> None:
    """P-18: each deadline begins with an attempt; the lease began when the last one was sent."""
    a = scene.candidate("a")
    scene.advance(1)
    # Carried out at 2 s, but the answer is lost; nothing gets through after that.
    a.lock.answers.extend(["lost"] + ["hang"] * 100)

    scene.advance(30)

    assert _ended_at(a) <= 13


def test_a_lock_that_hangs_for_ever_does_not_keep_the_work_going(scene: Scene) -> None:
    """P-18: the work is told to stop by a thread that sends nothing."""
    a = scene.candidate("a")
    a.lock.answers.append("stuck")
    scene.clock.step(2)
    assert a.lock.stuck.wait(60)

    scene.clock.step(11)  # 13 s after the renewal at 0 s; the thread of the renewals is stuck
    scene.clock.wait_for(lambda: scene.clock.next_deadline() == 18)
    scene.clock.step(5)

    assert a.finished.wait(60)
    assert _ended_at(a) == 13
    assert a.ending is Ending.LOST
    assert scene.lease.record is not None
    assert scene.lease.record.holder_identity == "a", "the stuck request may use the lock yet"


def test_durations_that_leave_no_time_are_warned_of_and_cut_short(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """P-16: with client-go this leader acts until 14.3 s, on a lease of 12 s."""
    timing = Timing(lease_duration=12, renew_deadline=11, retry_period=3.333)
    a = scene.candidate("a", timing=timing)
    assert "gives up 11 s after its last renewal" in caplog.text
    a.lock.answers.extend(["server_error"] * 1000)

    scene.advance(20)

    assert _ended_at(a) == 11


def test_a_leader_whose_lease_was_taken_stops_when_it_sees_that(scene: Scene) -> None:
    """LE-16: somebody edited the lease."""
    a = scene.candidate("a")
    scene.advance(3)
    scene.lease.write(OTHERS)

    scene.advance(1)

    assert (a.ending, _ended_at(a)) == (Ending.LOST, 4)
    assert a.called("new_leader") == ["a", "other"]
    assert scene.lease.record == OTHERS


def test_a_deleted_lease_is_put_back_by_its_leader(scene: Scene) -> None:
    a = scene.candidate("a")
    scene.advance(3)
    scene.lease.write(None)

    scene.advance(1)

    assert scene.leaders() == ["a"]
    assert scene.lease.record is not None
    assert a.called("stopped_leading") == []


def test_a_deleted_lease_is_not_taken_while_its_leader_may_act(scene: Scene) -> None:
    """LE-10: whoever has seen it waits for its end, even if its leader cannot put it back."""
    a, b = scene.candidate("a"), scene.candidate("b")
    scene.advance(3)
    scene.lease.write(None)
    a.lock.answers.extend(["server_error"] * 20)

    scene.advance(20)

    assert scene.leaders() == ["b"]
    assert (a.ending, _ended_at(a)) == (Ending.LOST, 14)
    assert b.called_at("started_leading") >= [15.0]
    assert b.leadership is not None
    assert b.leadership.transitions == 1


def test_a_newcomer_cannot_know_of_a_deleted_lease_and_the_leader_stops_when_it_sees_it(
    scene: Scene,
) -> None:
    a = scene.candidate("a")
    scene.advance(3)
    scene.lease.write(None)

    scene.candidate("b")
    scene.advance(1)

    assert scene.leaders() == ["b"]
    assert (a.ending, _ended_at(a)) == (Ending.LOST, 4)


def test_a_lost_answer_costs_nothing(scene: Scene) -> None:
    a = scene.candidate("a")
    scene.advance(1)
    a.lock.answers.append("lost")

    scene.advance(30)

    assert scene.leaders() == ["a"]
    assert len(a.called("started_leading")) == 1


# The guarded work


def test_the_lease_is_given_up_after_the_work_has_ended(scene: Scene) -> None:
    """LE-15, LE-18, P-13: renewed meanwhile, even for longer than a lease lasts."""
    may_end = threading.Event()
    a = scene.candidate("a", work=lambda _: may_end.wait())
    a.request_stop()
    assert a.leadership is not None
    assert a.leadership.stop.wait(60)

    for second in range(1, 26):
        scene.clock.step(1)
        scene.clock.wait_for_waiters(2)
        assert scene.lease.record is not None
        assert scene.lease.record.holder_identity == "a"
        if second % 2 == 0:
            assert a.lock.calls[-1].at == second
    may_end.set()

    assert a.finished.wait(60)
    assert scene.lease.record is not None
    assert scene.lease.record.holder_identity == ""
    assert a.ending is Ending.STOPPED


def test_another_leads_at_once_after_a_release(scene: Scene) -> None:
    """LE-18."""
    a, b = scene.candidate("a"), scene.candidate("b")
    scene.advance(5)

    a.stop()
    scene.advance(2)

    assert scene.leaders() == ["b"]
    assert b.leadership is not None
    assert b.leadership.transitions == 1
    assert b.called("new_leader") == ["a", "b"]


def test_without_release_others_wait_until_the_lease_ends(scene: Scene) -> None:
    """LE-18."""
    a = scene.candidate("a", release_on_stop=False)
    b = scene.candidate("b")
    scene.advance(2)

    a.stop()

    scene.advance(14)
    assert scene.leaders() == []
    scene.advance(3)
    assert scene.leaders() == ["b"]
    assert "get" not in [call.op for call in a.lock.calls[1:]]
    assert b.elector.is_leader()


def test_work_that_does_not_stop_keeps_the_lease_from_being_released(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """P-13: its end can't be waited for for ever; the caller is told to end the process."""
    caplog.set_level(logging.INFO, "clientgo.leaderelection")
    may_end = threading.Event()
    a = scene.candidate("a", work=lambda _: may_end.wait(), stop_timeout=5)
    a.request_stop()
    assert a.leadership is not None
    assert a.leadership.stop.wait(60)

    scene.clock.wait_for_waiters(2)
    scene.clock.step(5)

    assert a.finished.wait(60)
    assert isinstance(a.error, WorkStillRunningError)
    assert a.called("stopped_leading") == [True]
    assert scene.lease.record is not None
    assert scene.lease.record.holder_identity == "a"
    assert "stopped leading" not in caplog.text, "the work goes on"
    may_end.set()


def test_work_that_does_not_stop_is_reported_when_its_lease_ends(scene: Scene) -> None:
    """P-13: after a loss there is no more time than the lease has left."""
    may_end = threading.Event()
    a = scene.candidate("a", work=lambda _: may_end.wait())
    scene.lease.write(OTHERS)

    scene.clock.step(2)
    assert a.leadership is not None
    assert a.leadership.stop.wait(60)
    scene.clock.wait_for_waiters(1)
    scene.clock.step(13)

    assert a.finished.wait(60)
    assert isinstance(a.error, WorkStillRunningError)
    may_end.set()


def test_an_exception_of_the_work_ends_leadership_and_is_raised(scene: Scene) -> None:
    """LE-15, P-23: a dead thread must not keep a lease alive."""
    a = scene.candidate("a", work=_failing)

    assert a.finished.wait(60)
    assert isinstance(a.error, ZeroDivisionError)
    assert a.called("stopped_leading") == [True]
    assert scene.lease.record is not None
    assert scene.lease.record.holder_identity == ""


def test_work_that_returns_is_done_with_leading(scene: Scene) -> None:
    """P-23."""
    a = scene.candidate("a", work=lambda _: None)

    assert a.finished.wait(60)
    assert a.ending is Ending.FINISHED
    assert scene.lease.record is not None
    assert scene.lease.record.holder_identity == ""


def test_work_that_notices_the_loss_itself_has_not_failed(scene: Scene) -> None:
    """P-22: a check raises before an action, and the term ends as lost."""

    def act(leadership: Leadership) -> None:
        leadership.stop.wait()
        leadership.check()

    a = scene.candidate("a", work=act)
    scene.lease.write(OTHERS)

    scene.advance(2)

    assert (a.ending, a.error) == (Ending.LOST, None)


def test_work_that_notices_the_loss_before_we_do_ends_a_lost_term(scene: Scene) -> None:
    """P-22: as in a process that was suspended."""

    def act(leadership: Leadership) -> None:
        raise LeadershipLostError

    a = scene.candidate("a", work=act)

    assert a.finished.wait(60)
    assert (a.ending, a.error) == (Ending.LOST, None)


def test_leadership_looks_at_the_clock_not_only_at_its_stop(scene: Scene) -> None:
    """P-18: a suspended process finds out before it acts, whichever thread runs first."""
    leadership = Leadership("a", 7, safe_until=13.0, clock=scene.clock)
    leadership.check()
    assert leadership.remaining() == 13

    scene.clock.step(13)

    assert not leadership.stop.is_set()
    assert leadership.remaining() == 0
    with pytest.raises(LeadershipLostError, match="a does not lead any more"):
        leadership.check()


def test_each_term_has_a_higher_token(scene: Scene) -> None:
    """P-22."""
    tokens = []
    for identity in ("a", "b", "a", "c"):
        candidate = scene.candidate(identity)
        scene.advance(5)
        assert candidate.leadership is not None
        tokens.append(candidate.leadership.transitions)
        candidate.stop()

    assert tokens == [0, 1, 2, 3]


def test_an_elector_can_run_again(scene: Scene) -> None:
    lock = ScriptedLock(scene.lease, "a", scene.clock)
    elector = LeaderElector(_config(lock), clock=scene.clock)
    stop = threading.Event()

    assert elector.run(stop) is Ending.FINISHED
    assert elector.run(stop) is Ending.FINISHED
    assert scene.lease.record is not None
    assert scene.lease.record.leader_transitions == 1


def test_running_twice_at_once_is_refused(scene: Scene) -> None:
    a = scene.candidate("a")

    with pytest.raises(RuntimeError, match="runs already"):
        a.elector.run(threading.Event())


# What others learn


def test_a_callback_about_leaders_that_fails_or_hangs_disturbs_nothing(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """LE-16."""
    a = scene.candidate("a", on_new_leader=_refuse, elector_type=_Unreported)

    scene.advance(4)

    assert scene.leaders() == ["a"]
    a.stop()
    assert "on_new_leader('a') failed" in caplog.text


def test_everyone_learns_of_each_leader_once_and_in_order(scene: Scene) -> None:
    """LE-16, LE-17."""
    a = scene.candidate("a", release_on_stop=False)
    b = scene.candidate("b")
    c = scene.candidate("c", random=lambda: 0.5)
    scene.advance(4)
    a.stop()
    scene.advance(30)

    assert a.called("new_leader") == ["a"]
    assert b.called("new_leader") == ["a", "b"]
    assert c.called("new_leader") == ["a", "b"]
    assert c.elector.get_leader() == "b"


def test_an_empty_lease_is_reported_as_having_no_leader(scene: Scene) -> None:
    """LE-16."""
    scene.lease.write(OTHERS)
    a = scene.candidate("a")
    scene.lease.write(replace(OTHERS, holder_identity=""))
    a.lock.answers.extend(["pass", "conflict"])

    scene.advance(5)

    assert a.called("new_leader") == ["other", "", "a"]


def test_events_tell_when_a_term_began_and_that_it_is_over_after_the_release(scene: Scene) -> None:
    """LE-20."""
    a = scene.candidate("a")
    scene.advance(1)

    a.stop()

    said = [call.message or call.op for call in a.lock.calls]
    assert said == ["get", "create", "became leader", "update", "get", "update", "stopped leading"]


def test_the_gauge_says_whether_we_lead(scene: Scene) -> None:
    """LE-02, LE-25."""
    metrics = Tallies()
    a = scene.candidate("a", metrics=metrics, name="foo")
    gauge = metrics.of["leader_election_master_status", "foo"]
    assert gauge.history == [0, 1]
    a.lock.answers.append("conflict")
    scene.advance(2)

    a.stop()

    assert gauge.history == [0, 1, 0]
    assert metrics.of["leader_election_slowpath_total", "foo"].value == 1


def test_metrics_bear_the_name_of_the_lock_unless_told_otherwise(scene: Scene) -> None:
    metrics = Tallies()
    scene.candidate("a", metrics=metrics)

    assert ("leader_election_master_status", "default/le") in metrics.of


# Health


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
    config = _config(lock, health=Noting(tolerance=0))

    assert run_or_raise(config, threading.Event(), clock=scene.clock) is Ending.FINISHED
    assert [type(elector) for elector in attached] == [LeaderElector]


# Configuration


@pytest.mark.parametrize("part", ["on_started_leading", "on_stopped_leading", "lock"])
def test_what_an_election_needs_must_be_there(part: str) -> None:
    """LE-01, P-23: a ValueError, not the end of the process."""
    lock = ScriptedLock(SharedLease(), "a", AutoClock())

    with pytest.raises(ValueError, match=f"{part} is missing"):
        _config(lock, **{part: None})


def test_a_candidate_needs_an_identity() -> None:
    """LE-01."""
    with pytest.raises(ValueError, match="identity of lock default/le is empty"):
        _config(ScriptedLock(SharedLease(), "", AutoClock()))


def test_a_negative_stop_timeout_is_refused() -> None:
    with pytest.raises(ValueError, match="stop_timeout"):
        _config(ScriptedLock(SharedLease(), "a", AutoClock()), stop_timeout=-1)


class _Unreported(LeaderElector):
    """Shown to the scene as one whose reports need not be waited for."""

    def get_leader(self) -> str:
        return ""

    def _report(self) -> None:
        self._reporter.report(super().get_leader())


def _config(lock: Any, /, **options: Any) -> LeaderElectionConfig:
    parts: dict[str, Any] = {
        "timing": Timing(lease_duration=15, renew_deadline=10, retry_period=2),
        "lock": lock,
        "on_started_leading": lambda _: None,
        "on_stopped_leading": lambda _: None,
    }
    return LeaderElectionConfig(**parts | options)


def _ended_at(candidate: Any) -> float:
    (at,) = [at for at, name, _ in candidate.callbacks if name == "work_ended"]
    return at


def _failing(_: Leadership) -> None:
    raise ZeroDivisionError


def _refuse(identity: str) -> None:
    raise SystemExit(f"I don't want {identity}")


def _is_healthy(health: LeaderHealth) -> bool:
    try:
        health.check()
    except LeaseExpiredError:
        return False
    return True
