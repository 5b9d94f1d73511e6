"""Whatever the API server does wrong, the sample controller converges once it does right again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.cache.pager import DEFAULT_PAGE_SIZE
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.meta.timestamps import parse_time
from clientgo.rest import Identity, RestConfig, load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import WorkloadSimulator
from clientgo.testing.faults import (
    WRITES,
    CloseWatches,
    CrashBetweenWrites,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    Requests,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
    stale_view,
    unobserved_state,
)
from sample_controller.demo import install_crd, run_controller, running
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
    CutAnswers(requests=WATCHES, times=3, seed=3, mid_chunk=True),
    CloseWatches(requests=WATCHES),
    CloseWatches(requests=WATCHES, abruptly=True),
    ExpireHistory(),
    ExpireHistory(every=0.01),
    RestartServer(),
    RestartServer(keep_history=False),
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


@pytest.mark.parametrize(
    "fault",
    [
        FreezeWatches(requests=WATCHES),
        FreezeWatches(requests=WATCHES, chance=0.5, seed=2),
        StaleLists(requests=MINE),
    ],
)
def test_the_controller_converges_after_a_fault_is_lifted(world: World, fault: Fault) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))

    world.server.inject(fault)
    world.server.inject(CloseWatches(requests=WATCHES))
    world.scale("a", 3)
    assert world.server.wait_until_struck(fault)
    world.server.lift(fault)

    world.eventually(lambda: world.reconciled("a", 3))


def test_the_controller_converges_once_it_hears_that_the_initial_list_has_ended(
    surroundings: World,
) -> None:
    world = surroundings
    world.create_foo("a", replicas=2)
    withheld = WithholdBookmarks(requests=WATCHES, initial_only=True)
    world.server.inject(withheld)

    with controller_on(world.server):
        assert world.server.wait_until_struck(withheld, 2), "for Foos and for Deployments"
        assert not world.deployments.list().items, "it does not act on half a list"
        world.server.lift(withheld)
        world.server.inject(CloseWatches(requests=WATCHES))

        world.eventually(lambda: world.reconciled("a", 2))


@pytest.mark.parametrize("seconds", [86400, -86400])
def test_the_controller_does_not_mind_what_time_it_is_at_the_server(
    world: World, seconds: float
) -> None:
    world.server.inject(SkewClock(seconds=seconds))

    world.create_foo("a", replicas=2)

    world.eventually(lambda: world.reconciled("a", 2))
    stamped = parse_time(world.foos.get("a").metadata.creation_timestamp or "")
    assert abs(stamped - time.time() - seconds) < 60


class RefusedUntilRenewed:
    """Credentials that hold on to the server's token until it is refused."""

    def __init__(self, server: EmbeddedAPIServer) -> None:
        self._server = server
        self._token = ""
        self.renewals = 0

    def current(self, stop: threading.Event | None = None) -> Identity:
        return Identity(authorization=f"Bearer {self._token}")

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        [user] = self._server.kubeconfig_data["users"]
        self._token = user["user"]["token"]
        self.renewals += 1
        return self.current() != refused


def test_the_controller_goes_on_with_the_token_that_replaces_its_own(
    server: EmbeddedAPIServer,
) -> None:
    credentials = RefusedUntilRenewed(server)
    with ExitStack() as stack:
        client = stack.enter_context(
            Client(RestConfig(server=server.url, qps=-1.0, credentials=credentials))
        )
        install_crd(client)
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        stack.enter_context(running("controller", lambda stop: run_controller(client, stop)))
        world = World.seen_by(client, server, stack)
        world.create_foo("a", replicas=1)
        world.eventually(lambda: world.reconciled("a", 1))

        for number, token in enumerate(("first", "second"), start=2):
            server.inject(RotateToken(token=token))
            world.scale("a", number)
            world.eventually(lambda number=number: world.reconciled("a", number))

        assert credentials.renewals >= 2


def test_the_controller_lists_all_though_the_list_expires_between_two_pages(
    server: EmbeddedAPIServer, client: Client
) -> None:
    with ExitStack() as stack:
        world = World.seen_by(client, server, stack)
        for number in range(DEFAULT_PAGE_SIZE + 1):
            world.deployments.create(someone_elses(f"other-{number}"))
        streams = Requests(verbs=("watch",), resource="deployments", user_agent=CONTROLLER)
        lists = Requests(verbs=("list",), resource="deployments", user_agent=CONTROLLER)
        no_streaming = FailRequests(requests=streams, status=422)
        no_cache = FailRequests(requests=lists, status=410)  # a list of version 0 has no pages
        expired = ExpireContinueTokens(requests=MINE)
        for fault in (no_streaming, no_cache, expired):
            server.inject(fault)
        stack.enter_context(controller_on(server))

        world.create_foo("a", replicas=2)

        world.eventually(lambda: world.deployment("a").spec.replicas == 2)
        assert (server.struck(no_streaming), server.struck(expired)) == (1, 1)


def someone_elses(name: str) -> Deployment:
    labels = {"app": name}
    return Deployment(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=DeploymentSpec(
            replicas=0,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=[Container(name="main", image="example/main:1")]),
            ),
        ),
    )


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

    with unobserved_state(world.server, "foos", CONTROLLER) as hidden:
        world.scale("a", 5)
        world.scale("a", 1)
        world.create_foo("b", replicas=2)
        assert world.server.wait_until_struck(hidden)

    world.eventually(lambda: world.reconciled("b", 2))
    assert world.deployments.get("a").spec.replicas == 1


def test_a_deployment_that_vanished_unseen_is_made_again(world: World) -> None:
    world.create_foo("a", replicas=1)
    world.eventually(lambda: world.reconciled("a", 1))
    lost = world.deployment("a").metadata.uid

    with unobserved_state(world.server, "deployments", CONTROLLER) as hidden:
        world.deployments.delete("a")
        assert world.server.wait_until_struck(hidden)

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
