"""State outside of the cluster: a database schema for each ``Schema`` object.

The database has no watch, so the operator polls each schema every few seconds. The result is
cached, and a difference triggers the reconciler. The finalizer drops the schema before its object
is deleted. SQLite stands in for the database server: it is
a file, and survives the operator.

``python -m examples.schema_poller DATABASE`` runs on the cluster of your kubeconfig;
``python -m examples.schema_poller --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.operator import Context, Manager, Result, Source
from clientgo.operator.addons.polling import poll
from clientgo.operator.status import ObservedGeneration
from examples.embedded import embedded, manager_of, run_on_your_cluster, see


class SchemaSpec(Model):
    """How the schema is to be made."""

    encoding: str = "utf8"


class SchemaStatus(ObservedGeneration):
    """What the database says."""

    url: str = ""
    encoding: str = ""


@resource(group="example.com", version="v1", plural="schemas")
class Schema(Resource):
    """A schema in the database."""

    spec: SchemaSpec = SchemaSpec()
    status: SchemaStatus | None = None


@dataclass(frozen=True)
class StoredSchema:
    """A schema as the database has it."""

    name: str
    encoding: str


class Database:
    """The server that is not part of the cluster."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._do("CREATE TABLE IF NOT EXISTS schemas (name TEXT PRIMARY KEY, encoding TEXT)")

    def schemas(self, name: str) -> list[StoredSchema]:
        rows = self._do("SELECT name, encoding FROM schemas WHERE name = ?", name)
        return [StoredSchema(*row) for row in rows]

    def create(self, name: str, encoding: str) -> None:
        self._do("INSERT OR REPLACE INTO schemas VALUES (?, ?)", name, encoding)

    def drop(self, name: str) -> None:
        self._do("DELETE FROM schemas WHERE name = ?", name)

    def _do(self, statement: str, *values: str) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            return connection.execute(statement, values).fetchall()


class SchemaReconciler:
    """Creates what is missing, replaces what is wrong, and drops what is not wanted any more."""

    def __init__(self, database: Database, period: float = 5.0) -> None:
        self._database = database
        self._period = period
        self._stored = poll(
            lambda schema: database.schemas(name_of(schema)),
            period=period,
            per_resource=True,
            kind=StoredSchema,
        )

    def sources(self, _services: object) -> Iterable[Source]:
        return [self._stored]

    def reconcile(self, ctx: Context[Schema], schema: Schema) -> Result:
        name, wanted = name_of(schema), schema.spec.encoding
        seen = ctx.secondary(StoredSchema) == StoredSchema(name, wanted)
        if not seen:
            self._database.create(name, wanted)
            ctx.events.normal("Created", f"schema {name} with encoding {wanted}")
        schema.status = SchemaStatus(url=f"sqlite:///{name}", encoding=wanted)
        result = Result.status(schema)
        # Until the poll has seen what was created, it cannot tell that it is gone again.
        return result if seen else result.after(self._period)

    def cleanup(self, ctx: Context[Schema], schema: Schema) -> None:
        self._database.drop(name_of(schema))
        ctx.log.info("dropped", schema=name_of(schema))


def name_of(schema: Schema) -> str:
    return f"{schema.metadata.namespace}_{schema.metadata.name}"


def new_manager(client: Client, database: Database, period: float = 5.0) -> Manager:
    manager = manager_of(client, "schemas")
    manager.controller(Schema).build(SchemaReconciler(database, period))
    return manager


def demo() -> None:
    from clientgo.testing.observer import Observer
    from clientgo.util.wait import poll_until

    def operator(database: Database) -> Manager:
        return new_manager(client, database, period=0.2)

    with embedded(Schema) as client, tempfile.TemporaryDirectory() as directory:
        database = Database(Path(directory) / "database")
        schemas = client.resource(Schema).namespace("default")
        with Observer(client, Schema) as seen:
            lister = seen.lister(Schema).namespace("default")
            with operator(database):
                schemas.create(Schema(metadata=ObjectMeta(name="shop")))
                see(
                    seen,
                    "the schema is there",
                    lambda: lister.get("shop").status and database.schemas("default_shop"),
                )
                database.drop("default_shop")
                print("another client drops it")
                # The database has no watch, so the demonstration has to ask as well.
                poll_until(lambda: database.schemas("default_shop"), interval=0.05, timeout=60.0)
                print("and it is there again")
            with operator(Database(Path(directory) / "database")):
                print("another operator takes over where the first one ended")
                schemas.delete("shop")
                see(seen, "the object is gone", lambda: not lister.list())
                print("and so is the schema" if not database.schemas("default_shop") else "?!")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m examples.schema_poller DATABASE, a file; or --demo")
    if sys.argv[1] == "--demo":
        demo()
    else:
        file = Path(sys.argv[1])
        run_on_your_cluster(lambda client: new_manager(client, Database(file)), Schema)
