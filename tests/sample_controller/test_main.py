"""The program around the controller: its command line, its exit codes, how its parts are wired."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import sample_controller.__main__ as program
from clientgo.rest import RestConfig
from clientgo.testing import FakeClient, Verb
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
    sync_once = FooSyncer.sync

    def sync(syncer: Any, name: Any) -> None:
        sync_once(syncer, name)
        synced.set()
        stop.set()

    monkeypatch.setattr(FooSyncer, "sync", sync)

    code = program.main(["--master", "https://there"])

    assert synced.is_set()
    assert code == 0
    (client,) = cluster.made
    assert client.given.server == "https://there"
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


@pytest.mark.parametrize("argument", ["--nonsense", "--master-url=x", "extra", "--leader-elect"])
def test_a_mistake_is_said_and_ends_with_2(
    argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        program.main([argument])

    assert end.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"python -m sample_controller: error: unrecognized arguments: {argument}"
    )


def test_events_are_logged_with_what_they_are_about(caplog: pytest.LogCaptureFixture) -> None:
    """SAMPLE-05."""
    caplog.set_level("INFO", "clientgo.record")
    stop = threading.Event()
    with FakeClient(new_foo()) as client:
        client.prepend_reactor("create", "events", lambda _: stop.set())
        program.run(client, stop)

    logged = [record for record in caplog.records if hasattr(record, "reason")]
    assert ("default/example", "Synced") in {(r.object, r.reason) for r in logged}  # type: ignore[attr-defined]
