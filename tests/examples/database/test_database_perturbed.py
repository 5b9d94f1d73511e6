"""The operator, disturbed at each of its writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import to_plain
from clientgo.operator import Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.rest import RestConfig
from clientgo.testing.perturb import perturb
from examples.database.accounts import Accounts, AccountService
from examples.database.api import Database
from examples.database.main import new_manager
from tests.examples.database.scene import database, servers_ready


@contextmanager
def _servers(config: RestConfig) -> Iterator[None]:
    with Client(config) as client, servers_ready(client):
        yield


def _without_password(obj: dict[str, Any]) -> dict[str, Any]:
    """A password is random, so it differs from run to run."""
    return {**obj, "data": sorted(obj["data"])} if obj.get("kind") == "Secret" else obj


def test_a_crash_at_any_write_changes_nothing(service: AccountService) -> None:
    def operator(config: RestConfig) -> Manager:
        webhook = WebhookOptions(enabled=False)
        accounts = Accounts(service.url)  # shared by all runs, which create the same account
        return new_manager(
            Client(config), accounts, period=0.2, metrics="0", health="0", webhook=webhook
        )

    report = perturb(
        operator,
        manifests=[*definitions_of([Database]), to_plain(database())],
        beside=_servers,
        normalise=_without_password,
        perturbations=["crash-after", "stale-restart"],
        quiet=0.3,
        jobs=8,
        progress=False,
    )

    report.check()
    written = {write.resource for write in report.writes}
    assert {"secrets", "services", "statefulsets", "cronjobs", "databases/status"} <= written
