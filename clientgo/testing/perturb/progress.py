"""How many runs are over, shown while they run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, Self, TextIO

from clientgo.util.text.terminal import Progress

_EVERY: Final = 10.0
"""Seconds between two lines, where lines cannot be overwritten."""


class RunProgress:
    """A bar on a terminal; elsewhere a line at the start and every ten seconds. A context manager.

    pytest keeps the lines for the report of a failure; ``pytest -s`` shows them immediately.
    """

    def __init__(
        self, out: TextIO | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = sys.stderr if out is None else out
        self._now = now
        self._began = now()
        self._due = self._began + _EVERY
        self._bar = Progress("runs", out=self._out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.clear()

    def begin(self, writes: int, runs: int, jobs: int) -> None:
        """Say what follows the undisturbed runs."""
        if runs > 1:
            self._say(f"{writes} writes, {runs} disturbed runs, {min(jobs, runs)} at a time")

    def show(self, done: int, total: int) -> None:
        """Show how many runs are over."""
        self._bar.show(done, total)
        now = self._now()
        if now >= self._due:
            self._due = now + _EVERY
            self._say(f"{done} of {total} runs after {now - self._began:.0f} s")

    def _say(self, text: str) -> None:
        if not self._out.isatty():
            print(f"perturb: {text}", file=self._out, flush=True)
