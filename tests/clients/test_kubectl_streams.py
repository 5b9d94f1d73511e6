"""kubectl with what runs in simulated pods: exec, attach, logs that follow, port-forward."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import simulate
from tests.clients.kubectl import Kubectl, KubectlError, version

found = version()
pytestmark = pytest.mark.skipif(
    found is None or found < (1, 31), reason="no kubectl on PATH that uses WebSockets"
)

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "stdin": True,
                "env": [{"name": "COLOR", "value": "red"}],
                "ports": [{"containerPort": 80}],
            }
        ]
    },
}


@pytest.fixture(name="server")
def _server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server, simulate(server):
        yield server


@pytest.fixture
def kubectl(server: EmbeddedAPIServer, tmp_path: Path) -> Kubectl:
    kubectl = Kubectl(server.kubeconfig, tmp_path)
    kubectl("apply", "-f", "-", stdin=POD)
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=25s")
    return kubectl


def test_commands_run(kubectl: Kubectl) -> None:
    assert kubectl("exec", "web", "--", "echo", "a", "b") == "a b\n"
    assert kubectl("exec", "web", "--", "env") == "HOSTNAME=web\nCOLOR=red\n"
    assert kubectl("exec", "-i", "web", "--", "cat", stdin="typed") == '"typed"'
    with pytest.raises(KubectlError, match="exit code 1"):
        kubectl("exec", "web", "--", "false")
    with pytest.raises(KubectlError, match="cat: /nowhere: No such file or directory"):
        kubectl("exec", "web", "--", "cat", "/nowhere")
    with pytest.raises(KubectlError, match=r'exec: "ls": executable file not found in \$PATH'):
        kubectl("exec", "web", "--", "ls")


def test_a_log_is_followed(server: EmbeddedAPIServer, kubectl: Kubectl) -> None:
    with kubectl.following("logs", "-f", "web") as lines:
        assert next(lines) == "web runs in pod default/web on node-1\n"
        server.write_log("default", "web", "more\n")
        assert next(lines) == "more\n"


def test_an_attached_container_shows_its_log(kubectl: Kubectl) -> None:
    with kubectl.following("attach", "web") as lines:
        assert next(lines).startswith("web runs in pod default/web")
