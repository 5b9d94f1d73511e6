"""Report how the last run of an object ended: by Events and, if wanted, in its status.

Promises that a failure is reported by an Event, then in the status, then retried; and that a status
which says so already is not written again. Only the first success after a failure is noted, unless
there is a heartbeat. Conflicts are not reported.

Source: Red Hat's operator best practices (ReconcileStatus, ManageSuccess, ManageError). Differs in
that a status which cannot hold the note is no error.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol

from clientgo.meta import Model, is_conflict
from clientgo.meta.markers import Format
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator.client.events import PROCESSING_ERROR, RESOURCE_EXISTS, shortened
from clientgo.operator.context import Context
from clientgo.operator.durations import Duration, positive_seconds, seconds
from clientgo.operator.errors import AlreadyOwnedError
from clientgo.operator.status import has_status_fields, status_of

_log = logging.getLogger("clientgo.operator.reconcile")

SUCCESS: Final = "Success"
FAILURE: Final = "Failure"


class ReconcileStatus(Model):
    """Base of a status type that says how the last run ended; or give your type these fields."""

    status: Literal["Success", "Failure"] | None = None
    last_update: Annotated[str | None, Format("date-time")] = None
    reason: str = ""


class StatusReporter(Protocol):
    """Tells how runs ended; a controller's ``reporter``. Called by its workers.

    ``obj`` is a copy whose status may be changed: it is written afterwards. A method
    ``concerns(kind) -> bool``, if there is one, says when a controller is built whether statuses
    of that kind are ever changed.
    """

    def success(self, ctx: Context[Any], obj: Any, /) -> None: ...

    def failure(self, ctx: Context[Any], obj: Any, error: Exception, /) -> None: ...


@dataclass(frozen=True, slots=True)
class BestPracticeReporter:
    """A Warning Event for each failure; for kinds with a :class:`ReconcileStatus` a note as well.

    ``heartbeat``: a success that was noted so many seconds ago is noted again. Thread-safe.
    """

    heartbeat: Duration | None = None
    _told_of: set[type[Any]] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.heartbeat is not None:
            positive_seconds(self.heartbeat, "heartbeat")

    def concerns(self, kind: Any) -> bool:
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
        ctx.events.warning(RESOURCE_EXISTS if exists else PROCESSING_ERROR, text)
        if self.concerns(type(obj)):
            _note(status_of(obj), FAILURE, text, ctx.clock.time())
        elif type(obj) not in self._told_of:
            self._told_of.add(type(obj))
            _log.info(
                "failures of %s are told by Events only: its status is no ReconcileStatus",
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
