"""Runs the sides of a comparison in turn, and finds their medians and ratios."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

LEAST_ROUNDS: Final = 3
"""Rounds without which a median means nothing."""
MOST_ROUNDS: Final = 21
"""Rounds of ``clientgo bench``, if the time allows them."""


class Stopwatch:
    """Seconds, and seconds of processor time, from when it is made until it is stopped."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()
        self.wall = self.cpu = 0.0

    def stop(self) -> None:
        """Note both."""
        self.wall = time.perf_counter() - self._started[0]
        self.cpu = time.process_time() - self._started[1]


Side = Callable[[], float | Stopwatch]
"""Does the work of one side once; returns the seconds that count, or both times that do."""


@dataclass(frozen=True)
class Comparison:
    """The seconds of each side, round by round."""

    count: int
    """Things (items, events, objects) that one round handles."""
    seconds: Mapping[str, list[float]]
    cpu: Mapping[str, list[float]] = field(default_factory=dict)
    """The processor time of each side; where that was not measured, of all that its side does."""

    def rate(self, side: str) -> float:
        """Return the median of a side's things a second."""
        return self.count / statistics.median(self.seconds[side])

    def ratio(self, side: str, peer: str) -> float:
        """Return how often a side is as fast as a peer: the median of the rounds' ratios."""
        return statistics.median(self.ratios(side, peer))

    def cpu_ratio(self, side: str, peer: str) -> float:
        """Return the same by processor time: what other work on the machine does not change."""
        pairs = zip(self.cpu[peer], self.cpu[side], strict=True)
        return statistics.median(theirs / max(ours, 1e-9) for theirs, ours in pairs)

    def ratios(self, side: str, peer: str) -> list[float]:
        """Return the ratio of each round."""
        pairs = zip(self.seconds[peer], self.seconds[side], strict=True)
        return [theirs / ours for theirs, ours in pairs]


def compare(
    count: int,
    sides: Mapping[str, Side],
    *,
    rounds: int,
    budget: float,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
    stop: Callable[[], bool] = lambda: False,
) -> Comparison:
    """Run every side in each round; stop after ``rounds``, or when ``budget`` seconds are spent.

    A budget leaves at least three rounds, if ``rounds`` allows that many. ``stop`` is asked before
    each side and ends everything; then the result has no meaning.
    """
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    started = time.perf_counter()
    for number in range(rounds):
        if stop():
            break
        if number >= LEAST_ROUNDS and time.perf_counter() - started > budget:
            break
        for name, side in sides.items():
            if stop():
                break
            gc.collect()
            before = time.process_time()
            took = side()
            if isinstance(took, Stopwatch):
                seconds[name].append(took.wall)
                cpu[name].append(took.cpu)
            else:
                seconds[name].append(took)
                cpu[name].append(time.process_time() - before)
        progress(number + 1, rounds)
    return Comparison(count, seconds, cpu)


def machine() -> dict[str, Any]:
    """Return what tells one machine from another."""
    model = platform.processor() or platform.machine()
    if (cpus := Path("/proc/cpuinfo")).exists():
        lines = (line.partition(":") for line in cpus.read_text().splitlines())
        model = next((text.strip() for name, _, text in lines if "model name" in name), model)
    runs_with_lock: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    without_lock = "" if runs_with_lock() else ", free-threaded"
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}{without_lock}",
    }
