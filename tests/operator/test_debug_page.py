"""The debug page of a manager, and the command that prints it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.client import Client
from clientgo.operator import Manager
from clientgo.operator.errors import ConfigError
from clientgo.rest import RestConfig
from clientgo.testing.scripted_server import answer
from clientgo.util.certificates import split_certificates
from tests.operator.pages import ask
from tests.operator.world import Gadget, Recording, World, gadget
from tests.tls_server import SERVER, TLSServer


@pytest.fixture
def make_manager(world: World) -> Callable[..., Manager]:
    """Makes managers that serve metrics, beside the world's own."""

    def make(**settings: object) -> Manager:
        config = RestConfig(server=world.server.url, qps=-1)
        return Manager(Client(config), metrics="127.0.0.1:0", **settings)  # type: ignore[arg-type]

    return make


def test_the_page_is_off_by_default(
    make_manager: Callable[..., Manager], capsys: pytest.CaptureFixture[str]
) -> None:
    with make_manager() as manager:
        assert ask(manager.bound.metrics + "/debug/clientgo")[0] == 404
        assert main(["debug", manager.bound.metrics]) == 1
    assert "start the program with debug=True" in capsys.readouterr().err


def test_the_page_shows_controllers_informers_and_threads(
    world: World, make_manager: Callable[..., Manager], capsys: pytest.CaptureFixture[str]
) -> None:
    world.create(gadget())
    recording = Recording()
    manager = make_manager(debug=True)
    manager.controller(Gadget).build(recording)
    with manager:
        recording.wait_for_runs(1)
        port = manager.bound.metrics.rpartition(":")[2]
        assert main(["debug", f":{port}", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert main(["debug", manager.bound.metrics, "default/a"]) == 0
        explained = capsys.readouterr().out
        assert main(["debug", manager.bound.metrics, "a/b/c"]) == 1
        assert "expected namespace/name" in capsys.readouterr().err
    assert report["leadership"] == {"leads": True, "why": "-"}
    assert report["controllers"]["gadget"]["sources"] == {"primary": "synced"}
    assert report["controllers"]["gadget"]["queue"]["known"] == 1
    assert report["informers"]["gadgets.example.com"]["objects"] == 1
    assert any(name.startswith("gadget-worker-1 ") for name in report["threads"])
    assert explained.startswith("gadget: default/a\n")


def test_secure_metrics_guard_the_page_too(
    make_manager: Callable[..., Manager], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("unknown\n")
    with make_manager(debug=True, secure_metrics=True) as manager:
        arguments = ["debug", manager.bound.metrics, "--token-file", str(token), "--insecure"]
        assert main(arguments) == 1
    assert "Unauthorized" in capsys.readouterr().err


def test_the_command_trusts_a_certificate_that_is_no_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Go programs do, if it is among the trusted ones of the system."""
    trusted = tmp_path / "trusted.crt"
    trusted.write_bytes(split_certificates(SERVER.certificate)[0])
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer(body=b"a page"))

        assert main(["debug", server.url]) == 0

    assert capsys.readouterr().out == "a page\n"


def test_a_program_that_does_not_answer_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", "127.0.0.1:1"]) == 1
    assert "127.0.0.1:1: connection refused; is the program running" in capsys.readouterr().err


def test_the_page_needs_the_metrics_server() -> None:
    with pytest.raises(ConfigError, match="debug=True needs the metrics server"):
        Manager("http://127.0.0.1:1", metrics="0", debug=True)
