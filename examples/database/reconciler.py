"""The controller: the framework writes the dependents, and this class keeps the account."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from clientgo.api.apps_v1 import StatefulSet
from clientgo.api.core_v1 import Secret
from clientgo.operator import Context, Result, Source, controller
from clientgo.operator.addons.polling import poll
from clientgo.operator.sources import watch
from clientgo.operator.webhooks import FieldErrors, Operation, path
from clientgo.util.text.cron import CronError
from clientgo.util.text.cron_schedule import Cron
from examples.database.accounts import Account, Accounts
from examples.database.api import Database
from examples.database.dependents import (
    OURS,
    PASSWORD,
    Address,
    Backups,
    Password,
    Servers,
    ready_replicas,
)

VERSION: Final = "17"
"""The version of databases that do not name one."""

LONGEST_NAME: Final = 52
"""The name of a CronJob has at most 52 characters."""


@controller(
    Database,
    owns=[watch(Secret, labels=OURS)],
    dependents=[Password, Address, Servers, Backups],
)
class DatabaseReconciler:
    """Creates or repairs the account of a Database, and deletes it before the Database.

    ``period`` is the number of seconds between two looks at an account.
    """

    def __init__(self, accounts: Accounts, *, period: float = 30.0) -> None:
        self._accounts = accounts
        self._period = period
        self._polled = poll(
            lambda database: accounts.find(account_name(database)),
            period=period,
            per_resource=True,
            kind=Account,
        )

    def sources(self, _services: object) -> Iterable[Source]:
        return [self._polled]

    def initialise(self, database: Database) -> bool:
        """Set defaults, for the webhook and for objects that are older than the webhook."""
        is_missing = not database.spec.version
        if is_missing:
            database.spec.version = VERSION
        return is_missing

    def validate(
        self, database: Database, old: Database | None, _operation: Operation
    ) -> FieldErrors:
        """Check what the schema cannot say, for the webhook and for each run."""
        errors, spec, name = FieldErrors(), database.spec, database.metadata.name
        if len(name) > LONGEST_NAME:
            errors.invalid(path("metadata", "name"), name, f"at most {LONGEST_NAME} characters")
        if old is not None and spec.storage != old.spec.storage:
            errors.invalid(path("spec", "storage"), spec.storage, "volumes keep their size")
        if spec.backup is not None:
            try:
                Cron.parse(spec.backup.schedule)
            except CronError as error:
                where = path("spec", "backup", "schedule")
                errors.invalid(where, spec.backup.schedule, str(error))
        return errors

    def reconcile(self, ctx: Context[Database], database: Database) -> Result:
        is_current = self._keep_account(ctx, database)
        ready, wanted = ready_replicas(ctx.secondary(StatefulSet)), database.spec.replicas
        database.status.ready_replicas = ready
        database.status.account = account_name(database)
        reason = "AllReady" if ready == wanted else "Starting"
        message = f"{ready} of {wanted} servers are ready"
        ctx.set_condition(database.status.conditions, "Ready", ready == wanted, reason, message)
        result = Result.status(database)
        # Until a poll has seen the account, it cannot tell that the account is gone again.
        return result if is_current else result.after(self._period)

    def cleanup(self, _ctx: Context[Database], database: Database) -> None:
        """Delete the account. The garbage collector deletes the rest."""
        self._accounts.drop(account_name(database))

    def _keep_account(self, ctx: Context[Database], database: Database) -> bool:
        """Create or repair the account; return True if the last poll saw it as it should be."""
        secret = ctx.secondary(Secret)
        if secret is None:
            return False  # the account needs the password
        digest = sha256((secret.data or {})[PASSWORD]).hexdigest()
        wanted = Account(account_name(database), digest)
        if ctx.secondary(Account) == wanted:
            return True
        if wanted in self._accounts.find(wanted.name):
            return False  # written, but not yet polled
        self._accounts.put(wanted)
        ctx.events.normal("AccountWritten", f"account {wanted.name}")
        return False


def account_name(database: Database) -> str:
    """Return the name of the account. A namespace has no dot, so two databases never share one."""
    return f"{database.metadata.namespace}.{database.metadata.name}"
