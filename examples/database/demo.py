"""A demonstration with an embedded API server and simulated workloads, in a few seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.api.batch_v1 import CronJob
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import InvalidError, ObjectMeta
from clientgo.operator import Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.testcluster.workloads import WorkloadSimulator
from clientgo.testing.observer import Observer
from clientgo.tools.scaffold import add_conversions, apply, webhook_configurations
from clientgo.tools.scaffold.installing import install_definitions
from clientgo.util.wait import poll_until
from examples.database.accounts import Accounts, AccountService, serving_accounts
from examples.database.api import Backup, Database, DatabaseSpec, OldDatabase, OldDatabaseSpec
from examples.database.main import NAME, new_manager
from examples.embedded import embedded, manager_of, see
from examples.two_versions import serving


@contextmanager
def operator(client: Client, service: AccountService, **settings: Any) -> Iterator[Manager]:
    """Run the operator with webhooks that the API server calls over TLS."""
    manager = new_manager(
        client,
        Accounts(service.url),
        metrics="0",
        webhook=WebhookOptions(enabled=False),
        close_client_on_stop=False,
        **settings,
    )
    with serving(manager.webhooks) as reach:
        definitions = definitions_of([Database, OldDatabase])
        converted = [kind.resource.group_resource for kind in manager.webhooks.conversions()]
        add_conversions(definitions, converted, reach)
        install_definitions(client, definitions)
        for manifest in webhook_configurations(NAME, manager.webhooks.manifests, reach):
            apply(client, manifest)
        with manager:
            yield manager


def demo() -> None:
    with embedded() as client, serving_accounts() as service:
        workloads = manager_of(client, "workloads")
        workloads.add_runnable(WorkloadSimulator(client))
        with (
            operator(client, service, period=0.2),
            workloads,
            Observer(client, Database, CronJob) as seen,
        ):
            tell(client, service, seen)


def tell(client: Client, service: AccountService, seen: Observer) -> None:
    databases = client.resource(Database).namespace("default")
    old = client.resource(OldDatabase).namespace("default")
    database = seen.lister(Database).namespace("default")
    backups = seen.lister(CronJob).namespace("default")

    wrong = DatabaseSpec(storage="10Gi", backup=Backup(schedule="now and then"))
    try:
        databases.create(Database(metadata=ObjectMeta(name="orders"), spec=wrong))
    except InvalidError:
        print("a schedule that cron does not know is refused")
    spec = OldDatabaseSpec(storage="10Gi", instances=2, backup_schedule="0 3 * * *")
    created = old.create(OldDatabase(metadata=ObjectMeta(name="orders"), spec=spec))
    print(f"a client of v1alpha1 creates a database, of version {created.spec.version}")
    see(
        seen,
        "two servers are ready, and backups are scheduled",
        lambda: database.get("orders").status.ready_replicas == 2 and backups.list(),
    )
    name = database.get("orders").status.account
    service.accounts.pop(name)
    poll_until(lambda: name in service.accounts, interval=0.05, timeout=60.0)
    print("another program deletes its account, and it is there again")
    databases.patch("orders", {"spec": {"backup": None}})
    see(seen, "without backups in the spec, the CronJob is gone", lambda: not backups.list())
    databases.delete("orders")
    see(seen, "the database is gone", lambda: not database.list())
    print("and so is its account" if name not in service.accounts else "?!")
