"""One run of the reconciler: what it decides, writes, and leaves alone."""

from __future__ import annotations

from hashlib import sha256
from typing import Any
from urllib.error import HTTPError

import pytest

from clientgo.api.apps_v1 import StatefulSet
from clientgo.api.batch_v1 import CronJob
from clientgo.api.core_v1 import Secret
from clientgo.meta import ObjectMeta
from clientgo.testing.operator import replay, run_once
from examples.database.accounts import Account, Accounts, AccountService
from examples.database.api import Backup
from examples.database.dependents import PASSWORD
from examples.database.reconciler import DatabaseReconciler
from tests.examples.database.scene import NAME, database


def reconciler(service: AccountService) -> DatabaseReconciler:
    return DatabaseReconciler(Accounts(service.url))


def deleted() -> Any:
    gone = database()
    gone.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    return gone


def test_the_first_run_writes_what_needs_no_server(service: AccountService) -> None:
    record = run_once(reconciler(service), database()).succeeded()

    assert sorted(record.writes) == [
        "create secrets default/orders",
        "patch databases default/orders",  # the finalizer
        "patch databases default/orders",  # the default version
        "patch databases/status default/orders",
        "patch services default/orders",
        "patch statefulsets default/orders",
    ]
    servers = record.get(StatefulSet, "orders")
    assert servers is not None
    assert servers.spec.replicas == 2
    assert servers.spec.template.spec.containers[0].image == "postgres:17"
    assert [event.reason for event in record.events] == ["AccountWritten"]
    (ready,) = record.obj.status.conditions
    assert (ready.status, ready.reason) == ("False", "Starting")


def test_the_account_logs_in_with_the_password_of_the_secret(service: AccountService) -> None:
    record = run_once(reconciler(service), database()).succeeded()

    secret = record.get(Secret, "orders")
    assert secret is not None
    digest = sha256((secret.data or {})[PASSWORD]).hexdigest()
    assert Accounts(service.url).find(NAME) == [Account(NAME, digest)]


def test_a_second_run_writes_nothing_here_or_there(service: AccountService) -> None:
    first, second = replay(reconciler(service), database())

    assert first.writes
    assert second.writes == []
    assert service.requests == [f"PUT {NAME}"]
    assert first.next_look == 30.0  # until then no poll has seen the account
    assert second.events == []


def test_a_poll_that_shows_another_password_repairs_the_account(service: AccountService) -> None:
    stolen = {Account: [Account(NAME, "of a thief")]}

    run_once(reconciler(service), database(), secondaries=stolen).succeeded()

    assert service.requests == [f"PUT {NAME}"]


def test_an_account_that_no_poll_has_seen_is_not_written_again(service: AccountService) -> None:
    replay(reconciler(service), database(), secondaries={Account: []})

    assert service.requests == [f"PUT {NAME}"]


def test_backups_wait_for_a_server(service: AccountService) -> None:
    record = run_once(reconciler(service), database()).succeeded()

    assert record.all(CronJob) == []


def test_a_password_survives_a_lost_label(service: AccountService) -> None:
    """The cache, which is limited by the label, does not have the Secret then."""
    metadata = ObjectMeta(name="orders", namespace="default")
    bare = Secret(metadata=metadata, data={PASSWORD: b"known"})

    record = run_once(reconciler(service), database(), world=[bare])

    found = record.get(Secret, "orders")
    assert found is not None
    assert (found.data or {})[PASSWORD] == b"known"


def test_the_account_goes_before_the_database(service: AccountService) -> None:
    service.accounts[NAME] = b"{}"

    record = run_once(reconciler(service), deleted(), secondaries={Account: []}).succeeded()

    assert service.requests == [f"DELETE {NAME}"]
    assert record.obj is None


def test_a_database_stays_while_its_account_cannot_be_deleted(service: AccountService) -> None:
    service.down = True

    record = run_once(reconciler(service), deleted(), secondaries={Account: []})

    assert isinstance(record.error, HTTPError)
    assert record.obj is not None


def test_a_service_that_is_away_is_not_an_account_that_is_missing(service: AccountService) -> None:
    service.down = True
    with pytest.raises(HTTPError):
        Accounts(service.url).find(NAME)


def test_a_schedule_that_cron_does_not_know_changes_nothing(service: AccountService) -> None:
    record = run_once(reconciler(service), database(backup=Backup(schedule="now and then")))

    assert "spec.backup.schedule" in str(record.error)
    assert record.all(StatefulSet) == []
    assert service.requests == []
