"""Databases for tests, and servers that are ready as soon as they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.api.apps_v1 import StatefulSet, StatefulSetStatus
from clientgo.api.batch_v1 import CronJob
from clientgo.api.core_v1 import Secret
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.operator import Context, Manager, Result, controller
from clientgo.testing.operator import FakeCluster
from examples.database.api import Backup, Database, DatabaseSpec
from examples.database.dependents import PASSWORD

NAME = "default.orders"
"""The name of the account of :func:`database`."""


def database(**spec: Any) -> Database:
    wanted = {"storage": "10Gi", "replicas": 2, "backup": Backup(schedule="0 3 * * *"), **spec}
    metadata = ObjectMeta(name="orders", namespace="default")
    return Database(metadata=metadata, spec=DatabaseSpec(**wanted))


def is_ready(cluster: FakeCluster, replicas: int) -> bool:
    found = cluster.get(Database, "orders")
    return (
        found is not None
        and found.status.ready_replicas == replicas
        and found.status.observed_generation == found.metadata.generation
        and cluster.get(CronJob, "orders") is not None
    )


def password(cluster: FakeCluster) -> bytes:
    secret = cluster.get(Secret, "orders")
    assert secret is not None
    return (secret.data or {})[PASSWORD]


@controller(StatefulSet, name="ready")
class _Ready:
    def reconcile(self, ctx: Context[StatefulSet], servers: StatefulSet) -> Result:
        replicas = servers.spec.replicas or 0
        servers.status = StatefulSetStatus(
            observed_generation=servers.metadata.generation,
            replicas=replicas,
            ready_replicas=replicas,
        )
        return Result.status(servers)


@contextmanager
def servers_ready(client: Client) -> Iterator[None]:
    """Report every StatefulSet as ready, until the end of the block."""
    manager = Manager(client, name="ready", metrics="0", close_client_on_stop=False)
    manager.register(_Ready())
    with manager:
        yield
