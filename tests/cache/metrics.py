"""A metrics provider that remembers."""

from __future__ import annotations

from collections import defaultdict

from clientgo.observe.metrics import Metric


class RecordingProvider:
    """Remembers the values of the metrics, by name and label values."""

    def __init__(self) -> None:
        self.values: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
        self.in_use = 0

    def gauge(self, metric: Metric, /, **labels: str) -> Recorder:
        return Recorder(self, (metric.name, *labels.values()))

    counter = histogram = summary = gauge


class Recorder:
    """Every kind of instrument."""

    def __init__(self, provider: RecordingProvider, key: tuple[str, ...]) -> None:
        self._provider = provider
        self._values = provider.values[key]
        provider.in_use += 1

    def inc(self, amount: float = 1.0, /) -> None:
        self._values.append(amount)

    def dec(self, amount: float = 1.0, /) -> None:
        self._values.append(-amount)

    def set(self, value: float, /) -> None:
        self._values.append(value)

    def observe(self, value: float, /) -> None:
        self._values.append(value)

    def remove(self) -> None:
        self._provider.in_use -= 1
