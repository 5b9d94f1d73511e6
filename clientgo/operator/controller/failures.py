"""What follows when a run has failed.

    cut short by the stop ──► nothing; by the deletion, if asked ──► the clean-up
    clean-up failed for too long ──► finalizers off
    on_error ──► Event ──► status ──► retry policy ──► one line in the log

Promises this order, and that nothing which fails on the way replaces the failure itself. What many
objects fail with is one line and a count; see ``shared_failures.py``.

Source: Java Operator SDK (ReconciliationDispatcher, ErrorStatusHandler); Red Hat's operator best
practices (ManageError).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from clientgo.meta import DecodeError, StatusError, deep_copy, is_conflict, metadata_of
from clientgo.meta.timestamps import parse_time
from clientgo.operator.client.events import CLEANUP_ABANDONED
from clientgo.operator.client.object_writes import remove_finalizers_now, write_status
from clientgo.operator.context import Context
from clientgo.operator.controller.parts import ControllerParts
from clientgo.operator.controller.shared_failures import SharedFailures
from clientgo.operator.errors import (
    CancelledError,
    OperatorError,
    ReconcileTimeoutError,
    Retry,
    TerminalError,
    is_gone,
)
from clientgo.operator.result import ErrorResult
from clientgo.operator.runs import FailedRun, Run, Timer, retry_after
from clientgo.operator.runs.steps import Outcome, UserCode
from clientgo.rest import TransportError

_log = logging.getLogger("clientgo.operator.reconcile")

STATUS_RETRY: Final = 1.0
"""Seconds after which an object runs again whose status could not be written."""


class InvalidObjectError(TerminalError):
    """The object is not what its own rules ask for; only an edit helps."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that has failed.

    ``obj`` is the object that the reconciler has, ``shared`` the same as it was read; both are
    None if there is none.
    """

    ctx: Context[Any]
    run: Run
    error: Exception
    shared: Any
    obj: Any
    deleting: bool = False


class Failures:
    """Handles the failed runs of one controller."""

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._clock = parts.clock
        self._shared = SharedFailures(parts.clock)

    def succeeded(self, run: Run) -> None:
        """Take note of a run in which nothing failed."""
        others = self._shared.succeeded(run.key)
        if others:
            message = "%s: succeeds again; %d runs of other objects failed like it"
            _log.warning(message, run.key, others)

    def share(self, ctx: Context[Any], error: Exception) -> int | None:
        """Take note of what failed; see :meth:`SharedFailures.failed`."""
        others = self._shared.failed(ctx.key, error)
        ctx.failure_is_shared = others is None
        return others

    def begin(self, failure: Failure) -> UserCode | None:
        """Handle a failure; or return ``on_error``, whose outcome :meth:`end` takes.

        Raises the error itself if it must stop the manager.
        """
        parts, error = self._parts, failure.error
        if self._is_cut_short(failure):
            return None
        if not parts.config.recover and not _is_expected(error):
            raise error
        if failure.deleting:
            if not self._gave_up(failure):
                self._finish(failure, ErrorResult.default())
            return None
        if parts.shape.on_error is not None and failure.obj is not None:
            return partial(parts.shape.on_error, failure.ctx, failure.obj, error)
        self._finish(failure, ErrorResult.default())
        return None

    def end(self, failure: Failure, outcome: Outcome) -> None:
        """Take what ``on_error`` returned or raised."""
        ctx, answer = failure.ctx, ErrorResult.default()
        try:
            returned = outcome()
            if isinstance(returned, ErrorResult):
                answer = returned
            elif returned is not None:
                _log.error("%s: on_error returns an ErrorResult or None, not %r", ctx.key, returned)
        except Exception:  # noqa: BLE001 - the first error is the one that matters
            _log.exception("%s: on_error itself failed", ctx.key)
        self._finish(failure, answer)

    def _is_cut_short(self, failure: Failure) -> bool:
        """Return True if the run was only told to end."""
        run, error = failure.run, failure.error
        if not isinstance(error, CancelledError):
            return False
        if self._parts.stopping.is_set():
            _log.debug("%s: the run was cut short by the stop: %s", run.key, error)
            return True
        if failure.ctx.cancelled.is_set():
            _log.debug("%s: the run was cut short by the deletion: %s", run.key, error)
            run.again()
            return True
        return False

    def _finish(self, failure: Failure, answer: ErrorResult) -> None:
        """Report the failure, and let the object run again as ``answer`` and the policy say."""
        ctx, run, error = failure.ctx, failure.run, failure.error
        gone = self._is_gone(run, error)
        others = 0 if gone or is_conflict(error) else self.share(ctx, error)
        reported = gone or self._tell(failure, answer)
        retry = self._plan(failure, answer)
        if not reported and retry is None:
            run.again_after(STATUS_RETRY)
        delay = None if retry is None else max(retry.due - self._clock.monotonic(), 0.0)
        self._parts.metrics.retry(run.key, ctx.retry.attempt + 1, delay)
        if ctx.deleted and retry is None:
            run.gone()
        self._log(failure, delay, others)

    def _is_gone(self, run: Run, error: Exception) -> bool:
        """Return True if the primary itself was deleted during the run; its event will follow."""
        if not (isinstance(error, StatusError) and is_gone(error, run.key.name)):
            return False
        details, primary = error.status.details, self._parts.primary
        return (details.group, details.kind) == (primary.group, primary.plural)

    def _gave_up(self, failure: Failure) -> bool:
        """Remove the finalizers if the clean-up has failed for too long; return True if so."""
        parts, timeout = self._parts, self._parts.config.give_up_after
        run, error, shared = failure.run, failure.error, failure.shared
        if timeout is None:
            return False
        deleted_at = parse_time(metadata_of(shared).deletion_timestamp)
        left = deleted_at + float(timeout) - self._clock.time()
        if left > 0:
            run.again_after(left)
            return False
        try:
            remove_finalizers_now(parts.client, shared, parts.finalizers)
        except (DecodeError, StatusError, TransportError) as refused:
            _log.warning("%s: the finalizers could not be removed: %s", run.key, refused)
            return False
        note = f"The clean-up kept failing and was given up; something may be left: {error}"
        failure.ctx.events.warning(CLEANUP_ABANDONED, note)
        parts.metrics.abandoned()
        _log.error("%s: the clean-up was given up: %s", run.key, error, exc_info=error)
        run.gone()
        return True

    def _tell(self, failure: Failure, answer: ErrorResult) -> bool:
        """Report an error by an Event and in the status; an invalid object once a generation.

        Return False if the status could not be written.
        """
        ctx, run, error, shared = failure.ctx, failure.run, failure.error, failure.shared
        if shared is None:
            return True
        notes, invalid = self._parts.notes, isinstance(error, InvalidObjectError)
        generation = metadata_of(shared).generation
        wanted = deep_copy(shared) if answer.obj is None else answer.obj
        if not (invalid and run.is_reported_invalid(generation)):
            notes.failed(ctx, wanted, error)
        try:
            # This is how its last run ended, even if the object has changed since.
            write_status(self._parts.client, shared, wanted, optimistic=False)
        except (DecodeError, StatusError, TransportError) as refused:
            if not is_gone(refused, run.key.name):
                level = logging.DEBUG if ctx.failure_is_shared else logging.WARNING
                message = "%s: the status of the failure was not written: %s"
                _log.log(level, message, run.key, refused)
                return not notes.reports
            _log.debug("%s: is gone, and its status with it", run.key)
        except Exception:  # noqa: BLE001 - it must not take the place of the failure itself
            _log.exception("%s: the status of the failure cannot be written", run.key)
        if invalid:
            run.reported_invalid(generation)
        return True

    def _plan(self, failure: Failure, answer: ErrorResult) -> Timer | None:
        """Return the timer of the next try; None if there is none."""
        error, shared = failure.error, failure.shared
        retry = failure.run.failed(
            FailedRun(error, answer.retries, answer.delay, retry_after(error), shared),
            0 if shared is None else metadata_of(shared).generation,
        )
        self._parts.metrics.failed(
            terminal=isinstance(error, TerminalError) or not answer.retries,
            bug=not _is_expected(error),
            timeout=isinstance(error, ReconcileTimeoutError),
        )
        return retry

    def _log(self, failure: Failure, delay: float | None, others: int | None) -> None:
        """One line for each failure; the first has a traceback, and all have one at DEBUG.

        A `Retry` has no traceback, and is logged again only when its message changes. ``others`` is
        how many runs failed like it, None if another object's line is about this one too.
        """
        run, error, before = failure.run, failure.error, failure.ctx.retry.last_error
        what = "the clean-up failed" if failure.deleting else "failed"
        if is_conflict(error):
            _log.info("%s: changed by another writer, trying again: %s", run.key, error)
        elif self._is_gone(run, error):
            _log.info("%s: deleted during the run: %s", run.key, error)
        elif delay is None:
            text = str(error) or type(error).__name__
            _log.error("%s: %s, not trying again: %s", run.key, what, text, exc_info=error)
        else:
            asked = isinstance(error, Retry)
            repeats = asked and isinstance(before, Retry) and str(error) == str(before)
            also = f" (and so did {others} runs of other objects)" if others else ""
            detailed = not asked and (before is None or _log.isEnabledFor(logging.DEBUG))
            _log.log(
                logging.DEBUG if repeats or others is None else logging.WARNING,
                "%s: %s, trying again in %.3g s: %s%s",
                run.key,
                what,
                delay,
                error if asked else f"{type(error).__name__}: {error}",
                also,
                exc_info=error if detailed else None,
            )


def _is_expected(error: Exception) -> bool:
    """Return True if an error comes from outside, and is not a bug in the reconciler."""
    return isinstance(error, OperatorError | DecodeError | StatusError | TransportError)
