"""Conditions and functions that follow a script, on a clock that they move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.testing import AutoClock
from clientgo.util.wait import WaitInterruptedError
from tests.vectors.durations import seconds


class BoomError(Exception):
    """What a scripted condition raises."""


class ScriptedCondition:
    """A condition whose n-th call takes the n-th duration and gives the n-th result."""

    def __init__(self, args: dict[str, Any], clock: AutoClock) -> None:
        self._results = list(args.get("condition_results", []))
        self._after_results = args.get("after_results", "false")
        self._durations_ns = list(
            args.get("condition_durations_ns", args.get("call_durations_ns", []))
        )
        self._clock = clock
        self.calls_at: list[float] = []

    def __call__(self) -> bool:
        self.calls_at.append(self._clock.monotonic())
        if self._durations_ns:
            self._clock.step(seconds(self._durations_ns.pop(0)))
        result = self._results.pop(0) if self._results else self._after_results
        if result in ("error", "true_error"):
            raise BoomError
        return result == "true"

    def run(self, loop: Callable[[], None]) -> Exception | None:
        """Run a loop; return what it raised."""
        try:
            loop()
        except (BoomError, WaitInterruptedError) as error:
            return error
        return None
