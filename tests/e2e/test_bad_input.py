"""What is wrong around a controller is said once, clearly, and mended without a restart."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clientgo.client import Client
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from sample_controller.__main__ import main
from sample_controller.demo import install_crd, run_controller, running
from tests.e2e.conftest import Noticed, World, new_foo
from tests.tcp_proxy import TCPProxy


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such kubeconfig"),
        (": [", "is not YAML"),
        ("hello", "is no mapping"),
        ("apiVersion: v1\nkind: Config\nclusters: []\n", "the kubeconfig is empty"),
    ],
    ids=["missing", "malformed", "text", "empty"],
)
def test_a_bad_kubeconfig_gives_one_line_and_exit_code_1(
    content: str | None,
    said: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sample_controller.__main__.setup_signal_handler", lambda: None)
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)

    assert main(["--kubeconfig", str(path)]) == 1

    (line,) = [record.getMessage() for record in caplog.records]
    assert str(path) in line
    assert said in line


def test_a_server_that_comes_up_late_is_waited_for(
    server: EmbeddedAPIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    cable = TCPProxy(urlsplit(server.url).port or 0)
    cable.mend()
    cable.cut()
    caplog.set_level(logging.INFO, "clientgo.cache")
    with ExitStack() as stack:
        stack.callback(cable.cut)
        through_cable = stack.enter_context(Client(RestConfig(server=cable.url, qps=-1.0)))
        noticed = stack.enter_context(Noticed("Foo reflector"))
        stack.enter_context(running("controller", lambda end: run_controller(through_cable, end)))
        assert noticed.wait(), "a server that is down is reported"
        world = World.seen_by(client, server, stack)
        world.create_foo("a")

        cable.mend()

        world.eventually(lambda: world.deployment("a"))
    lines = [record.getMessage() for record in caplog.records]
    said = [line for line in lines if line.startswith("Foo reflector")]
    assert len(said) == 2, "one line each time the situation changes"
    assert "connection refused; is the API server up" in said[0]
    assert "it works again" in said[1]


def test_a_resource_that_is_installed_late_is_waited_for(
    server: EmbeddedAPIServer, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(Client(RestConfig(server=server.url, qps=-1.0)))
        noticed = stack.enter_context(Noticed("foos"))
        stack.enter_context(running("controller", lambda end: run_controller(client, end)))
        assert noticed.wait(), "the missing resource is reported"

        install_crd(client)
        world = World.seen_by(client, server, stack)
        world.foos.create(new_foo("a"))

        world.eventually(lambda: world.deployment("a"))
    missing = [record for record in caplog.records if "is not served" in record.getMessage()]
    assert len(missing) == 1
