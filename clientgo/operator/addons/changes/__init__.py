"""What has changed in an object since the last run for it that succeeded.

::

    @controller(Database, changes=["spec.version", digest("spec.template")])
    class DatabaseReconciler:
        def reconcile(self, ctx, database):
            if ctx.changes.changed("spec.version"):
                migrate(ctx.changes.old("spec.version"), database.spec.version)
"""

from clientgo.operator.addons.changes.changes import Changes, Digest, digest
from clientgo.operator.addons.changes.last_reconciled import LastReconciled, StateKeeper, keeper_of

__all__ = ["Changes", "Digest", "digest", "LastReconciled", "StateKeeper", "keeper_of"]
