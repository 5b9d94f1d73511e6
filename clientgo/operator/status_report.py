"""Report how the last run of an object ended: by Events and, if wanted, in its status.

Promises that a failure is reported by an Event, then in the status, then retried; and that a status
which says so already is not written again. Only the first success after a failure is noted, unless
there is a heartbeat. Conflicts are not reported. While the API server is away one object has an
Event for all.

Source: Red Hat's operator best practices (ReconcileStatus, ManageSuccess, ManageError). Differs in
that a status which cannot hold the note is no error.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias

from clientgo.meta import Model, is_conflict
from clientgo.meta.markers import Format
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator.client.events import PROCESSING_ERROR, RESOURCE_EXISTS, shortened
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.context import Context
from clientgo.operator.errors import AlreadyOwnedError
from clientgo.operator.predicates import Predicate
from clientgo.operator.runs import is_transient
from clientgo.operator.settings.durations import Duration, positive_seconds, seconds
from clientgo.operator.status import (
    Conditioned,
    ObservedGeneration,
    check_new_status,
    has_status_fields,
    status_of,
)

_log = logging.getLogger("clientgo.operator.reconcile")

SUCCESS: Final = "Success"
FAILURE: Final = "Failure"


_Ending: TypeAlias = Literal["Success", "Failure"] | None
_Moment: TypeAlias = Annotated[str | None, Format("date-time")]


class ReconcileStatus(Model):
    """Base of a status type that says how the last run ended; or give your type these fields.

    :class:`ReportedStatus` has conditions too.
    """

    status: _Ending = None
    last_update: _Moment = None
    reason: str = ""


class ReportedStatus(Conditioned):
    """Base of a status type with conditions that says how the last run ended.

    It has the fields of :class:`~clientgo.operator.status.Conditioned` and of
    :class:`ReconcileStatus`, since a struct cannot have two bases with fields.
    """

    status: _Ending = None
    last_update: _Moment = None
    reason: str = ""


class StatusReporter(Protocol):
    """Reports how runs ended; a controller's ``reporter``. Called by its workers.

    ``obj`` is a copy whose status may be changed: it is written afterwards.
    """

    def concerns(self, kind: Any, /) -> bool:
        """Return True if statuses of a kind are ever changed; called when a controller is built."""
        return True

    def success(self, ctx: Context[Any], obj: Any, /) -> None: ...

    def failure(self, ctx: Context[Any], obj: Any, error: Exception, /) -> None: ...


@dataclass(frozen=True, slots=True)
class BestPracticeReporter(StatusReporter):
    """A Warning Event for each failure; for kinds with a :class:`ReconcileStatus` a note as well.

    ``heartbeat``: a success that was noted so many seconds ago is noted again. Thread-safe.
    """

    heartbeat: Duration | None = None
    _told_of: set[type[Any]] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.heartbeat is not None:
            positive_seconds(self.heartbeat, "heartbeat")

    def concerns(self, kind: Any, /) -> bool:
        return has_status_fields(kind, ReconcileStatus)

    def success(self, ctx: Context[Any], obj: Any, /) -> None:
        status, now = status_of(obj), ctx.clock.time()
        if status.status != SUCCESS or status.reason or self._is_due(status.last_update, now):
            _note(status, SUCCESS, "", now)

    def failure(self, ctx: Context[Any], obj: Any, error: Exception, /) -> None:
        if is_conflict(error):
            return
        text = shortened(str(error) or type(error).__name__)
        exists = isinstance(error, AlreadyOwnedError)
        if not (ctx.failure_is_shared and is_transient(error)):
            ctx.events.warning(RESOURCE_EXISTS if exists else PROCESSING_ERROR, text)
        if self.concerns(type(obj)):
            _note(status_of(obj), FAILURE, text, ctx.clock.time())
        elif type(obj) not in self._told_of:
            self._told_of.add(type(obj))
            _log.info(
                "failures of %s are reported by Events only: its status is no ReconcileStatus",
                obj.kind,
            )

    def _is_due(self, last_update: str | None, now: float) -> bool:
        if self.heartbeat is None or last_update is None:
            return False
        return now - parse_time(last_update) >= seconds(self.heartbeat)


def _note(status: Any, ending: str, reason: str, now: float) -> None:
    status.status = ending
    status.reason = reason
    status.last_update = format_time(now)


class Keeper(Protocol):
    """Keeps what runs compare, in the object itself; ``addons.changes`` has one. Thread-safe."""

    in_status: bool
    """True if it keeps that in the status, False in an annotation."""

    def compare(self, obj: Any, /, *, resumed: bool) -> Any:
        """Return what :attr:`Context.changes` is for a run."""

    def put(self, changes: Any, obj: Any, /) -> None:
        """Put what a run keeps into an object about to be written."""

    def write(self, client: LiveClient, changes: Any, current: Any, /) -> Any:
        """Write what a run keeps, unless ``current`` has it; return the object as it is then."""

    def wakes(self) -> Predicate:
        """Return the predicate that stops updates which changed nothing but what is kept."""


class StatusNotes:
    """What the framework itself notes in the status of a controller's primaries. Thread-safe.

    The generation that was reconciled, if ``generation_aware``, what ``keeper`` keeps in a status,
    and what the reporter notes. It is in the object before that is written, so one request carries
    all. A reporter that fails does no harm to the run.
    """

    def __init__(
        self,
        kind: Any,
        controller: str,
        reporter: StatusReporter | None,
        *,
        generation_aware: bool,
        keeper: Keeper | None = None,
    ) -> None:
        self._reporter = reporter
        self._keeper = keeper if keeper is not None and keeper.in_status else None
        self._observes = generation_aware and has_status_fields(kind, ObservedGeneration)
        self.reports = reporter is not None and reporter.concerns(kind)
        """True if the reporter ever notes anything."""
        self.applies = self._observes or self.reports or self._keeper is not None
        """True if anything is ever noted after a success."""
        if self.applies:
            check_new_status(kind, controller)

    def succeeded(self, ctx: Context[Any], obj: Any, generation: int) -> None:
        """Note a success in an object that is about to be written."""
        if self._observes and generation:
            status_of(obj).observed_generation = generation
        if self._keeper is not None:
            self._keeper.put(ctx.changes, obj)
        if self._reporter is None or not self.reports:
            return
        try:
            self._reporter.success(ctx, obj)
        except Exception:  # noqa: BLE001 - the work itself is done
            _log.exception("%s: the reporter failed", ctx.key)

    def failed(self, ctx: Context[Any], obj: Any, error: Exception) -> None:
        """Report a failure, and note it in an object that is about to be written."""
        if self._reporter is None:
            return
        try:
            self._reporter.failure(ctx, obj, error)
        except Exception:  # noqa: BLE001 - the run's own error is the one that matters
            _log.exception("%s: the reporter failed", ctx.key)
