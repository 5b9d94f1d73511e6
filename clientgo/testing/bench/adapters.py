"""The operations of a queue, whatever its class: a work queue, a put/get queue, one of asyncio.

A work queue has ``add``, ``get`` and ``done``; a plain one ``put``, ``get`` and perhaps
``task_done``. ``get`` returns the item, or a pair that begins with it. ``add_after`` and
``add_rate_limited`` (with ``forget``) are used where a load asks for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clientgo.util.copies import CopyableError

Factory = Callable[[], Any]


class BenchError(CopyableError, Exception):
    """Something of the user's that can't be measured; the message says why."""


@dataclass(frozen=True)
class Operations:
    """What is called of one queue."""

    add: Callable[[str], Any]
    get: Callable[[], Any]
    done: Callable[[str], Any] | None
    add_after: Callable[[str, float], Any] | None
    add_rate_limited: Callable[[str], Any] | None
    forget: Callable[[str], Any] | None
    shut_down: Callable[[], Any] | None
    returns_pairs: bool
    """True if ``get`` returns a pair. Known once an item was taken: see ``promises.py``."""
    awaits: bool
    """True if ``get`` is a coroutine function: producers and workers are tasks of one loop."""
    is_bounded: bool
    """True if ``add`` waits while the queue is full."""


def operations_of(queue: Any, *, returns_pairs: bool) -> Operations:
    """Return the operations of a queue. Raises BenchError if it has none."""
    add = getattr(queue, "add", None) or getattr(queue, "put", None)
    get = getattr(queue, "get", None)
    if not callable(add) or not callable(get):
        missing = "'get'" if callable(add) else "'add' or 'put'"
        raise BenchError(f"{type(queue).__name__} has no method {missing}")
    task_done = getattr(queue, "task_done", None)
    done = getattr(queue, "done", None) or (task_done and (lambda _item: task_done()))
    return Operations(
        add=add,
        get=get,
        done=done,
        add_after=getattr(queue, "add_after", None),
        add_rate_limited=getattr(queue, "add_rate_limited", None),
        forget=getattr(queue, "forget", None),
        shut_down=getattr(queue, "shut_down", None),
        returns_pairs=returns_pairs,
        awaits=inspect.iscoroutinefunction(get),
        is_bounded=(getattr(queue, "maxsize", 0) or 0) > 0,
    )


def made(factory: Factory) -> Any:
    """Call a factory. Raises BenchError if it raises."""
    try:
        return factory()
    except Exception as error:
        raise raised("the factory", error) from error


def raised(what: str, error: BaseException) -> BenchError:
    """Return the error for what a user's code has raised; the first one of a group of tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, BenchError):
        return error
    return BenchError(f"{what} raised {type(error).__name__}: {error}".removesuffix(": "))
