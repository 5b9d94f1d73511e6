"""Whatever the API server does wrong, the sample controller converges once it does right again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from clientgo.apiserver import EmbeddedAPIServer
from clientgo.client import Client
from clientgo.rest import load_config
from clientgo.testing.faults import (
    WRITES,
    CloseWatches,
    CrashBetweenWrites,
    CutAnswers,
    DelayRequests,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    Requests,
    StaleLists,
    stale_view,
    unobserved_state,
)
from clientgo.testing.workloads import WorkloadSimulator
from sample_controller.demo import run_controller, running
from tests.e2e.conftest import World

CONTROLLER = "controller-under-test"
WATCHES = Requests(verbs=("watch",), user_agent=CONTROLLER)
MINE = Requests(user_agent=CONTROLLER)
MY_WRITES = Requests(verbs=WRITES, user_agent=CONTROLLER)


@contextmanager
def controller_on(server: EmbeddedAPIServer) -> Iterator[None]:
    """A controller that can be told from everybody else, for as long as the block runs."""
    config = load_config(str(server.kubeconfig))
    with ExitStack() as stack:
        mine = stack.enter_context(Client(replace(config, qps=-1.0, user_agent=CONTROLLER)))
        stack.enter_context(running("controller", lambda stop: run_controller(mine, stop)))
        yield


@pytest.fixture
def surroundings(server: EmbeddedAPIServer, client: Client) -> Iterator[World]:
    """The world without a controller."""
    with ExitStack() as stack:
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        yield World.seen_by(client, server, stack)


@pytest.fixture
def world(surroundings: World) -> Iterator[World]:
    """The world with the controller."""
    with controller_on(surroundings.server):
        yield surroundings


FAULTS = [
    FailRequests(requests=MINE, status=500, times=3),
    FailRequests(requests=MINE, status=429, retry_after=1, times=2),
    FailRequests(requests=MY_WRITES, status=504, after_effect=True, times=4),
    FailRequests(requests=MY_WRITES, status=409, times=3),
    FailRequests(requests=MY_WRITES, status=503, times=12, chance=0.5, seed=7),
    DelayRequests(requests=MINE, seconds=0.3, times=4),
    CutAnswers(requests=MY_WRITES, times=3, seed=1),
    CutAnswers(requests=WATCHES, times=3, seed=2),
    CloseWatches(requests=WATCHES),
    CloseWatches(requests=WATCHES, abruptly=True),
    ExpireHistory(),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_the_controller_converges_under_a_fault(world: World, fault: Fault) -> None:
    world.create_foo("before", replicas=1)
    world.eventually(lambda: world.reconciled("before", 1))

    world.server.inject(fault)
    world.scale("before", 3)
    world.create_foo("after", replicas=2)

    world.eventually(lambda: world.reconciled("before", 3))
    world.eventually(lambda: world.reconciled("after", 2))
    assert world.server.struck(fault)


@pytest.mark.parametrize("fault", [FreezeWatches(requests=WATCHES), StaleLists(requests=MINE)])
def test_the_controller_converges_after_a_fault_is_lifted(world: World, fault: Fault) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))

    world.server.inject(fault)
    world.server.inject(CloseWatches(requests=WATCHES))
    world.scale("a", 3)
    world.server.lift(fault)

    world.eventually(lambda: world.reconciled("a", 3))


@pytest.mark.parametrize("resource", ["foos", "deployments"])
def test_the_controller_converges_after_time_went_back(world: World, resource: str) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))

    with stale_view(world.server, resource, CONTROLLER) as view:
        world.scale("a", 3)
        world.create_foo("b", replicas=2)
        world.eventually(lambda: world.reconciled("a", 3) and world.reconciled("b", 2))
        view.go_back()

    world.scale("a", 4)
    world.eventually(lambda: world.reconciled("a", 4))
    assert world.deployments.get("b").spec.replicas == 2


def test_a_change_and_its_reversal_that_nobody_saw_leave_no_trace(world: World) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))

    with unobserved_state(world.server, "foos", CONTROLLER):
        world.scale("a", 5)
        world.scale("a", 1)
        world.create_foo("b", replicas=2)

    world.eventually(lambda: world.reconciled("b", 2))
    assert world.deployments.get("a").spec.replicas == 1


def test_a_deployment_that_vanished_unseen_is_made_again(world: World) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))
    lost = world.deployment("a").metadata.uid

    with unobserved_state(world.server, "deployments", CONTROLLER):
        world.deployments.delete("a")

    world.eventually(lambda: world.deployment("a").metadata.uid != lost)
    world.eventually(lambda: world.reconciled("a", 1))


@pytest.mark.parametrize("writes", [1, 2, 3, 4])
def test_the_next_controller_finishes_what_one_that_crashed_began(
    surroundings: World, writes: int
) -> None:
    world = surroundings
    crash = CrashBetweenWrites(world.server, writes, CONTROLLER)
    with crash, controller_on(world.server):
        world.create_foo("a", replicas=2)
        world.create_foo("b", replicas=1)
        assert crash.wait()

    with controller_on(world.server):
        world.eventually(lambda: world.reconciled("a", 2))
        world.eventually(lambda: world.reconciled("b", 1))
