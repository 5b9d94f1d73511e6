"""The production example: its exit codes, and how its parts are wired."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

import examples.production_controller.__main__ as program
from clientgo.control_loop import ControlLoop
from clientgo.leaderelection import LeadershipLostError, WorkStillRunningError
from clientgo.observe.metrics import NO_METRICS, set_default_provider
from clientgo.rest import RestConfig
from clientgo.testing import FakeClient, Verb
from examples.production_controller.options import Election, Options
from sample_controller.controller import FooSyncer
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
    """Replaces the client, and stops the program after its first sync."""
    stop = threading.Event()
    _Cluster.made = []
    monkeypatch.setattr(program, "Client", _Cluster)
    monkeypatch.setattr(program, "setup_signal_handler", lambda: stop)
    monkeypatch.setattr(
        program,
        "load_config",
        lambda **given: RestConfig(server=given["master"] or "https://default"),
    )
    sync_once = FooSyncer.sync

    def sync(syncer: Any, name: Any) -> None:
        sync_once(syncer, name)
        stop.set()

    monkeypatch.setattr(FooSyncer, "sync", sync)
    return _Cluster


def test_a_signal_ends_the_program_in_order(cluster: type[_Cluster]) -> None:
    """What was begun is finished, events included; the exit code is 0."""
    code = program.main(["--master", "https://there", "--kube-api-qps=50", "--kube-api-burst=100"])

    assert code == 0
    (client,) = cluster.made
    config = client.given
    assert (config.server, config.qps, config.burst) == ("https://there", 50.0, 100)
    events = [
        action.body
        for action in client.actions()
        if action.resource.resource == "events" and action.verb is Verb.CREATE
    ]
    assert [(event["reason"], event["source"]["component"]) for event in events] == [
        ("Synced", "sample-controller")
    ]


def test_a_configuration_that_cannot_be_read_is_said_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(program, "setup_signal_handler", threading.Event)

    code = program.main(["--kubeconfig", str(tmp_path / "nowhere")])

    assert code == 1
    assert "nowhere" in caplog.text


@pytest.mark.parametrize("flag", ["--health-probe-bind-address", "--metrics-bind-address"])
@pytest.mark.usefixtures("cluster")
def test_an_address_that_cannot_be_listened_on_is_said_and_ends_with_1(
    flag: str, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            code = program.main([flag, address])
    finally:
        set_default_provider(NO_METRICS)

    assert code == 1
    assert f"cannot listen on {address}" in caplog.text


@pytest.mark.usefixtures("cluster")
def test_a_trace_is_printed_and_written_as_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.json"

    code = program.main(["--master=https://there", "--trace", f"--trace-json={file}"])

    assert code == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("sync.end" in line and "default/example" in line for line in lines)
    assert "sync default/example" in {event["name"] for event in json.loads(file.read_text())}


@pytest.mark.usefixtures("cluster")
def test_a_trace_file_that_cannot_be_written_is_said_and_ends_with_1(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = program.main(["--master=https://there", f"--trace-json={tmp_path}/no/such/file"])

    assert code == 1
    assert "--trace-json" in caplog.text


@pytest.mark.usefixtures("cluster")
def test_a_process_that_loses_the_lease_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that led has left-overs; the one that takes its place has none."""
    monkeypatch.setattr(ControlLoop, "run", failing(LeadershipLostError("taken")))

    assert program.main(["--leader-elect"]) == 1
    assert "leadership was lost: taken" in caplog.text


@pytest.mark.usefixtures("cluster")
def test_work_that_does_not_end_ends_the_process_immediately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process may begin the same work: nothing may be waited for."""

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(ControlLoop, "run", failing(WorkStillRunningError("still at it")))
    monkeypatch.setattr("os._exit", leave)

    with pytest.raises(SystemExit) as end:
        program.main(["--leader-elect"])
    assert end.value.code == 1


def failing(error: Exception) -> Any:
    def run(*_: object, **__: object) -> None:
        raise error

    return run


def test_the_parts_are_made_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    init = ControlLoop.__init__

    def note(loop: ControlLoop, *arguments: Any, **options: Any) -> None:
        made.append(options)
        init(loop, *arguments, **options)

    ran: list[int] = []
    monkeypatch.setattr(ControlLoop, "__init__", note)
    monkeypatch.setattr(ControlLoop, "run", lambda *_, workers: ran.append(workers))
    election = Election(namespace="ns", name="n")
    options = Options(election=election, shards=4, workers=3, namespace="one", resync=5.0)
    with FakeClient() as client:
        program.run(client, options, threading.Event())

    assert ran == [3]
    (given,) = made
    expected = {"lease": "ns/n", "shards": 4, "namespace": "one", "resync": 5.0, "health": ""}
    assert {name: given[name] for name in expected} == expected
    assert given["timing"] == election.timing
