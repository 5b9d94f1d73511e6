"""The production example as its service account: its manifests allow all that it does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clientgo.testcluster.workloads import WorkloadSimulator
from clientgo.testing.rbac_server import RBACServer
from sample_controller.demo import running
from tests.e2e.conftest import World
from tests.examples.production_controller.program import (
    DEPLOY,
    FREE_PORTS,
    ROOT,
    STANDS_BY,
    WORKS,
    Program,
    container_command,
)

ACCOUNT = ("sample-controller", "sample-controller")


@pytest.fixture
def world(rbac_server: RBACServer) -> Iterator[World]:
    """The cluster as its administrator sees it; nothing runs yet."""
    rbac_server.apply_files(
        ROOT / "sample_controller/artifacts/crd-status-subresource.yaml",
        DEPLOY / "namespace.yaml",
        DEPLOY / "rbac.yaml",
        DEPLOY / "deployment.yaml",
    )
    with ExitStack() as stack:
        client = rbac_server.client
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        yield World.seen_by(client, rbac_server.server, stack)


def test_it_needs_no_more_than_its_manifests(
    rbac_server: RBACServer, world: World, tmp_path: Path
) -> None:
    """Two replicas with the command of the Deployment: work, hand over, work again."""
    command = [*container_command(), *FREE_PORTS]
    kubeconfig = rbac_server.kubeconfig_of(*ACCOUNT)
    with Program(command, kubeconfig, tmp_path) as program:
        program.wait_for(WORKS)
        with Program(command, kubeconfig, tmp_path) as standby:
            standby.wait_for(STANDS_BY)
            world.create_foo("a", replicas=1)
            world.eventually(lambda: world.reconciled("a", 1))
            world.scale("a", 3)
            world.eventually(lambda: world.reconciled("a", 3))

            program.send(signal.SIGTERM)
            assert program.wait() == 0

            standby.wait_for(WORKS)
            world.scale("a", 2)
            world.eventually(lambda: world.reconciled("a", 2))
            standby.send(signal.SIGTERM)
            assert standby.wait() == 0
