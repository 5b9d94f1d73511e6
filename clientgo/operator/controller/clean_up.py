"""The pass of an object that is being deleted: each finalizer of ours, one after the other.

    cleanup of a finalizer ──► finalizer off ──► gone

Promises that a clean-up which fails, or keeps its finalizer, does not hold up the others.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from clientgo.meta import metadata_of
from clientgo.meta.timestamps import parse_time
from clientgo.operator.client.events import FINALIZER_ABANDONED
from clientgo.operator.client.object_writes import remove_finalizers_now, write_result
from clientgo.operator.controller.passes import Pass
from clientgo.operator.errors import FinalizerErrors, OperatorError
from clientgo.operator.finalizers import (
    abandoned_finalizers,
    has_finalizer,
    way_out,
)
from clientgo.operator.result import Result, Write
from clientgo.operator.runs.steps import Outcome, UserCode

_log = logging.getLogger("clientgo.operator.reconcile")


class CleanUp(Pass):
    """The object is being deleted."""

    __slots__ = ("_done", "_errors", "_kept", "_left")

    deleting = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._left = [name for name in self._parts.finalizers if has_finalizer(self._shared, name)]
        self._done: list[str] = []
        self._kept: Result | None = None
        self._errors: dict[str, Exception] = {}

    def _begin(self) -> UserCode | None:
        self._parts.deadlines.cleans_up(self._run)
        if not self._left:
            self._end_without_work()
            return None
        return partial(self._parts.clean_up, self._left[0], self._ctx, self._obj)

    def _end(self, outcome: Outcome) -> UserCode | None:
        finalizer = self._left.pop(0)
        try:
            result = self._answer_of(finalizer, outcome)
        except Exception as error:  # noqa: BLE001 - the other finalizers are none the worse
            self._errors[finalizer] = error
        else:
            if result.keeps_finalizer:
                self._kept = result
            else:
                self._done.append(finalizer)
        if self._left:
            return partial(self._parts.clean_up, self._left[0], self._ctx, self._obj)
        self._finish()
        return None

    def _finish(self) -> None:
        """Write what the clean-ups say, and take off the finalizers of those that are done."""
        client, kept, errors = self._parts.client, self._kept, self._errors
        if kept is not None and not errors:
            write_result(client, self._shared, kept)
        if self._done:
            remove_finalizers_now(client, self._shared, self._done)
        if errors:
            raise next(iter(errors.values())) if len(errors) == 1 else FinalizerErrors(errors)
        if kept is not None:
            self._succeed(kept)
            return
        deleted_at = parse_time(metadata_of(self._shared).deletion_timestamp)
        waited = self._parts.clock.time() - deleted_at
        self._parts.metrics.cleaned_up(self._ctx.key, waited)
        self._gone()

    def _end_without_work(self) -> None:
        """End the pass; say once if a finalizer of an earlier release keeps the object."""
        parts, run, shared = self._parts, self._run, self._shared
        names = abandoned_finalizers(parts.primary, shared, parts.removed_finalizers())
        if not names:
            self._gone()
            return
        if run.is_first_abandoned():
            note = (
                f"It is being deleted and has the finalizer {', '.join(names)}, which nothing in "
                f"this operator removes: {way_out(parts.primary, shared, names)}"
            )
            self._ctx.events.warning(FINALIZER_ABANDONED, note)
            _log.error("%s: %s", run.key, note)
        run.succeeded()  # it is remembered as long as it is there
        self._check_deadline()
        self.ended = "success"

    def _gone(self) -> None:
        self._run.gone()
        self._check_deadline()
        self.ended = "success"

    def _answer_of(self, finalizer: str, outcome: Outcome) -> Result:
        result = self._result_of(outcome)
        asks = result.write is not Write.NOTHING or result.delay is not None
        if asks and not result.keeps_finalizer:
            raise OperatorError(
                f"{self._parts.controller}: cleanup is done with {self._ctx.key}, so nothing can "
                "be written or waited for; add .keep_finalizer() to the result"
            )
        if result.keeps_finalizer:
            return result
        return self._parts.after_clean_up(finalizer, self._ctx, self._obj, result)
