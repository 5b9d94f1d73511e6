"""What callbacks, events and metrics tell of the leader."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from clientgo.leaderelection import LeaderElector
from tests.leaderelection.instruments import Tallies
from tests.leaderelection.scene import OTHERS, Scene


def test_a_callback_about_leaders_that_fails_or_hangs_disturbs_nothing(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """LE-16."""
    a = scene.candidate("a", on_new_leader=_refuse, elector_type=_Unreported)

    scene.advance(4)

    assert scene.leaders() == ["a"]
    a.stop()
    assert "on_new_leader('a') failed" in caplog.text


def test_a_candidate_that_waits_says_once_for_whom(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """LE-16: two programs that share a lease by mistake would wait without a word."""
    caplog.set_level(logging.INFO, "clientgo.leaderelection")
    scene.candidate("a")
    scene.advance(4)
    scene.candidate("b")
    scene.advance(20)

    said = [record.message for record in caplog.records if "stands by" in record.message]
    assert len(said) == 1
    assert said[0].endswith(": a leads; b stands by")


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


class _Unreported(LeaderElector):
    """Shown to the scene as one whose reports need not be waited for."""

    def get_leader(self) -> str:
        return ""

    def _report(self) -> None:
        self._reporter.report(super().get_leader())


def _refuse(identity: str) -> None:
    raise SystemExit(f"I don't want {identity}")
