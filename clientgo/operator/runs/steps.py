"""The steps of a run: begin, user code, end; and what takes them.

Promises that begin and end wait for nothing but the API server. Only user code may be a coroutine:
then an event loop takes the steps, and the run has no thread while the coroutine runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, Protocol, TypeAlias

from clientgo.operator.errors import OperatorError
from clientgo.operator.runs.run_fields import RunFields, enter, leave

UserCode: TypeAlias = Callable[[], Any]
"""Calls user code."""

Outcome: TypeAlias = Callable[[], Any]
"""Returns what user code returned, or raises what it raised. User code itself is one."""


def returning(value: Any) -> Outcome:
    """Return the outcome of user code that returned a value."""
    return lambda: value


def raising(error: BaseException) -> Outcome:
    """Return the outcome of user code that raised an error."""

    def fail() -> Any:
        raise error

    return fail


class RunSteps(Protocol):
    """One run, in one thread at a time. ``fields`` are those of its log lines."""

    fields: RunFields

    @property
    def name(self) -> str: ...

    def begin(self) -> UserCode | None:
        """Do what comes before user code, and return that; None if the run is over."""

    def end(self, outcome: Outcome) -> UserCode | None:
        """Take how user code ended; return what user code follows, None if the run is over."""

    def over(self) -> None:
        """Note the end of the run, whatever it was."""

    def stop(self) -> threading.Event:
        """Return what cancels user code that begins now."""


def take_steps(steps: RunSteps) -> None:
    """Take all steps of a run in this thread."""
    token = enter(steps.fields)
    try:
        call = steps.begin()
        while call is not None:
            call = steps.end(call)
    finally:
        leave(token)
        steps.over()


class CoroutineLoop(Protocol):
    """What the core needs of an event loop; ``addons.coroutines`` has one. Thread-safe."""

    def take_steps(
        self, steps: RunSteps, over: Callable[[BaseException | None], object], /
    ) -> None:
        """Take the steps of a run, without this thread from the first coroutine on.

        ``over`` is called after the last step, with what the steps must not raise.
        """

    def start(
        self,
        name: str,
        coroutine: Coroutine[Any, Any, Any],
        ended: Callable[[Outcome], object],
        stop: threading.Event | None = None,
    ) -> object:
        """Run a coroutine until ``stop`` is set; does not block. The loop calls ``ended``."""

    def run(
        self,
        name: str,
        coroutine: Coroutine[Any, Any, Any],
        stop: threading.Event | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Run a coroutine and return its result. Blocks."""

    def is_current(self) -> bool:
        """Return True in a coroutine of this loop."""

    def client(self, client: Any, stop: threading.Event) -> Any:
        """Return a client that does what ``client`` does, and whose calls await."""


def no_event_loop() -> NoReturn:
    """Stand for the event loop where there is no manager."""
    raise OperatorError("coroutines need the event loop of a manager, and there is none here")
