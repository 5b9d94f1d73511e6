"""One pass over one object: what comes before user code, and what comes after it.

    begin ──► user code ──► end ──► user code ──► end ──► None: the pass is over

Promises that a pass waits for nothing but the API server, so that any thread can take its steps:
user code runs between them, and may be a coroutine. What a step or user code raises makes the run a
failed one, see ``failures.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import CoroutineType
from typing import Any

from clientgo.meta import ObjectName
from clientgo.operator.context import Context
from clientgo.operator.controller.failures import Failure, Failures
from clientgo.operator.controller.parts import ControllerParts
from clientgo.operator.errors import CancelledError, ReconcileTimeoutError, TerminalError
from clientgo.operator.result import Result, Write
from clientgo.operator.runs import Run
from clientgo.operator.runs.steps import Outcome, UserCode
from clientgo.util.copies import uncopyable


@uncopyable("it belongs to one run; pass on what you read from it")
class Pass(ABC):
    """One pass; a subclass says what comes before and after its user code.

    ``shared`` is the object as it was read, ``obj`` the same as user code has it; None if there is
    none. ``ended`` is how the pass ended, in the words of the metrics.
    """

    __slots__ = (
        "_ctx",
        "_failure",
        "_failures",
        "_obj",
        "_parts",
        "_run",
        "_shape",
        "_shared",
        "ended",
    )

    deleting = False

    def __init__(
        self, parts: ControllerParts, failures: Failures, ctx: Context[Any], run: Run, shared: Any
    ) -> None:
        self._parts = parts
        self._shape = parts.shape
        self._failures = failures
        self._failure: Failure | None = None
        self._ctx = ctx
        self._run = run
        self._shared = shared
        self._obj = ctx.obj
        self.ended = "error"

    def begin(self) -> UserCode | None:
        """Do what comes before user code, and return that; None if the pass is over."""
        try:
            return self._begin()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            return self._fail(error)

    def end(self, outcome: Outcome) -> UserCode | None:
        """Take how user code ended; return what user code follows, None if the pass is over."""
        if self._failure is not None:
            self._failures.end(self._failure, outcome)
            return None
        try:
            return self._end(outcome)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            return self._fail(error)

    @abstractmethod
    def _begin(self) -> UserCode | None:
        """See :meth:`begin`; may raise."""

    @abstractmethod
    def _end(self, outcome: Outcome) -> UserCode | None:
        """See :meth:`end`; may raise, what the outcome raises too."""

    def _fail(self, error: Exception) -> UserCode | None:
        ctx = self._ctx
        if ctx.time_is_up() and isinstance(error, CancelledError):
            error = self._timed_out(error)
        self._failure = Failure(ctx, self._run, error, self._shared, self._obj, self.deleting)
        return self._failures.begin(self._failure)

    def _timed_out(self, cause: CancelledError) -> ReconcileTimeoutError:
        """Return what cut the run short: not the stop, but the end of its own time."""
        error = ReconcileTimeoutError(
            f"the run of {self._ctx.key} took longer than the "
            f"{self._parts.config.reconcile_timeout} s that controller "
            f"{self._parts.controller} allows"
        )
        error.__cause__ = cause
        return error

    def _result_of(self, outcome: Outcome) -> Result:
        """Return what user code returned. Raises what it raised, and ``TerminalError``."""
        returned = outcome()
        if isinstance(returned, CoroutineType):
            returned.close()
            raise TerminalError(
                f"{self._parts.controller}: a method of the reconciler returned a coroutine; "
                "declare it with async def, so that this is known at the start"
            )
        return self._checked(returned)

    def _checked(self, returned: Any) -> Result:
        controller, key = self._parts.controller, self._ctx.key
        if returned is None:
            return Result.done()
        if not isinstance(returned, Result):
            raise TerminalError(
                f"{controller}: a reconciler returns a Result or None, not {returned!r}"
            ) from TypeError(type(returned).__name__)
        if returned.write is Write.NOTHING:
            return returned
        if ObjectName.of(returned.obj) != key:
            raise TerminalError(
                f"{controller}: the result for {key} would write "
                f"{ObjectName.of(returned.obj)}; write other objects with ctx.client"
            )
        if returned.write in (Write.STATUS, Write.BOTH) and not self._parts.has_status:
            raise TerminalError(
                f"{controller}: {self._parts.primary.kind} has no status subresource; declare a "
                "field called status, or return Result.resource"
            )
        if self._ctx.deleted:
            raise TerminalError(f"{controller}: {key} is gone and cannot be written")
        return returned

    def _pass_again(self) -> None:
        """End this pass well; another follows immediately."""
        self._run.again()
        self._check_deadline()
        self.ended = "success"

    def _succeed(self, result: Result) -> None:
        """End the run well, and do what the result says about the next one."""
        self._check_deadline()
        if self._shared is None and result.delay is None:
            self._run.gone()
        else:
            self._run.succeeded(result.delay, result.requeue_priority)
        self.ended = "success" if result.delay is None else "requeue_after"

    def _check_deadline(self) -> None:
        if self._ctx.time_is_up():
            raise CancelledError(f"the run of {self._ctx.key} ended when its time was over")
