"""The whole operator on an API server and an account service that fail."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.api.apps_v1 import StatefulSet
from clientgo.api.batch_v1 import CronJob
from clientgo.api.core_v1 import Secret
from clientgo.meta import ConflictError, InternalServerError
from clientgo.operator import Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.testing import FakeClock
from clientgo.testing.operator import FakeCluster, assert_stable, eventually, running
from clientgo.testing.operator.captures import LogCapture, MetricCapture
from examples.database.accounts import Accounts, AccountService
from examples.database.api import Database
from examples.database.dependents import OURS
from examples.database.main import new_manager
from tests.examples.database.scene import NAME, database, is_ready, password, servers_ready


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(crds=[Database]) as cluster, servers_ready(cluster.client()):
        yield cluster


@pytest.fixture
def operator(service: AccountService) -> Any:
    def make(client: Any, **settings: Any) -> Manager:
        webhook = WebhookOptions(enabled=False)
        return new_manager(client, Accounts(service.url), period=0.1, webhook=webhook, **settings)

    return make


@pytest.mark.parametrize(
    ("verb", "kind"), [("create", Secret), ("patch", StatefulSet), ("patch", CronJob)]
)
def test_it_gets_there_though_a_write_is_refused(
    cluster: FakeCluster, operator: Any, service: AccountService, verb: str, kind: Any
) -> None:
    cluster.fail(verb, kind, InternalServerError.of("no"))
    cluster.create(database())

    with running(operator, cluster):
        assert_stable(cluster, lambda: is_ready(cluster, 2))

    assert list(service.accounts) == [NAME]


def test_an_edit_arrives_over_old_caches_conflicts_and_broken_watches(
    cluster: FakeCluster, operator: Any
) -> None:
    cluster.create(database())
    with running(operator, cluster):
        eventually(lambda: is_ready(cluster, 2))
        first = password(cluster)
        cluster.fail("patch", Database, ConflictError.of("changed"), status=True)
        with cluster.stale(StatefulSet):
            cluster.patch(database(), {"spec": {"replicas": 3}})
        cluster.drop_watches(Secret)
        assert_stable(cluster, lambda: is_ready(cluster, 3))
        assert password(cluster) == first


def test_a_lost_label_costs_neither_password_nor_account(
    cluster: FakeCluster, operator: Any, service: AccountService
) -> None:
    cluster.create(database())
    with running(operator, cluster):
        eventually(lambda: is_ready(cluster, 2))
        first, account = password(cluster), service.accounts[NAME]
        secret = cluster.get(Secret, "orders")
        cluster.patch(secret, {"metadata": {"labels": dict.fromkeys(OURS)}})

        def has_label() -> bool:
            found = cluster.get(Secret, "orders")
            return found is not None and found.metadata.labels == OURS

        assert_stable(cluster, has_label)
        assert (password(cluster), service.accounts[NAME]) == (first, account)


def test_an_account_that_goes_is_found_missing_after_a_period(
    service: AccountService, operator_metrics: MetricCapture, operator_logs: LogCapture
) -> None:
    clock = FakeClock(wall=time.time())
    with FakeCluster(crds=[Database], clock=clock) as cluster:
        manager = new_manager(
            cluster.operator_client(),
            Accounts(service.url),
            period=3600.0,
            clock=clock,
            metrics="0",
            health="0",
            metrics_provider=operator_metrics.provider,
            webhook=WebhookOptions(enabled=False),
        )
        with running(manager, cluster):
            cluster.create(database())
            assert_stable(cluster, lambda: service.requests == [f"PUT {NAME}"])
            clock.step(3600.0)
            assert_stable(cluster, lambda: service.requests == [f"PUT {NAME}"])
            service.accounts.clear()
            assert_stable(cluster, lambda: service.requests == [f"PUT {NAME}"])

            def is_repaired() -> bool:
                clock.step(3600.0)
                return service.requests == [f"PUT {NAME}"] * 2

            eventually(is_repaired)
    runs = {"controller": "database", "result": "error"}
    assert not operator_metrics.value("controller_runtime_reconcile_total", **runs)
    assert operator_logs.messages(logging.WARNING, resource_name="orders") == []


def test_an_outage_of_the_service_delays_the_deletion(
    cluster: FakeCluster, operator: Any, service: AccountService, operator_logs: LogCapture
) -> None:
    with running(operator, cluster):
        cluster.create(database())
        eventually(lambda: is_ready(cluster, 2))
        service.down = True
        cluster.delete(database())
        eventually(lambda: operator_logs.messages(logging.WARNING, resource_name="orders"))
        assert _is_held(cluster)
        assert list(service.accounts) == [NAME]
        service.down = False
        eventually(lambda: cluster.get(Database, "orders") is None)
    assert service.accounts == {}


def _is_held(cluster: FakeCluster) -> bool:
    found = cluster.get(Database, "orders")
    assert found is not None, "the database went before its account"
    return bool(found.metadata.deletion_timestamp)
