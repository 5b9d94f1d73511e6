"""Calls that may block, made from a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

R = TypeVar("R")


class Background(Generic[R]):
    """A call that runs in its own daemon thread, from now on."""

    def __init__(self, function: Callable[[], R]) -> None:
        self._function = function
        self._result: R
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self, timeout: float = 60.0) -> R:
        """Return what the call returned, or raise what it raised; fail if it still blocks."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise AssertionError(f"{self._function} still blocks after {timeout} s")
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error
