"""Waiting in tests for what a controller will have done, and that it does nothing else.

Promises that what is waited for is asked again soon, and that a failure tells the last answer.

Differs from :class:`~clientgo.testing.observer.Observer` in that a condition may be about anything,
so it has to be asked every few hundredths of a second; where the API shows it, observe it there.

Upstream: controller-runtime ``envtest/komega`` with Gomega's Eventually and Consistently.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], *, timeout: float = 60.0, every: float = 0.05) -> T:
    """Ask until the answer is true, and return it. An assertion that fails, or an error, is a no.

    Raises ``AssertionError`` after ``timeout`` seconds of real time, with the last answer or error.
    """
    deadline = time.monotonic() + timeout
    while True:
        error: Exception | None = None
        answer: Any = None
        try:
            answer = condition()
        except Exception as failure:  # noqa: BLE001 - it may well be right the next time
            error = failure
        if answer:
            result: T = answer
            return result
        left = deadline - time.monotonic()
        if left <= 0:
            last = f"answered {answer!r}" if error is None else f"raised {error!r}"
            raise AssertionError(f"not so after {timeout:g} s: the last time it {last}") from error
        _pause(min(left, every))


def consistently(
    condition: Callable[[], object], *, duration: float = 1.0, every: float = 0.05
) -> None:
    """Ask for so many seconds of real time whether something is, and remains, true.

    Raises ``AssertionError`` the first time that it is not.
    """
    began = time.monotonic()
    while True:
        answer = condition()
        passed = time.monotonic() - began
        if not answer:
            raise AssertionError(f"no longer so after {passed:.2g} s: it answered {answer!r}")
        if passed >= duration:
            return
        _pause(min(duration - passed, every))


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)
