"""Two versions and the webhooks, called by an API server over TLS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.client import Client
from clientgo.meta import InvalidError, ObjectMeta
from clientgo.testing.operator import roundtrip
from examples.database.accounts import AccountService
from examples.database.api import Backup, Database, OldDatabase, OldDatabaseSpec
from examples.database.conversion import KEEP, DatabaseConverter
from examples.database.demo import operator
from examples.embedded import embedded
from tests.examples.database.scene import database


@pytest.fixture
def client(service: AccountService) -> Iterator[Client]:
    with embedded() as client, operator(client, service):
        yield client


def test_no_client_loses_data() -> None:
    roundtrip(DatabaseConverter())


@pytest.mark.parametrize("text", ["many", "0", "101", "²", ""])
def test_an_annotation_that_a_client_has_edited_is_no_failure(text: str) -> None:
    metadata = ObjectMeta(name="orders", annotations={KEEP: text})
    spec = OldDatabaseSpec(storage="1Gi", backup_schedule="@daily")

    hub = DatabaseConverter().to_hub(OldDatabase(metadata=metadata, spec=spec))

    assert hub.spec.backup == Backup(schedule="@daily", keep=7)
    assert hub.metadata.annotations == {}


def test_old_and_new_clients_share_an_object(client: Client) -> None:
    new = client.resource(Database).namespace("default")
    old = client.resource(OldDatabase).namespace("default")
    new.create(database(backup=Backup(schedule="@daily", keep=3)))

    assert old.get("orders").spec.instances == 2
    old.patch("orders", {"spec": {"instances": 4}})

    spec = new.get("orders").spec
    assert (spec.replicas, spec.backup) == (4, Backup(schedule="@daily", keep=3))


def test_defaults_and_refusals_hold_for_both_versions(client: Client) -> None:
    new = client.resource(Database).namespace("default")
    old = client.resource(OldDatabase).namespace("default")
    assert new.create(database()).spec.version == "17"

    with pytest.raises(InvalidError, match="volumes keep their size"):
        new.patch("orders", {"spec": {"storage": "20Gi"}})
    with pytest.raises(InvalidError, match="volumes keep their size"):
        old.patch("orders", {"spec": {"storage": "20Gi"}})
    with pytest.raises(InvalidError, match=r"spec\.backup\.schedule"):
        old.patch("orders", {"spec": {"backupSchedule": "now and then"}})
    long = database()
    long.metadata.name = "a" * 53
    with pytest.raises(InvalidError, match="at most 52 characters"):
        new.create(long)
