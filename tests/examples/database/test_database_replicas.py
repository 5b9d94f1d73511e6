"""Two replicas in one process: a failover and a rolling update."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from clientgo.api.apps_v1 import StatefulSet
from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import Secret
from clientgo.operator import Context, LeaderElection, Manager, controller
from clientgo.operator.sources import watch
from clientgo.operator.webhooks import WebhookOptions
from clientgo.testing.operator import FakeCluster, assert_stable, eventually
from examples.database.accounts import Accounts, AccountService
from examples.database.api import Database
from examples.database.dependents import OURS, Address, Backups, Password, Servers
from examples.database.main import new_manager
from examples.database.reconciler import DatabaseReconciler
from tests.examples.database.scene import NAME, database, is_ready, password, servers_ready
from tests.leases import let_lease_end_soon

ELECTION = LeaderElection(id="databases", namespace="default", lease=60, renew=40, retry=0.1)
RELEASE = "databases.example.com/release"


class NextServers(Servers):
    """What the next release writes."""

    def desired(self, ctx: Context[Database], database: Database) -> StatefulSet:
        servers = super().desired(ctx, database)
        servers.metadata.annotations = {RELEASE: "2"}
        return servers


class NextBackups(Backups):
    depends_on = (NextServers,)


@controller(
    Database,
    owns=[watch(Secret, labels=OURS)],
    dependents=[Password, Address, NextServers, NextBackups],
)
class NextReconciler(DatabaseReconciler):
    """The next release of the operator."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(crds=[Database]) as cluster, servers_ready(cluster.client()):
        yield cluster


class Replicas:
    """Replicas by name, which share the account service."""

    def __init__(self, cluster: FakeCluster, service: AccountService) -> None:
        self._cluster, self._service = cluster, service
        self._running: dict[str, Manager] = {}

    def start(
        self,
        name: str,
        release: type[DatabaseReconciler] = DatabaseReconciler,
        *,
        releases_lease: bool = True,
    ) -> None:
        manager = new_manager(
            self._cluster.operator_client(),
            Accounts(self._service.url),
            period=0.1,
            reconciler=release,
            metrics="0",
            health="0",
            webhook=WebhookOptions(enabled=False),
            leader_election=replace(ELECTION, identity=name, release_on_cancel=releases_lease),
        )
        manager.start()
        self._running[name] = manager

    def stop(self, name: str) -> None:
        self._running.pop(name).stop()

    def leader(self) -> str:
        lease = self._cluster.get(Lease, ELECTION.id)
        return (lease.spec.holder_identity if lease is not None else None) or ""

    def stop_all(self) -> None:
        with ExitStack() as stack:
            for manager in self._running.values():
                stack.callback(manager.stop)


@pytest.fixture
def replicas(cluster: FakeCluster, service: AccountService) -> Iterator[Replicas]:
    replicas = Replicas(cluster, service)
    yield replicas
    replicas.stop_all()


def release(cluster: FakeCluster) -> str:
    servers = cluster.get(StatefulSet, "orders")
    return servers.metadata.annotations.get(RELEASE, "1") if servers is not None else ""


@pytest.mark.parametrize("crashes", [False, True])
def test_a_standby_takes_over_and_repeats_nothing(
    cluster: FakeCluster, service: AccountService, replicas: Replicas, crashes: bool
) -> None:
    """A process that crashes does not release its Lease, so the Lease has to end."""
    replicas.start("a", releases_lease=not crashes)
    eventually(lambda: replicas.leader() == "a")
    replicas.start("b")
    cluster.create(database())
    eventually(lambda: is_ready(cluster, 2))
    eventually(lambda: service.requests == [f"PUT {NAME}"])
    first = password(cluster)

    cluster.patch(database(), {"spec": {"replicas": 3}})
    replicas.stop("a")
    if crashes:
        assert replicas.leader() == "a"
        let_lease_end_soon(cluster.client(), ELECTION.id)

    eventually(lambda: replicas.leader() == "b")
    assert_stable(cluster, lambda: is_ready(cluster, 3))
    assert password(cluster) == first
    cluster.delete(database())
    eventually(lambda: cluster.get(Database, "orders") is None)
    assert service.accounts == {}


def test_a_rolling_update_ends_with_what_the_next_release_writes(
    cluster: FakeCluster, service: AccountService, replicas: Replicas
) -> None:
    """As a Deployment does it: a new replica starts, then an old one stops."""
    replicas.start("old-1")
    replicas.start("old-2")
    cluster.create(database())
    eventually(lambda: is_ready(cluster, 2))
    first = password(cluster)

    for number in (1, 2):
        replicas.start(f"new-{number}", NextReconciler)
        cluster.patch(database(), {"spec": {"replicas": 2 + number}})
        replicas.stop(f"old-{number}")

    eventually(lambda: replicas.leader().startswith("new"))
    assert_stable(cluster, lambda: is_ready(cluster, 4) and release(cluster) == "2")
    assert password(cluster) == first
    assert list(service.accounts) == [NAME]
