"""A clock that several processes share, and that a test moves on."""

from __future__ import annotations

import mmap
import threading
from pathlib import Path
from typing import Final

from clientgo.util.clock import RealClock

_LOOKS_AGAIN: Final = 0.1
"""Seconds of real time after which a wait looks at the clock again."""


class SharedClock(RealClock):
    """The system's clock plus what a test has skipped: seconds in a file of eight bytes.

    One process writes the file, all see the change. A wait on a condition ends early, as waits
    may; a sleep lasts real seconds.
    """

    __slots__ = ("_skipped",)

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._skipped = memoryview(mmap.mmap(opened.fileno(), 8)).cast("d")

    @staticmethod
    def make(file: Path) -> SharedClock:
        """Write a file in which nothing is skipped yet, and return its clock."""
        file.write_bytes(bytes(8))
        return SharedClock(file)

    def skip(self, seconds: float) -> None:
        """Move the clock on for all processes."""
        self._skipped[0] += seconds

    def monotonic(self) -> float:
        return super().monotonic() + self._skipped[0]

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        return super().wait(
            condition, _LOOKS_AGAIN if timeout is None else min(timeout, _LOOKS_AGAIN)
        )

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        left = None if deadline is None else max(deadline - self.monotonic(), 0.0)
        return self.wait(condition, left)
