"""A metrics provider that remembers what it was told."""

from __future__ import annotations

from clientgo.observe.metrics import Metric


class RecordingInstrument:
    """Counts, keeps the value that was set and lists what was observed."""

    def __init__(self) -> None:
        self.value = 0.0
        self.observed: list[float] = []
        self.removed = False

    def inc(self, amount: float = 1.0, /) -> None:
        self.value += amount

    def dec(self, amount: float = 1.0, /) -> None:
        self.value -= amount

    def set(self, value: float, /) -> None:
        self.value = value

    def observe(self, value: float, /) -> None:
        self.observed.append(value)

    def remove(self) -> None:
        self.removed = True


class RecordingProvider:
    """Keeps every instrument by its metric's name."""

    def __init__(self) -> None:
        self.instruments: dict[str, RecordingInstrument] = {}
        self.labels: dict[str, dict[str, str]] = {}

    def counter(self, metric: Metric, /, **labels: str) -> RecordingInstrument:
        instrument = self.instruments[metric.name] = RecordingInstrument()
        self.labels[metric.name] = labels
        return instrument

    gauge = histogram = summary = counter

    def __getitem__(self, metric: Metric) -> RecordingInstrument:
        return self.instruments[metric.name]
