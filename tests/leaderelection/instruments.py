"""Metrics that a test can read."""

from __future__ import annotations

from clientgo.observe.metrics import Metric


class Tally:
    """A counter or gauge."""

    def __init__(self) -> None:
        self.value = 0.0
        self.history: list[float] = []

    def inc(self, amount: float = 1.0, /) -> None:
        self.set(self.value + amount)

    def dec(self, amount: float = 1.0, /) -> None:
        self.set(self.value - amount)

    def set(self, value: float, /) -> None:
        self.value = value
        self.history.append(value)

    def observe(self, value: float, /) -> None: ...

    def remove(self) -> None: ...


class Tallies:
    """A provider of them; `of` finds one by the metric's name and its label."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, str], Tally] = {}

    def counter(self, metric: Metric, /, **labels: str) -> Tally:
        return self.of.setdefault((metric.name, labels["name"]), Tally())

    gauge = histogram = summary = counter
