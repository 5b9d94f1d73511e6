"""The converter between v1alpha1 and v1."""

from __future__ import annotations

from typing import Final

from clientgo.meta import deep_copy
from clientgo.operator.webhooks import conversion
from examples.database.api import (
    GROUP,
    Backup,
    Database,
    DatabaseSpec,
    OldDatabase,
    OldDatabaseSpec,
)

KEEP: Final = f"{GROUP}/backup-keep"
"""The annotation for ``backup.keep``, for which v1alpha1 has no field."""


@conversion(OldDatabase, hub=Database)
class DatabaseConverter:
    """Converts both ways without loss."""

    def to_hub(self, spoke: OldDatabase) -> Database:
        metadata, old = deep_copy(spoke.metadata), spoke.spec
        annotations = dict(metadata.annotations)
        keep, backup = annotations.pop(KEEP, ""), None
        metadata.annotations = annotations
        if old.backup_schedule is not None:
            backup = Backup(schedule=old.backup_schedule)
            if keep.isdecimal() and 1 <= int(keep) <= 100:  # clients can edit an annotation
                backup.keep = int(keep)
        spec = DatabaseSpec(
            storage=old.storage, version=old.version, replicas=old.instances, backup=backup
        )
        return Database(metadata=metadata, spec=spec, status=spoke.status)

    def from_hub(self, hub: Database) -> OldDatabase:
        metadata, new = deep_copy(hub.metadata), hub.spec
        if new.backup is not None and new.backup.keep != Backup(schedule="-").keep:
            metadata.annotations = {**metadata.annotations, KEEP: str(new.backup.keep)}
        spec = OldDatabaseSpec(
            storage=new.storage,
            version=new.version,
            instances=new.replicas,
            backup_schedule=new.backup.schedule if new.backup else None,
        )
        return OldDatabase(metadata=metadata, spec=spec, status=hub.status)
