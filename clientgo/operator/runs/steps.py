"""Work that waits for coroutines without a thread.

A generator does the work. It yields each coroutine that user code returned, and is sent its result
or has its error thrown in. Work without coroutines yields nothing: one ``next`` does all of it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import CoroutineType, GeneratorType
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from clientgo.operator.errors import OperatorError

T = TypeVar("T")

Steps: TypeAlias = Generator[Coroutine[Any, Any, Any], Any, T]

LATER: Final = object()
"""What the work of a run queue returns if the run goes on elsewhere, until ``run.over()``."""


def no_event_loop() -> NoReturn:
    """Stand for the event loop where there is no manager."""
    raise OperatorError("coroutines need the event loop of a manager, and there is none here")


def result_of(returned: Any) -> Steps[Any]:
    """Return what a method returned or, of a coroutine or of steps, what these return."""
    if isinstance(returned, CoroutineType):
        return (yield returned)
    if isinstance(returned, GeneratorType):
        return (yield from returned)
    return returned
