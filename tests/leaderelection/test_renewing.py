"""How a leader keeps its lease, and what ends its term."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.leaderelection import Ending, Timing
from tests.leaderelection.scene import OTHERS, Scene


def test_a_leader_renews_at_once_and_then_every_retry_period(scene: Scene) -> None:
    """LE-12."""
    a = scene.candidate("a")

    scene.advance(6)

    updates = [call.at for call in a.lock.calls if call.op == "update"]
    assert updates == [0, 2, 4, 6]


def test_failed_renewals_keep_to_their_beat_until_the_deadline(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
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
    assert "a has lost the lease: it was last renewed 12 s ago" in caplog.text


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


def test_a_leader_whose_lease_was_taken_stops_when_it_sees_that(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """LE-16: another client has changed the lease."""
    a = scene.candidate("a")
    scene.advance(3)
    scene.lease.write(OTHERS)

    scene.advance(1)

    assert (a.ending, _ended_at(a)) == (Ending.LOST, 4)
    assert a.called("new_leader") == ["a", "other"]
    assert scene.lease.record == OTHERS
    assert "a has lost the lease: it is held by other" in caplog.text


def test_a_deleted_lease_is_put_back_by_its_leader(scene: Scene) -> None:
    a = scene.candidate("a")
    scene.advance(3)
    scene.lease.write(None)

    scene.advance(1)

    assert scene.leaders() == ["a"]
    assert scene.lease.record is not None
    assert a.called("stopped_leading") == []


def test_a_deleted_lease_is_not_taken_while_its_leader_may_act(scene: Scene) -> None:
    """LE-10: a candidate that has seen it waits for its end, also if no leader can write it."""
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


def _ended_at(candidate: Any) -> float:
    (at,) = [at for at, name, _ in candidate.callbacks if name == "work_ended"]
    return at
