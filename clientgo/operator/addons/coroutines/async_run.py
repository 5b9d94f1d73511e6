"""A run whose user code may await: it has no thread while a coroutine runs.

Promises that the coroutine is cancelled when the run should end, and that the run goes on, in a
thread, only when the coroutine has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from types import CoroutineType
from typing import Any

from clientgo.operator.runs.run_fields import enter, leave
from clientgo.operator.runs.steps import (
    CoroutineLoop,
    Outcome,
    RunSteps,
    UserCode,
    raising,
    returning,
)


class AsyncRun:
    """Takes the steps of one run; ``over`` is called after the last, with what they raised."""

    def __init__(
        self,
        steps: RunSteps,
        loop: CoroutineLoop,
        in_thread: Callable[[Callable[[], object]], object],
        over: Callable[[BaseException | None], object],
    ) -> None:
        self._steps = steps
        self._loop = loop
        self._in_thread = in_thread
        self._over = over

    def go_on(self, step: Callable[[], UserCode | None]) -> None:
        """Take a step and those that follow, up to the next coroutine. Blocks."""
        failure: BaseException | None = None
        token = enter(self._steps.fields)
        try:
            while (call := step()) is not None:
                outcome = self._call(call)
                if outcome is None:
                    return
                step = partial(self._steps.end, outcome)
        except BaseException as error:  # noqa: BLE001 - the controller stops, and raises it
            failure = error
        finally:
            leave(token)
        self._steps.over()
        self._over(failure)

    def _call(self, call: UserCode) -> Outcome | None:
        """Call user code; return its outcome, None if it is a coroutine, which runs now."""
        try:
            returned = call()
            if isinstance(returned, CoroutineType):
                self._start(returned)
                return None
        except Exception as error:  # noqa: BLE001 - the steps have what to do about it
            return raising(error)
        return returning(returned)

    def _start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            self._loop.start(self._steps.name, coroutine, self._ended, self._steps.stop())
        except BaseException:
            coroutine.close()
            raise

    def _ended(self, outcome: Outcome) -> None:
        self._in_thread(partial(self.go_on, partial(self._steps.end, outcome)))
