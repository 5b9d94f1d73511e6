"""Trying again while an error is retriable.

Promises: at most `backoff.steps` attempts; any other error is raised immediately; when the attempts
are used up, the last retriable error is raised.

The function must read the object again, or it will conflict again.

Differs from client-go (util/retry): no attempt at all, or an interruption before a retriable error,
raises; client-go returns nil.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError
from clientgo.util.wait.backoff import Backoff, BackoffSteps
from clientgo.util.wait.loop import WaitInterruptedError, WaitTimeoutError

T = TypeVar("T")


class NotReadyError(CopyableError):
    """Raise it out of a sync that must wait for something: no failure, call it again later.

    :func:`~clientgo.workqueue.run_workers` tries the key again with back-off, and logs only a wait
    that takes long.
    """


DEFAULT_RETRY: Final = Backoff(duration=0.010, factor=1.0, jitter=0.1, steps=5)
"""For updates that few others compete with: about 40 ms in all."""

DEFAULT_BACKOFF: Final = Backoff(duration=0.010, factor=5.0, jitter=0.1, steps=4)
"""For updates that many compete with: about 310 ms in all."""


def is_conflict(error: BaseException) -> bool:
    """Tell whether `error`, or one that it was raised from, is an API conflict (HTTP 409).

    Any error type will do that carries the status: a `reason` of "Conflict", or no reason and a
    `code` or `status` of 409. ("AlreadyExists" is a 409 too, and no conflict.)
    """
    cause: BaseException | None = error
    while cause is not None:
        reason = getattr(cause, "reason", None)
        if reason:
            if reason == "Conflict":
                return True
        elif 409 in (getattr(cause, "code", None), getattr(cause, "status", None)):
            return True
        cause = cause.__cause__
    return False


def on_error(
    backoff: Backoff,
    retriable: Callable[[Exception], bool],
    fn: Callable[[], T],
    *,
    stop: threading.Event | None = None,
    clock: Clock = REAL_CLOCK,
) -> T:
    """Return `fn()`, trying again with `backoff` while it raises an error that is `retriable`.

    Blocks. Raises any other error immediately. Raises the last retriable one when the attempts are
    used up, when `stop` is set while sleeping, or when a later attempt raises WaitInterruptedError.
    Raises WaitTimeoutError if `backoff` allows no attempt at all.

    Source: k8s.io/client-go/util/retry, OnError.
    """
    steps = BackoffSteps(backoff)
    last_error: Exception | None = None
    while steps.remaining > 0:
        try:
            return fn()
        except Exception as error:
            if not retriable(error):
                if last_error is not None and isinstance(error, WaitInterruptedError):
                    raise last_error from error
                raise
            last_error = error
        if steps.remaining == 1 or clock.sleep(steps.step(), stop):
            break
    raise last_error or WaitTimeoutError("the back-off allows no attempt: it has no steps")


def retry_on_conflict(
    fn: Callable[[], T],
    backoff: Backoff = DEFAULT_RETRY,
    *,
    conflict: Callable[[Exception], bool] = is_conflict,
    stop: threading.Event | None = None,
    clock: Clock = REAL_CLOCK,
) -> T:
    """Return `fn()`, trying again while it raises a conflict.

    `fn` must read the object, change it and write it back, each time::

        def scale() -> None:
            foo = client.get("a")
            client.update(with_replicas(foo, 3))

        retry_on_conflict(scale)

    Blocks and raises as `on_error` does.

    Source: k8s.io/client-go/util/retry, RetryOnConflict.
    """
    return on_error(backoff, conflict, fn, stop=stop, clock=clock)
