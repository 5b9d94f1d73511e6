"""The guarded work of a leader ends before that of another begins."""

from __future__ import annotations

import logging
import threading

import pytest

from clientgo.leaderelection import (
    Ending,
    LeaderElector,
    Leadership,
    LeadershipLostError,
    WorkStillRunningError,
)
from tests.leaderelection.scene import OTHERS, Scene, config_of
from tests.leaderelection.shared_lease import ScriptedLock


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
    elector = LeaderElector(config_of(lock), clock=scene.clock)
    stop = threading.Event()

    assert elector.run(stop) is Ending.FINISHED
    assert elector.run(stop) is Ending.FINISHED
    assert scene.lease.record is not None
    assert scene.lease.record.leader_transitions == 1


def test_running_twice_at_once_is_refused(scene: Scene) -> None:
    a = scene.candidate("a")

    with pytest.raises(RuntimeError, match="runs already"):
        a.elector.run(threading.Event())


def _failing(_: Leadership) -> None:
    raise ZeroDivisionError
