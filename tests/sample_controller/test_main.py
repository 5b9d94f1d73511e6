"""The program around the controller: its options, its exit codes, how its parts are wired."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import sample_controller.__main__ as program
from clientgo.testing import FakeClient, Verb
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
)
from tests.sample_controller.test_controller import World, new_foo


class _Cluster(FakeClient):
    """What the program takes for a client; it remembers what it was made of."""

    made: list[_Cluster]

    def __init__(self, given: Any) -> None:
        super().__init__(new_foo())
        self.given = given
        self.made.append(self)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[_Cluster]:
    _Cluster.made = []
    monkeypatch.setattr(program, "Client", _Cluster)
    monkeypatch.setattr(program, "load_config", lambda **given: given)
    return _Cluster


def test_the_options_of_the_original_have_its_defaults() -> None:
    """SAMPLE-03: and a namespace can be chosen, and the resync, which is fixed upstream."""
    args = program.parse_arguments([])

    assert (args.kubeconfig, args.master) == (None, None)
    assert (args.workers, args.resync, args.namespace) == (2, 30.0, "")


def test_a_signal_ends_the_program_in_order(
    cluster: type[_Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SAMPLE-03, SAMPLE-05: what was begun is finished, events included; the exit code is 0."""
    stop = threading.Event()
    monkeypatch.setattr(program, "setup_signal_handler", lambda: stop)
    synced = threading.Event()
    sync_once = program.Controller.sync

    def sync(controller: Any, name: Any) -> None:
        sync_once(controller, name)
        synced.set()
        stop.set()

    monkeypatch.setattr(program.Controller, "sync", sync)

    code = program.main(["--kubeconfig", "here", "--master", "https://there"])

    assert synced.is_set()
    assert code == 0
    (client,) = cluster.made
    assert client.given == {"kubeconfig": "here", "master": "https://there"}
    # A second round, of the Foo's own status, would count the first event up.
    events = [
        action.body
        for action in client.actions()
        if action.resource.resource == "events" and action.verb is Verb.CREATE
    ]
    assert [(event["reason"], event["source"]["component"]) for event in events] == [
        ("Synced", "sample-controller")
    ]
    assert events[0]["involvedObject"]["kind"] == "Foo"


def test_a_configuration_that_cannot_be_read_is_said_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SAMPLE-03."""
    monkeypatch.setattr(program, "setup_signal_handler", threading.Event)

    code = program.main(["--kubeconfig", str(tmp_path / "nowhere")])

    assert code == 1
    assert "nowhere" in caplog.text


def test_failures_wait_longer_each_time_and_all_of_them_share_a_budget() -> None:
    """SAMPLE-06."""
    queue = World().controller._queue
    limiter = queue._rate_limiter

    assert queue.statistics().name == ""
    assert isinstance(limiter, MaxOfRateLimiter)
    each, together = limiter._limiters
    assert isinstance(each, ItemExponentialFailureRateLimiter)
    assert isinstance(together, BucketRateLimiter)
    assert [each.when("a") for _ in range(20)][::19] == [0.005, 1000.0]
    assert max(together.when(n) for n in range(300)) == 0.0
    assert together.when("one more") == pytest.approx(0.02, abs=0.01)
