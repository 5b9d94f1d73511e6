"""One run of a controller, from its key to what follows.

::

    fetch ──► being deleted? ──► cleanup ──► finalizer off
      │ no
      ▼
    finalizer on ──► validate ──► initialise ──► reconcile ──► write ──► succeeded
                                                     └── raised ──► on_error ──► failed

Promises this order. The deletion is judged first, so that an invalid object can be deleted;
``reconcile`` sees only objects that are valid, initialised and not being deleted. A pass that had
to write the finalizer or an initialisation ends there and another follows at once.

Source: controller-runtime and Java Operator SDK (ReconciliationDispatcher), and the cycle that
Red Hat's operator best practices describe.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from clientgo.meta import ObjectName, StatusError, deep_copy, is_conflict, metadata_of
from clientgo.operator.context import Context
from clientgo.operator.errors import (
    CancelledError,
    OperatorError,
    ReconcileTimeoutError,
    TerminalError,
)
from clientgo.operator.finalizers import has_finalizer
from clientgo.operator.key_state import FailedRun
from clientgo.operator.object_writes import (
    add_finalizer_now,
    remove_finalizer_now,
    write_result,
    write_status,
)
from clientgo.operator.result import ErrorResult, Result, Write
from clientgo.operator.run_fields import RunFields, enter, leave
from clientgo.operator.run_queue import Run
from clientgo.rest import TransportError

if TYPE_CHECKING:
    from clientgo.operator.controller import Controller

_log = logging.getLogger("clientgo.operator.reconcile")

MOST_INITIALISATIONS: Final = 3
"""In a row, for one generation; one more and it is a bug."""


class InvalidObjectError(TerminalError):
    """The object is not what its own rules ask for; only an edit helps."""


class Cycle:
    """The work of a controller's run queue; one instance serves all its workers."""

    def __init__(self, controller: Controller[Any]) -> None:
        self._controller = controller
        self._shape = controller.shape
        self._kind = controller.kind
        self._clock = controller.services.clock
        self._metrics = controller.metrics

    def __call__(self, run: Run) -> None:
        """Run once; raises only what must stop the controller."""
        controller, started = self._controller, self._clock.monotonic()
        cancelled, deadline = controller.deadlines.begin(run, started)
        ctx: Context[Any] = Context(controller, run, cancelled=cancelled, deadline=deadline)
        log = RunFields(controller.name, controller.primary, run.key, lambda: ctx.reconcile_id)
        token = enter(log)
        ended = "error"
        self._metrics.run_began()
        try:
            ended = self._pass(ctx, run, log)
        finally:
            leave(token)
            now = self._clock.monotonic()
            controller.deadlines.end(run)
            self._metrics.run_ended(ended, now - started)

    def _pass(self, ctx: Context[Any], run: Run, log: RunFields) -> str:
        """Returns how it ended, as the metrics call it."""
        if self._shape.reconcile_key is not None:
            return self._by_key(ctx, run)
        shared = self._controller.read_primary(run.key)
        if shared is None:
            run.gone()
            return "success"
        obj = shared if self._controller.shares_cached else deep_copy(shared)
        ctx.obj = log.obj = obj
        ctx.retry = run.identify(metadata_of(shared).uid)
        deleting = bool(metadata_of(shared).deletion_timestamp)
        try:
            if deleting:
                result = self._clean_up(ctx, run, shared, obj)
            else:
                result = self._reconcile(ctx, run, shared, obj)
            self._check_deadline(ctx)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            return self._failed(ctx, run, obj, error, deleting=deleting)
        if result is None:
            return "success"
        self._controller.reported_success(ctx, obj)
        run.succeeded(result.delay, result.requeue_priority)
        return "success" if result.delay is None else "requeue_after"

    def _by_key(self, ctx: Context[Any], run: Run) -> str:
        assert self._shape.reconcile_key is not None
        shared = self._controller.read_primary(run.key)
        ctx.obj = shared
        ctx.retry = run.identify("" if shared is None else metadata_of(shared).uid)
        try:
            result = self._checked(ctx, self._shape.reconcile_key(ctx, run.key))
            if shared is not None:
                write_result(self._controller.client, shared, result)
            self._check_deadline(ctx)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            return self._failed(ctx, run, shared, error, deleting=False)
        if shared is None and result.delay is None:
            run.gone()
        else:
            run.succeeded(result.delay, result.requeue_priority)
        return "success" if result.delay is None else "requeue_after"

    # The object lives

    def _reconcile(self, ctx: Context[Any], run: Run, shared: Any, obj: Any) -> Result | None:
        """What the run ends in; None if the pass is over and another follows."""
        controller = self._controller
        finalizer = controller.finalizer
        if finalizer is not None and not has_finalizer(shared, finalizer):
            written = add_finalizer_now(controller.client, shared, finalizer)
            run.again(echo_version=metadata_of(written).resource_version)
            return None
        self._validate(obj)
        if self._initialised(run, shared, obj):
            return None
        assert self._shape.reconcile is not None
        controller.before_reconcile(ctx, obj)
        result = self._checked(ctx, self._shape.reconcile(ctx, obj))
        self._write(shared, result)
        return result

    def _validate(self, obj: Any) -> None:
        if self._shape.validate is None:
            return
        try:
            answer = self._shape.validate(obj, None, "reconcile")
            if hasattr(answer, "raise_if_any"):
                answer.raise_if_any()
        except Exception as error:
            raise InvalidObjectError(str(error)) from error

    def _initialised(self, run: Run, shared: Any, obj: Any) -> bool:
        """Whether the object was initialised just now, so that this pass is over."""
        if self._shape.initialise is None:
            return False
        generation = metadata_of(shared).generation
        if not self._shape.initialise(obj):
            run.settled()
            return False
        if run.initialised(generation) > MOST_INITIALISATIONS:
            raise TerminalError(
                f"{self._controller.name}: initialise does not settle: it changed the object "
                f"{MOST_INITIALISATIONS + 1} times in a row; it must return False for what it made"
            )
        written = write_result(self._controller.client, shared, Result.resource(obj))
        if written is shared:
            return False
        run.again(echo_version=metadata_of(written).resource_version)
        return True

    def _write(self, shared: Any, result: Result) -> None:
        """What the result says, with the generation noted in the status where it belongs."""
        controller = self._controller
        observer, generation = controller.observer, metadata_of(shared).generation
        client, before = controller.client, self._base(shared, result)
        if result.write in (Write.STATUS, Write.BOTH):
            observer.note(result.obj, generation)
            write_result(client, before, result)
            return
        current = write_result(client, before, result)
        if observer.applies:
            noted = deep_copy(current)
            if observer.note(noted, generation):
                write_status(client, current, noted)

    def _base(self, shared: Any, result: Result) -> Any:
        """What the result is a change of: the object as it was read, unless the reconciler wrote
        it itself since, and went on with what the API server answered."""
        if result.write is Write.NOTHING:
            return shared
        version = metadata_of(result.obj).resource_version
        if version == metadata_of(shared).resource_version:
            return shared
        newest = self._controller.read_primary(ObjectName.of(shared))
        is_base = newest is not None and metadata_of(newest).resource_version == version
        return newest if is_base else shared

    # The object is being deleted

    def _clean_up(self, ctx: Context[Any], run: Run, shared: Any, obj: Any) -> Result | None:
        controller = self._controller
        finalizer = controller.finalizer
        if finalizer is None or not has_finalizer(shared, finalizer):
            run.gone()
            return None
        result = self._checked(ctx, controller.clean_up(ctx, obj))
        if result.keeps_finalizer:
            write_result(controller.client, shared, result)
            return result
        if result.write is not Write.NOTHING or result.delay is not None:
            raise OperatorError(
                f"{controller.name}: cleanup is done with {run.key}, so nothing can be written or "
                "waited for; add .keep_finalizer() to the result"
            )
        remove_finalizer_now(controller.client, shared, finalizer)
        run.gone()
        return None

    # The run failed

    def _failed(
        self, ctx: Context[Any], run: Run, obj: Any, error: Exception, *, deleting: bool
    ) -> str:
        if not self._controller.config.recover and not _is_expected(error):
            raise error
        if deleting and self._controller.gave_up(ctx, obj, error):
            run.gone()
            return "error"
        answer = ErrorResult.default()
        if self._shape.on_error is not None and not deleting and obj is not None:
            answer = self._ask_on_error(ctx, obj, error)
        self._controller.reported_failure(ctx, obj, error)
        retry_after = error.retry_after if isinstance(error, StatusError) else None
        timer = run.failed(
            FailedRun(error, answer.retries, answer.delay, retry_after or 0.0, obj),
            0 if obj is None else metadata_of(obj).generation,
        )
        terminal = isinstance(error, TerminalError) or not answer.retries
        self._metrics.failed(
            terminal=terminal,
            bug=not _is_expected(error),
            timeout=isinstance(error, ReconcileTimeoutError),
            retries=timer is not None,
        )
        if ctx.cancelled.is_set() and isinstance(error, CancelledError):
            _log.debug("%s: the run of %s was cut short by the stop", run.key, error)
        elif is_conflict(error):
            _log.info("%s: changed by somebody else meanwhile, trying again: %s", run.key, error)
        elif timer is None:
            _log.error("%s: failed, not trying again: %s", run.key, error, exc_info=error)
        else:
            wait = max(timer.due - self._clock.monotonic(), 0.0)
            _log.warning("%s: failed, trying again in %.3g s: %s", run.key, wait, error)
            _log.debug("%s: this is where it failed", run.key, exc_info=error)
        return "error"

    def _ask_on_error(self, ctx: Context[Any], obj: Any, error: Exception) -> ErrorResult:
        assert self._shape.on_error is not None
        try:
            answer = self._shape.on_error(ctx, obj, error) or ErrorResult.default()
        except Exception:  # noqa: BLE001 - the first error is the one that matters
            _log.exception("%s: on_error itself failed", ctx.key)
            return ErrorResult.default()
        if answer.obj is not None:
            shared = self._controller.read_primary(ctx.key)
            try:
                if shared is not None:
                    write_status(self._controller.client, shared, answer.obj)
            except (StatusError, TransportError) as failure:
                _log.warning("%s: the status of the error was not written: %s", ctx.key, failure)
        return answer

    # Checks

    def _checked(self, ctx: Context[Any], returned: Any) -> Result:
        if returned is None:
            return Result.done()
        if not isinstance(returned, Result):
            raise TerminalError(
                f"{self._controller.name}: a reconciler returns a Result or None, not {returned!r}"
            ) from TypeError(type(returned).__name__)
        if returned.write is not Write.NOTHING and ObjectName.of(returned.obj) != ctx.key:
            raise TerminalError(
                f"{self._controller.name}: the result for {ctx.key} would write "
                f"{ObjectName.of(returned.obj)}; write other objects with ctx.client"
            )
        if returned.write in (Write.STATUS, Write.BOTH) and not self._controller.has_status:
            raise TerminalError(
                f"{self._controller.name}: {self._controller.primary.kind} has no status "
                "subresource; declare a field called status, or return Result.resource"
            )
        return returned

    def _check_deadline(self, ctx: Context[Any]) -> None:
        if ctx.deadline is not None and self._clock.monotonic() > ctx.deadline:
            timeout = self._controller.config.reconcile_timeout
            raise ReconcileTimeoutError(
                f"the run of {ctx.key} took longer than the {timeout} s that "
                f"controller {self._controller.name} allows"
            )


def _is_expected(error: Exception) -> bool:
    """Whether an error is one of the world's, not a bug in the reconciler."""
    return isinstance(error, OperatorError | StatusError | TransportError)
