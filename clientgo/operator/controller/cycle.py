"""One run of a controller, from its key to what follows.

    fetch ──► being deleted? ──► cleanup ──► finalizer off
      │ no
      ▼
    finalizer on ──► validate ──► initialise ──► reconcile ──► write ──► succeeded
                                                     └── raised ──► failures.py

Promises this order: an invalid object can be deleted, and ``reconcile`` gets only objects that are
valid, initialised and not being deleted. A pass that wrote the finalizer or an initialisation ends
there and another follows immediately. A pass is a generator: while a coroutine of the reconciler
runs, it waits and has no thread.

Source: controller-runtime and Java Operator SDK (ReconciliationDispatcher), Red Hat's operator best
practices.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Final

from clientgo.meta import (
    DecodeError,
    ObjectName,
    StatusError,
    deep_copy,
    is_conflict,
    metadata_of,
)
from clientgo.meta.timestamps import parse_time
from clientgo.operator.client.object_writes import (
    add_finalizers_now,
    remove_finalizers_now,
    write_result,
    write_status,
)
from clientgo.operator.context import Context
from clientgo.operator.controller.failures import STATUS_RETRY, Failures, InvalidObjectError
from clientgo.operator.controller.parts import ControllerParts
from clientgo.operator.controller.suspended_run import SuspendedRun
from clientgo.operator.errors import (
    CancelledError,
    FinalizerErrors,
    OperatorError,
    TerminalError,
    is_gone,
)
from clientgo.operator.finalizers import has_finalizer
from clientgo.operator.result import Result, Write
from clientgo.operator.runs import Run, is_transient
from clientgo.operator.runs.run_fields import RunFields, enter, leave
from clientgo.operator.runs.steps import LATER, Steps, result_of
from clientgo.rest import TransportError
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.operator.reconcile")

_WITH_ANNOTATIONS: Final = (Write.RESOURCE, Write.BOTH)

MOST_INITIALISATIONS: Final = 3
"""In a row, for one generation; one more and it is a bug."""


@uncopyable("it belongs to one run; pass on what you read from it")
class Cycle:
    """The work of a controller's run queue; one instance serves all its workers."""

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._shape = parts.shape
        self._clock = parts.clock
        self._metrics = parts.metrics
        self._failures = Failures(parts)

    def __call__(self, run: Run) -> object:
        """Run once; raises only what must stop the controller.

        Return ``LATER`` if the run goes on elsewhere, after a coroutine.
        """
        parts, started = self._parts, self._clock.monotonic()
        cancelled, deadline = parts.deadlines.begin(run, started)
        ctx: Context[Any] = Context(parts, run, cancelled=cancelled, deadline=deadline)
        log = RunFields(parts.controller, parts.primary, run.key, lambda: ctx.reconcile_id)
        token = enter(log)
        ended, later = "error", False
        self._metrics.run_began(run.key)
        steps = self._pass(ctx, run, log)
        try:
            coroutine = next(steps)
            suspended = SuspendedRun(
                f"{parts.controller} {run.key}",
                steps,
                parts.event_loop if self._shape.is_async else self._refuse_coroutine,
                cancelled,
                parts.stopping,
                log,
                partial(self._over, run, started),
            )
            suspended.wait_for(coroutine)
            later = True
        except StopIteration as stop:
            ended = stop.value
        finally:
            leave(token)
            if not later:
                self._ended(run, started, ended)
        return LATER if later else None

    def _over(self, run: Run, started: float, ended: str, failure: BaseException | None) -> None:
        self._ended(run, started, ended)
        run.over(failure)

    def _ended(self, run: Run, started: float, ended: str) -> None:
        self._parts.deadlines.end(run)
        self._metrics.run_ended(run.key, ended, self._clock.monotonic() - started)

    def _refuse_coroutine(self) -> Any:
        raise TerminalError(
            f"{self._parts.controller}: a method of the reconciler returned a coroutine; declare "
            "it with async def, so that this is known at the start"
        )

    def _pass(self, ctx: Context[Any], run: Run, log: RunFields) -> Steps[str]:
        """Return how the run ended, in the words of the metrics."""
        if self._shape.reconcile_key is not None:
            return (yield from self._by_key(ctx, run))
        shared = self._parts.read(run.key)
        if shared is None:
            return (yield from self._deleted(ctx, run, log))
        obj = shared if self._parts.cache.shares else deep_copy(shared)
        ctx.obj = log.obj = obj
        self._identify(ctx, run, shared)
        deleting = bool(metadata_of(shared).deletion_timestamp)
        try:
            if deleting:
                self._parts.deadlines.cleans_up(run)
                result = yield from self._clean_up(ctx, run, shared, obj)
            else:
                result = yield from self._reconcile(ctx, run, shared, obj)
            self._check_deadline(ctx)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            yield from self._failures.deal_with(ctx, run, error, shared, obj, deleting=deleting)
            return "error"
        return "success" if result is None else _succeeded(run, result)

    def _deleted(self, ctx: Context[Any], run: Run, log: RunFields) -> Steps[str]:
        """Run a controller with ``on_deleted`` once more, with the last state of the object."""
        last = run.last_known
        if last is None:
            run.gone()
            return "success"
        ctx.obj = log.obj = deep_copy(last)
        self._identify(ctx, run, last)
        ctx.deleted = True
        try:
            assert self._shape.reconcile is not None
            returned = yield from result_of(self._shape.reconcile(ctx, ctx.obj))
            result = self._checked(ctx, returned)
            self._check_deadline(ctx)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            yield from self._failures.deal_with(ctx, run, error, None, ctx.obj)
            return "error"
        if result.delay is None:
            run.gone()
            return "success"
        return _succeeded(run, result)

    def _by_key(self, ctx: Context[Any], run: Run) -> Steps[str]:
        assert self._shape.reconcile_key is not None
        shared = self._parts.read(run.key)
        ctx.obj = shared
        if shared is None:
            ctx.retry = run.identify("")
        else:
            self._identify(ctx, run, shared)
        try:
            returned = yield from result_of(self._shape.reconcile_key(ctx, run.key))
            result = self._checked(ctx, returned)
            if shared is not None:
                self._write(ctx, run, shared, result)
            self._check_deadline(ctx)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            yield from self._failures.deal_with(ctx, run, error, shared, shared)
            return "error"
        if shared is None and result.delay is None:
            run.gone()
            return "success"
        return _succeeded(run, result)

    def _identify(self, ctx: Context[Any], run: Run, obj: Any) -> None:
        """Say which object it is; tell the run what happened before."""
        metadata, keeper = metadata_of(obj), self._parts.keeper
        ctx.retry = run.identify(metadata.uid, metadata.resource_version)
        if keeper is not None:
            ctx.compared = keeper.compare(obj, resumed=not run.has_succeeded)

    # The object lives

    def _reconcile(
        self, ctx: Context[Any], run: Run, shared: Any, obj: Any
    ) -> Steps[Result | None]:
        """What the run ends in; None if the pass is over and another follows."""
        parts = self._parts
        missing = [name for name in parts.finalizers if not has_finalizer(shared, name)]
        if missing:
            add_finalizers_now(parts.client, shared, missing)
            run.again()
            return None
        self._validate(obj)
        if self._initialised(run, shared, obj):
            return None
        assert self._shape.reconcile is not None
        returned = yield from result_of(self._shape.reconcile(ctx, obj))
        result = self._checked(ctx, returned)
        self._write(ctx, run, shared, result)
        return result

    def _validate(self, obj: Any) -> None:
        if self._shape.validate is None:
            return
        try:
            answer = self._shape.validate(obj, None, None)
            if hasattr(answer, "raise_if_any"):
                answer.raise_if_any()
        except Exception as error:
            if isinstance(error, OperatorError | OSError) or is_transient(error):
                raise  # what it asked did not answer, which says nothing about the object
            raise InvalidObjectError(str(error) or type(error).__name__) from error

    def _initialised(self, run: Run, shared: Any, obj: Any) -> bool:
        """Return True if the object was initialised now, so that this pass is over."""
        if self._shape.initialise is None:
            return False
        generation = metadata_of(shared).generation
        if not self._shape.initialise(obj):
            run.settled()
            return False
        if run.initialised(generation) > MOST_INITIALISATIONS:
            raise TerminalError(
                f"{self._parts.controller}: initialise does not settle: it changed the object "
                f"{MOST_INITIALISATIONS + 1} times in a row; it must return False for what it made"
            )
        written = write_result(self._parts.client, shared, Result.resource(obj))
        if written is shared:
            return False
        run.again()
        return True

    def _write(self, ctx: Context[Any], run: Run, shared: Any, result: Result) -> None:
        """What the result says, with what the framework notes in the status: in one request with
        the reconciler's, or in one of its own, without which the run is no failure."""
        generation = metadata_of(shared).generation
        client, notes, before = self._parts.client, self._parts.notes, self._base(shared, result)
        keeper, writes_status = self._parts.keeper, result.write in (Write.STATUS, Write.BOTH)
        if keeper is not None and not keeper.in_status and result.write in _WITH_ANNOTATIONS:
            keeper.put(ctx.changes, result.obj)
        if writes_status:
            notes.succeeded(ctx, result.obj, generation)
        current = write_result(client, before, result)
        if keeper is not None:
            current = keeper.write(client, ctx.changes, current)
        if writes_status or not notes.applies:
            return
        noted = deep_copy(current)
        notes.succeeded(ctx, noted, generation)
        try:
            write_status(client, current, noted)
        except (DecodeError, StatusError, TransportError) as error:
            if is_gone(error, run.key.name):
                _log.debug("%s: is gone, and its status with it", run.key)
                return
            level = logging.INFO if is_conflict(error) else logging.WARNING
            _log.log(level, "%s: the status of the success was not written: %s", run.key, error)
            run.again_after(STATUS_RETRY)

    def _base(self, shared: Any, result: Result) -> Any:
        """What the result is a change of: the object as it was read, unless the reconciler wrote
        it itself since, and went on with what the API server answered."""
        if result.write is Write.NOTHING:
            return shared
        version = metadata_of(result.obj).resource_version
        if version == metadata_of(shared).resource_version:
            return shared
        newest = self._parts.cache.get(ObjectName.of(shared))
        is_base = newest is not None and metadata_of(newest).resource_version == version
        return newest if is_base else shared

    # The object is being deleted

    def _clean_up(self, ctx: Context[Any], run: Run, shared: Any, obj: Any) -> Steps[Result | None]:
        """What the run ends in; None if nothing is left to do."""
        parts = self._parts
        ours = [name for name in parts.finalizers if has_finalizer(shared, name)]
        if not ours:
            run.gone()
            return None
        done: list[str] = []
        kept: Result | None = None
        errors: dict[str, Exception] = {}
        for finalizer in ours:
            try:
                returned = yield from result_of(parts.clean_up(finalizer, ctx, obj))
                result = self._checked_clean_up(ctx, returned)
            except Exception as error:  # noqa: BLE001 - the other finalizers are none the worse
                errors[finalizer] = error
                continue
            if result.keeps_finalizer:
                kept = result
            else:
                done.append(finalizer)
        if kept is not None and not errors:
            write_result(parts.client, shared, kept)
        if done:
            remove_finalizers_now(parts.client, shared, done)
        if errors:
            raise next(iter(errors.values())) if len(errors) == 1 else FinalizerErrors(errors)
        if kept is None:
            waited = self._clock.time() - parse_time(metadata_of(shared).deletion_timestamp)
            self._metrics.cleaned_up(run.key, waited)
            run.gone()
        return kept

    # Checks

    def _checked(self, ctx: Context[Any], returned: Any) -> Result:
        if returned is None:
            return Result.done()
        if not isinstance(returned, Result):
            raise TerminalError(
                f"{self._parts.controller}: a reconciler returns a Result or None, not {returned!r}"
            ) from TypeError(type(returned).__name__)
        if returned.write is not Write.NOTHING and ObjectName.of(returned.obj) != ctx.key:
            raise TerminalError(
                f"{self._parts.controller}: the result for {ctx.key} would write "
                f"{ObjectName.of(returned.obj)}; write other objects with ctx.client"
            )
        if returned.write in (Write.STATUS, Write.BOTH) and not self._parts.has_status:
            raise TerminalError(
                f"{self._parts.controller}: {self._parts.primary.kind} has no status "
                "subresource; declare a field called status, or return Result.resource"
            )
        if returned.write is not Write.NOTHING and ctx.deleted:
            raise TerminalError(
                f"{self._parts.controller}: {ctx.key} is gone and cannot be written"
            )
        return returned

    def _checked_clean_up(self, ctx: Context[Any], returned: Any) -> Result:
        result = self._checked(ctx, returned)
        asks = result.write is not Write.NOTHING or result.delay is not None
        if asks and not result.keeps_finalizer:
            raise OperatorError(
                f"{self._parts.controller}: cleanup is done with {ctx.key}, so nothing can be "
                "written or waited for; add .keep_finalizer() to the result"
            )
        return result

    def _check_deadline(self, ctx: Context[Any]) -> None:
        if ctx.time_is_up():
            raise CancelledError(f"the run of {ctx.key} ended when its time was over")


def _succeeded(run: Run, result: Result) -> str:
    run.succeeded(result.delay, result.requeue_priority)
    return "success" if result.delay is None else "requeue_after"
