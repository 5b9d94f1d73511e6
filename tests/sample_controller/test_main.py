"""The program around the controller: its exit codes, how its parts are wired."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sample_controller.__main__ as program
from clientgo.leaderelection import Ending, LeaseExpiredError, WorkStillRunningError
from clientgo.observe.serving import HealthReport
from clientgo.rest import RestConfig
from clientgo.testing import FakeClient, Verb
from sample_controller.endpoints import liveness
from sample_controller.options import Election, Options
from tests.sample_controller.test_controller import new_foo


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
    monkeypatch.setattr(
        program,
        "load_config",
        lambda **given: RestConfig(server=given["master"] or "https://default"),
    )
    return _Cluster


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

    code = program.main(["--master", "https://there", "--kube-api-qps=50", "--kube-api-burst=100"])

    assert synced.is_set()
    assert code == 0
    (client,) = cluster.made
    config = client.given
    assert (config.server, config.qps, config.burst) == ("https://there", 50.0, 100)
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


@pytest.mark.parametrize("flag", ["--health-probe-bind-address", "--metrics-bind-address"])
def test_an_address_that_cannot_be_listened_on_is_said_and_ends_with_1(
    flag: str,
    cluster: type[_Cluster],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(program, "setup_signal_handler", threading.Event)
    monkeypatch.setattr(program, "count_metrics", lambda: None)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code = program.main([flag, address])

    assert code == 1
    assert f"cannot listen on {address}" in caplog.text


def test_events_are_logged_with_what_they_are_about(caplog: pytest.LogCaptureFixture) -> None:
    """SAMPLE-05."""
    caplog.set_level("INFO", "clientgo.record")
    stop = threading.Event()
    with FakeClient(new_foo()) as client:
        client.prepend_reactor("create", "events", lambda _: stop.set())
        program.run(client, Options(), stop)

    logged = [record for record in caplog.records if hasattr(record, "reason")]
    assert ("default/example", "Synced") in {(r.object, r.reason) for r in logged}  # type: ignore[attr-defined]


def test_who_loses_the_lease_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that led has left-overs; the one that takes its place has none."""
    monkeypatch.setattr(program, "run_or_raise", lambda config, stop: Ending.LOST)

    with FakeClient() as client:
        code = program.run(client, Options(election=Election(namespace="default")), stopped())

    assert code == 1
    assert "leadership was lost" in caplog.text


def test_the_liveness_probe_watches_the_election(monkeypatch: pytest.MonkeyPatch) -> None:
    class Overdue:
        def check(self, tolerance: float) -> None:
            raise LeaseExpiredError("an hour ago")

    watched: list[Any] = []
    reports: list[HealthReport] = []

    def run_or_raise(config: Any, stop: threading.Event) -> Ending:
        config.health.attach(Overdue())
        reports.append(liveness(*watched).report(only="leaderElection"))
        return Ending.STOPPED

    @contextmanager
    def endpoints(options: Options, controller: Any, health: Any) -> Iterator[None]:
        watched.extend((controller, health))
        yield

    monkeypatch.setattr(program, "run_or_raise", run_or_raise)
    monkeypatch.setattr(program, "endpoints", endpoints)
    with FakeClient() as client:
        program.run(client, Options(election=Election(namespace="default")), stopped())

    assert [report.ok for report in reports] == [False]


def test_work_that_does_not_end_ends_the_process_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another leader may begin: nothing may be waited for."""

    def run_or_raise(config: Any, stop: threading.Event) -> None:
        raise WorkStillRunningError("still at it")

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(program, "run_or_raise", run_or_raise)
    monkeypatch.setattr(program.os, "_exit", leave)

    with FakeClient() as client, pytest.raises(SystemExit) as end:
        program.run(client, Options(election=Election(namespace="default")), stopped())
    assert end.value.code == 1


def stopped() -> threading.Event:
    event = threading.Event()
    event.set()
    return event
