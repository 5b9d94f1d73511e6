"""kubectl with simulated workloads: rollouts, drains, logs, waits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.api.core_v1 import Node
from clientgo.client import Client
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import WorkloadSimulator, simulate
from tests.clients.kubectl import Kubectl, KubectlError, version

pytestmark = pytest.mark.skipif(version() is None, reason="kubectl is not on PATH")

STAGES = """
rules:
- image: "*:bad"
  pull: {error: manifest unknown}
- labels: app=chatty
  logs: |
    first line of {name}
    last line
"""


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with EmbeddedAPIServer() as server, simulate(server, stages=STAGES):
        yield Kubectl(server.kubeconfig, tmp_path)


def test_a_rollout_gets_stuck_and_is_undone(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2")
    kubectl("rollout", "status", "deployment/web", "--timeout=25s")
    kubectl("set", "image", "deployment/web", "web=web:bad")

    with pytest.raises(KubectlError, match="timed out"):
        kubectl("rollout", "status", "deployment/web", "--timeout=2s")
    history = kubectl("rollout", "history", "deployment/web").splitlines()
    assert [line.split()[0] for line in history[2:] if line] == ["1", "2"]
    kubectl("rollout", "undo", "deployment/web")
    kubectl("rollout", "status", "deployment/web", "--timeout=25s")

    images = kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    assert images == "web:1 web:1"


def test_a_node_is_drained_and_its_pods_move(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
    kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=25s")

    kubectl("drain", "node-1", "--timeout=25s")

    kubectl("rollout", "status", "deployment/web", "--timeout=25s")
    nodes = kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()
    assert len(nodes) == 3
    assert "node-1" not in nodes


def test_a_budget_stops_a_drain(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
    kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=3")
    kubectl("rollout", "status", "deployment/web", "--timeout=25s")

    with pytest.raises(KubectlError, match="disruption budget"):
        kubectl("drain", "node-1", "--timeout=2s")


def test_logs_are_the_text_of_the_stages(kubectl: Kubectl) -> None:
    kubectl("run", "talker", "--image=any:1", "--labels=app=chatty")
    kubectl("wait", "--for=condition=Ready", "pod/talker", "--timeout=25s")

    assert kubectl("logs", "talker") == "first line of talker\nlast line\n"
    assert kubectl("logs", "talker", "--tail=1") == "last line\n"
    with pytest.raises(KubectlError, match="container other is not valid"):
        kubectl("logs", "talker", "-c", "other")


def test_a_job_is_waited_for(kubectl: Kubectl) -> None:
    kubectl("create", "job", "once", "--image=once:1")

    kubectl("wait", "--for=condition=complete", "job/once", "--timeout=25s")


def test_the_command_serves_a_cluster_that_moves(tmp_path: Path) -> None:
    stages = tmp_path / "stages.yaml"
    stages.write_text(STAGES)
    script = (
        "kubectl create deployment web --image=web:1 && "
        "kubectl rollout status deployment/web --timeout=25s && kubectl get nodes -o name"
    )
    command = [sys.executable, "-m", "clientgo", "apiserver", "--workloads", "--nodes", "2"]
    done = subprocess.run(
        [*command, "--stages", str(stages), "--seed", "7", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["node/node-1", "node/node-2"]


def test_the_fixture_gives_tests_a_cluster_that_moves(
    workloads: WorkloadSimulator, kube_client: Client
) -> None:
    assert len(kube_client.resource(Node).list().items) == 3
