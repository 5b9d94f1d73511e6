"""The kind Database in two versions. Objects are stored as v1, and the operator uses only v1."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from clientgo.api.wire import Int32
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import AGE, CustomResource, PrinterColumn
from clientgo.operator.status import Conditioned

GROUP: Final = "databases.example.com"

Size: TypeAlias = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,5}Gi$")]
Replicas: TypeAlias = Annotated[Int32, Meta(ge=1, le=9)]
Schedule: TypeAlias = Annotated[str, Meta(min_length=1)]
"""A schedule in cron's format."""


class Backup(Model):
    """When to back up, and how many finished Jobs to keep."""

    schedule: Schedule
    keep: Annotated[Int32, Meta(ge=1, le=100)] = 7


class DatabaseSpec(Model):
    """The desired database. The defaulting webhook sets the version."""

    storage: Size
    """The size of the volume of each replica. It cannot change."""
    version: str = ""
    replicas: Replicas = 1
    backup: Backup | None = None


class DatabaseStatus(Conditioned):
    """The observed state. It is the same in both versions."""

    ready_replicas: int = 0
    account: str = ""
    """The name of the account at the account service."""


@CustomResource(
    columns=(
        PrinterColumn("Version", ".spec.version"),
        PrinterColumn("Ready", ".status.readyReplicas"),
        AGE,
    ),
    storage=True,
)
@resource(group=GROUP, version="v1", plural="databases")
class Database(Resource):
    """A database with its volumes, password, backups and account."""

    spec: DatabaseSpec
    status: DatabaseStatus = DatabaseStatus()


class OldDatabaseSpec(Model):
    """The spec of the first release: backups had no settings, and replicas were instances."""

    storage: Size
    version: str = ""
    instances: Replicas = 1
    backup_schedule: Schedule | None = None


@CustomResource(columns=(PrinterColumn("Version", ".spec.version"), AGE))
@resource(group=GROUP, version="v1alpha1", plural="databases", kind="Database")
class OldDatabase(Resource):
    """A database, as the first release declared it."""

    spec: OldDatabaseSpec
    status: DatabaseStatus = DatabaseStatus()
