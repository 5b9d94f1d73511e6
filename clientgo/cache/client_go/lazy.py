"""A value that is computed when it is asked for and kept until somebody says that it is stale.

Promises: callers that ask at the same time share one computation; one that began before the value
became stale never hides a newer one; an error is raised to those who shared it and not kept.
Thread-safe. Upstream: ``tools/cache/synctrack`` Lazy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """The result of ``evaluate``, which is called without a lock held."""

    def __init__(self, evaluate: Callable[[], T]) -> None:
        self._evaluate = evaluate
        self._lock = threading.Lock()
        self._current: Future[T] | None = None

    def notify(self) -> None:
        """The value is stale: the next :meth:`get` computes it anew."""
        with self._lock:
            self._current = None

    def get(self) -> T:
        """The value. Blocks while it is computed; raises what the computation raises."""
        with self._lock:
            current, is_mine = self._current, self._current is None
            if current is None:
                current = self._current = Future()
        if is_mine:
            self._compute(current)
        return current.result()

    def _compute(self, future: Future[T]) -> None:
        try:
            future.set_result(self._evaluate())
        except BaseException as error:  # noqa: BLE001 - raised by `get`, to everybody who waits
            with self._lock:
                if self._current is future:
                    self._current = None
            future.set_exception(error)
