"""Declaring tasks: decorators for methods of a reconciler.

Source: kopf ``@kopf.daemon`` and ``@kopf.timer``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from clientgo.operator.errors import ConfigError
from clientgo.operator.reconciler import TASK_ATTRIBUTE
from clientgo.operator.retry import RetryPolicy, exponential
from clientgo.operator.settings.durations import Duration, positive_seconds

F = TypeVar("F", bound=Callable[..., Any])

_STOP_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDeclaration:
    """A task, with durations in seconds. ``interval`` is that of a timer, None for a daemon."""

    interval: float | None
    restart_on_change: bool
    retry: RetryPolicy
    workers: int
    stop_timeout: float


def timer(
    *,
    interval: Duration,
    workers: int = 4,
    restart_on_change: bool = False,
    retry: RetryPolicy | None = None,
    stop_timeout: Duration = _STOP_TIMEOUT,
) -> Callable[[F], F]:
    """Call ``method(ctx, obj)`` for each object, again so many seconds after each end.

    ``workers`` is for how many objects at a time; a coroutine needs no thread for each. The other
    arguments are those of :func:`daemon`. Raises ``ConfigError``.
    """
    if workers < 1:
        raise ConfigError(f"the workers of a timer must be at least 1, not {workers}")
    return _declaring(
        TaskDeclaration(
            interval=positive_seconds(interval, "the interval of a timer"),
            restart_on_change=restart_on_change,
            retry=retry or exponential(),
            workers=workers,
            stop_timeout=positive_seconds(stop_timeout, "stop_timeout"),
        )
    )


def daemon(
    *,
    restart_on_change: bool = False,
    retry: RetryPolicy | None = None,
    stop_timeout: Duration = _STOP_TIMEOUT,
) -> Callable[[F], F]:
    """Call ``method(ctx, obj)`` once for each object, in a thread of its own or as a coroutine.

    If it raises it is called again, after the delay of ``retry``. If it returns it is done. It has
    to end when ``ctx.cancelled`` is set; a coroutine is cancelled. ``restart_on_change`` ends it
    and calls it again when the spec changes. ``stop_timeout`` is how long the deletion of an object
    waits for the end. Raises ``ConfigError``.
    """
    return _declaring(
        TaskDeclaration(
            interval=None,
            restart_on_change=restart_on_change,
            retry=retry or exponential(),
            workers=1,
            stop_timeout=positive_seconds(stop_timeout, "stop_timeout"),
        )
    )


def _declaring(declaration: TaskDeclaration) -> Callable[[F], F]:
    def declare(method: F) -> F:
        setattr(method, TASK_ATTRIBUTE, declaration)
        return method

    return declare
