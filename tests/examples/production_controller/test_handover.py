"""Two processes of the production example: one works, and the other takes over."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clientgo.api.core_v1 import Namespace
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import WorkloadSimulator
from sample_controller.demo import running
from tests.e2e.conftest import World
from tests.examples.production_controller.program import (
    FREE_PORTS,
    STANDS_BY,
    WORKS,
    Program,
    container_command,
)
from tests.leases import let_lease_end_soon

PROMPT = (
    "--leader-elect-lease-duration=60",
    "--leader-elect-renew-deadline=40",
    "--leader-elect-retry-period=0.3",
)
"""Notices a change soon, and does not lose its Lease on a busy machine."""


class Pair:
    """Two processes of the Deployment's command line; ``first`` leads."""

    def __init__(self, server: EmbeddedAPIServer, directory: Path, stack: ExitStack) -> None:
        command = [*container_command(), *FREE_PORTS, *PROMPT]
        self.first = stack.enter_context(Program(command, server.kubeconfig, directory))
        self.first.wait_for(WORKS)
        self.second = stack.enter_context(Program(command, server.kubeconfig, directory))
        self.second.wait_for(STANDS_BY)


@pytest.fixture
def world(server: EmbeddedAPIServer, client: Client) -> Iterator[World]:
    with ExitStack() as stack:
        client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name="sample-controller")))
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        yield World.seen_by(client, server, stack)


@pytest.fixture
def pair(server: EmbeddedAPIServer, world: World, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        pair = Pair(server, tmp_path, stack)
        world.create_foo("before", replicas=1)
        world.eventually(lambda: world.reconciled("before", 1))
        yield pair


def test_who_stands_by_is_ready_and_does_nothing(pair: Pair) -> None:
    assert pair.second.get("health", "/readyz") == (200, "ok")
    assert pair.second.get("health", "/healthz") == (200, "ok")
    assert not [line for line in pair.second.lines() if "workers" in line or "synced" in line]


def test_after_a_kill_the_other_takes_over_when_the_lease_ends(pair: Pair, world: World) -> None:
    pair.first.send(signal.SIGKILL)
    let_lease_end_soon(world.client, "sample-controller", "sample-controller")
    world.create_foo("after", replicas=2)
    world.scale("before", 3)

    pair.second.wait_for(WORKS)
    world.eventually(lambda: world.reconciled("after", 2))
    world.eventually(lambda: world.reconciled("before", 3))


def test_who_is_stopped_gives_the_lease_up_and_the_other_takes_over(
    pair: Pair, world: World
) -> None:
    pair.first.send(signal.SIGTERM)

    pair.second.wait_for(WORKS)
    assert pair.first.wait() == 0
    assert not [line for line in pair.first.lines() if "Traceback" in line]
    world.create_foo("after", replicas=2)
    world.eventually(lambda: world.reconciled("after", 2))


def test_a_leader_that_was_paused_for_longer_than_its_lease_ends(pair: Pair, world: World) -> None:
    pair.first.send(signal.SIGSTOP)
    let_lease_end_soon(world.client, "sample-controller", "sample-controller")
    pair.second.wait_for(WORKS)

    pair.first.send(signal.SIGCONT)

    pair.first.wait_for("leadership was lost")
    assert pair.first.wait() == 1
    world.create_foo("after", replicas=2)
    world.eventually(lambda: world.reconciled("after", 2))
