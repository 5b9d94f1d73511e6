"""A reaction to the change of one field: a database whose new version needs an upgrade.

``ctx.changes`` compares with the last run that succeeded. So no upgrade is missed while the
operator is away, and none is made twice because it restarts.

``python -m examples.field_changes`` runs on the cluster of your kubeconfig;
``python -m examples.field_changes --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys
from typing import Any

from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.addons.changes import LastReconciled
from examples.embedded import embedded, manager_of, run_on_your_cluster, see


class DatabaseSpec(Model):
    version: int = 1
    replicas: int = 1


class DatabaseStatus(LastReconciled):
    """The base keeps the compared fields, in the request that writes the status anyhow."""

    upgrades: list[str] = []


@resource(group="example.com", version="v1", plural="databases")
class Database(Resource):
    spec: DatabaseSpec = DatabaseSpec()
    status: DatabaseStatus = DatabaseStatus()


@controller(Database, changes=["spec.version"])
class DatabaseReconciler:
    """Brings the database to what the spec says; only an upgrade needs to know from where."""

    def reconcile(self, ctx: Context[Database], database: Database) -> Result:
        if ctx.changes.changed("spec.version"):
            old, new = ctx.changes.old("spec.version"), database.spec.version
            why = "found at the start" if ctx.changes.resumed else "asked for"
            database.status.upgrades = [*database.status.upgrades, f"{old} to {new}, {why}"]
        return Result.status(database)


def new_manager(client: Client) -> Manager:
    manager = manager_of(client, "databases")
    manager.register(DatabaseReconciler())
    return manager


def demo() -> None:
    from clientgo.testing.observer import Observer

    with embedded(Database) as client, Observer(client, Database) as seen:
        databases = client.resource(Database).namespace("default")

        def ask(**spec: Any) -> None:
            databases.patch("orders", {"spec": spec})

        def is_reconciled(upgrades: int) -> bool:
            found = seen.lister(Database).namespace("default").get("orders")
            status = found.status
            return (
                status.observed_generation == found.metadata.generation
                and len(status.upgrades) == upgrades
            )

        databases.create(Database(metadata=ObjectMeta(name="orders")))
        with new_manager(client):
            see(seen, "a new database needs no upgrade", lambda: is_reconciled(0))
            ask(replicas=3)
            see(seen, "nor do more replicas", lambda: is_reconciled(0))
            ask(version=2)
            see(seen, "another version does", lambda: is_reconciled(1))
        ask(version=3)
        ask(version=5)
        with new_manager(client):
            see(seen, "two more, while the operator was away, are one", lambda: is_reconciled(2))
        for upgrade in databases.get("orders").status.upgrades:
            print(f"upgraded from {upgrade}")


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        run_on_your_cluster(new_manager, Database)
