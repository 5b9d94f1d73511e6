"""What follows when a run has failed.

    cut short by the stop ──► nothing; by the deletion, if asked ──► the clean-up
    clean-up failed for too long ──► finalizers off
    on_error ──► Event ──► status ──► retry policy ──► one line in the log

Promises this order, and that nothing which fails on the way replaces the failure itself.

Source: Java Operator SDK (ReconciliationDispatcher, ErrorStatusHandler); Red Hat's operator best
practices (ManageError).
"""

from __future__ import annotations

import logging
from typing import Any, Final

from clientgo.meta import DecodeError, StatusError, deep_copy, is_conflict, metadata_of
from clientgo.meta.timestamps import parse_time
from clientgo.operator.client.events import CLEANUP_ABANDONED
from clientgo.operator.client.object_writes import remove_finalizers_now, write_status
from clientgo.operator.context import Context
from clientgo.operator.controller.parts import ControllerParts
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
from clientgo.operator.runs.steps import Steps, result_of
from clientgo.rest import TransportError

_log = logging.getLogger("clientgo.operator.reconcile")

STATUS_RETRY: Final = 1.0
"""Seconds after which an object runs again whose status could not be written."""


class InvalidObjectError(TerminalError):
    """The object is not what its own rules ask for; only an edit helps."""


class Failures:
    """Handles the failed runs of one controller.

    ``obj`` is the object that the reconciler has, ``shared`` the same as it was read; both are
    None if there is none.
    """

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._clock = parts.clock

    def deal_with(
        self,
        ctx: Context[Any],
        run: Run,
        error: Exception,
        shared: Any,
        obj: Any,
        *,
        deleting: bool = False,
    ) -> Steps[None]:
        """Raises ``error`` itself if it must stop the manager."""
        parts = self._parts
        error = self._timed_out(ctx, error)
        if isinstance(error, CancelledError) and parts.stopping.is_set():
            _log.debug("%s: the run was cut short by the stop: %s", run.key, error)
            return
        if isinstance(error, CancelledError) and ctx.cancelled.is_set():
            _log.debug("%s: the run was cut short by the deletion: %s", run.key, error)
            run.again()
            return
        if not parts.config.recover and not _is_expected(error):
            raise error
        if deleting and self._gave_up(ctx, run, error, shared):
            return
        answer = ErrorResult.default()
        if parts.shape.on_error is not None and obj is not None and not deleting:
            answer = yield from self._ask_on_error(ctx, obj, error)
        reported = self._is_gone(run, error) or self._tell(ctx, run, error, shared, answer)
        retry = self._plan(run, error, shared, answer)
        if not reported and retry is None:
            run.again_after(STATUS_RETRY)
        delay = None if retry is None else max(retry.due - self._clock.monotonic(), 0.0)
        parts.metrics.retry(run.key, ctx.retry.attempt + 1, delay)
        if ctx.deleted and retry is None:
            run.gone()
        what = "the clean-up failed" if deleting else "failed"
        self._log(run, what, error, delay, before=ctx.retry.last_error)

    def _is_gone(self, run: Run, error: Exception) -> bool:
        """Return True if the primary itself was deleted during the run; its event will follow."""
        if not (isinstance(error, StatusError) and is_gone(error, run.key.name)):
            return False
        details, primary = error.status.details, self._parts.primary
        return (details.group, details.kind) == (primary.group, primary.plural)

    def _timed_out(self, ctx: Context[Any], error: Exception) -> Exception:
        """Return the error itself, unless it is only what the end of the run's time made of it."""
        if ctx.time_is_up() and isinstance(error, CancelledError):
            timed_out = ReconcileTimeoutError(
                f"the run of {ctx.key} took longer than the "
                f"{self._parts.config.reconcile_timeout} s that controller "
                f"{self._parts.controller} allows"
            )
            timed_out.__cause__ = error
            return timed_out
        return error

    def _gave_up(self, ctx: Context[Any], run: Run, error: Exception, shared: Any) -> bool:
        """Remove the finalizers if the clean-up has failed for too long; return True if so."""
        parts, timeout = self._parts, self._parts.config.give_up_after
        if timeout is None:
            return False
        deleted_at = parse_time(metadata_of(shared).deletion_timestamp)
        left = deleted_at + float(timeout) - self._clock.time()
        if left > 0:
            run.again_after(left)
            return False
        try:
            remove_finalizers_now(parts.client, shared, parts.finalizers)
        except (DecodeError, StatusError, TransportError) as failure:
            _log.warning("%s: the finalizers could not be removed: %s", run.key, failure)
            return False
        note = f"The clean-up kept failing and was given up; something may be left: {error}"
        ctx.events.warning(CLEANUP_ABANDONED, note)
        parts.metrics.abandoned()
        _log.error("%s: the clean-up was given up: %s", run.key, error, exc_info=error)
        run.gone()
        return True

    def _ask_on_error(self, ctx: Context[Any], obj: Any, error: Exception) -> Steps[ErrorResult]:
        assert self._parts.shape.on_error is not None
        try:
            returned = yield from result_of(self._parts.shape.on_error(ctx, obj, error))
        except Exception:  # noqa: BLE001 - the first error is the one that matters
            _log.exception("%s: on_error itself failed", ctx.key)
            return ErrorResult.default()
        if isinstance(returned, ErrorResult):
            return returned
        if returned is not None:
            _log.error("%s: on_error returns an ErrorResult or None, not %r", ctx.key, returned)
        return ErrorResult.default()

    def _tell(
        self, ctx: Context[Any], run: Run, error: Exception, shared: Any, answer: ErrorResult
    ) -> bool:
        """Report an error by an Event and in the status; an invalid object once a generation.

        Return False if the status could not be written.
        """
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
        except (DecodeError, StatusError, TransportError) as failure:
            if not is_gone(failure, run.key.name):
                _log.warning("%s: the status of the failure was not written: %s", run.key, failure)
                return not notes.reports
            _log.debug("%s: is gone, and its status with it", run.key)
        except Exception:  # noqa: BLE001 - it must not take the place of the failure itself
            _log.exception("%s: the status of the failure cannot be written", run.key)
        if invalid:
            run.reported_invalid(generation)
        return True

    def _plan(self, run: Run, error: Exception, shared: Any, answer: ErrorResult) -> Timer | None:
        """Return the timer of the next try; None if there is none."""
        retry = run.failed(
            FailedRun(error, answer.retries, answer.delay, retry_after(error), shared),
            0 if shared is None else metadata_of(shared).generation,
        )
        self._parts.metrics.failed(
            terminal=isinstance(error, TerminalError) or not answer.retries,
            bug=not _is_expected(error),
            timeout=isinstance(error, ReconcileTimeoutError),
        )
        return retry

    def _log(
        self,
        run: Run,
        what: str,
        error: Exception,
        delay: float | None,
        *,
        before: Exception | None,
    ) -> None:
        """One line for each failure; the first has a traceback, and all have one at DEBUG.

        A `Retry` has no traceback, and is logged again only when its message changes.
        """
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
            detailed = not asked and (before is None or _log.isEnabledFor(logging.DEBUG))
            _log.log(
                logging.DEBUG if repeats else logging.WARNING,
                "%s: %s, trying again in %.3g s: %s",
                run.key,
                what,
                delay,
                error if asked else f"{type(error).__name__}: {error}",
                exc_info=error if detailed else None,
            )


def _is_expected(error: Exception) -> bool:
    """Return True if an error comes from outside, and is not a bug in the reconciler."""
    return isinstance(error, OperatorError | DecodeError | StatusError | TransportError)
