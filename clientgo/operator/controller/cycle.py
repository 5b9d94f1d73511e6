"""One run of a controller, from its key to what follows.

    fetch ──► being deleted? ──► clean_up.py: cleanup ──► finalizer off
      │ no
      ▼
    reconcile_passes.py: finalizer on ──► validate ──► initialise ──► reconcile ──► write
                                                                          └── raised ──► failures.py

Promises this order: an invalid object can be deleted. A run is three steps, begin, user code and
end; see ``runs/steps.py``.

Source: controller-runtime and Java Operator SDK (ReconciliationDispatcher), Red Hat's operator best
practices.
"""

from __future__ import annotations

import threading
from typing import Any

from clientgo.meta import deep_copy, metadata_of
from clientgo.operator.context import Context
from clientgo.operator.controller.clean_up import CleanUp
from clientgo.operator.controller.failures import Failures
from clientgo.operator.controller.parts import ControllerParts
from clientgo.operator.controller.passes import Pass
from clientgo.operator.controller.reconcile_passes import ByKey, Deleted, Gone, Reconcile
from clientgo.operator.runs import Run
from clientgo.operator.runs.run_fields import RunFields
from clientgo.operator.runs.steps import Outcome, UserCode, take_steps
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class Cycle:
    """The work of a controller's run queue; one instance serves all its workers."""

    def __init__(self, parts: ControllerParts) -> None:
        self._parts = parts
        self._failures = Failures(parts)

    def __call__(self, run: Run) -> None:
        """Run once; raises only what must stop the controller.

        With coroutines this begins the run, and ``run.over()`` is called at its end.
        """
        steps = ControllerRun(self._parts, self._failures, run)
        if self._parts.shape.is_async:
            self._parts.event_loop().take_steps(steps, run.over)
        else:
            take_steps(steps)


@uncopyable("it belongs to one run; pass on what you read from it")
class ControllerRun:
    """The steps of one run."""

    __slots__ = ("_ctx", "_failures", "_parts", "_pass", "_run", "_started", "fields")

    def __init__(self, parts: ControllerParts, failures: Failures, run: Run) -> None:
        self._parts = parts
        self._failures = failures
        self._run = run
        self._pass: Pass | None = None
        self._started = parts.clock.monotonic()
        cancelled, deadline = parts.deadlines.begin(run, self._started)
        self._ctx: Context[Any] = Context(parts, run, cancelled=cancelled, deadline=deadline)
        self.fields = RunFields(parts.controller, parts.primary, run.key, self._reconcile_id)
        parts.metrics.run_began(run.key)

    @property
    def name(self) -> str:
        return f"{self._parts.controller} {self._run.key}"

    def begin(self) -> UserCode | None:
        self._pass = self._new_pass()
        return self._pass.begin()

    def end(self, outcome: Outcome) -> UserCode | None:
        assert self._pass is not None
        return self._pass.end(outcome)

    def over(self) -> None:
        parts, run = self._parts, self._run
        ended = "error" if self._pass is None else self._pass.ended
        parts.deadlines.end(run)
        if ended != "error" and self._ctx.failure_is_shared is None:
            self._failures.succeeded(run)
        parts.metrics.run_ended(run.key, ended, parts.clock.monotonic() - self._started)

    def stop(self) -> threading.Event:
        """Return what cancels a coroutine. After a timeout ``on_error`` may await: only a stop
        cancels what begins then."""
        cancelled = self._ctx.cancelled
        return self._parts.stopping if cancelled.is_set() else cancelled

    def _reconcile_id(self) -> str:
        return self._ctx.reconcile_id

    def _new_pass(self) -> Pass:
        """Return what is to be done for the object."""
        parts, run, ctx = self._parts, self._run, self._ctx
        shared = parts.read(run.key)
        if parts.shape.reconcile_key is not None:
            ctx.obj = shared
            self._identify(shared)
            return ByKey(parts, self._failures, ctx, run, shared)
        if shared is None:
            last = run.last_known
            if last is None:
                return Gone(parts, self._failures, ctx, run, None)
            ctx.obj = self.fields.obj = deep_copy(last)
            ctx.deleted = True
            self._identify(last)
            return Deleted(parts, self._failures, ctx, run, None)
        ctx.obj = self.fields.obj = shared if parts.cache.shares else deep_copy(shared)
        self._identify(shared)
        kind = CleanUp if metadata_of(shared).deletion_timestamp else Reconcile
        return kind(parts, self._failures, ctx, run, shared)

    def _identify(self, obj: Any) -> None:
        """Say which object it is; tell the run what happened before."""
        ctx, run, keeper = self._ctx, self._run, self._parts.keeper
        if obj is None:
            ctx.retry = run.identify("")
            return
        metadata = metadata_of(obj)
        ctx.retry = run.identify(metadata.uid, metadata.resource_version)
        if keeper is not None:
            ctx.compared = keeper.compare(obj, resumed=not run.has_succeeded)
