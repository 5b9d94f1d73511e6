"""What components report to.

A component asks its provider for an instrument once, by metric and labels, and then calls only the
instrument, with its own lock held: instruments must not block or call back. `remove` takes a series
out of the export.

Differs from client-go (util/workqueue, `MetricsProvider`): one interface for all components; the
default may be replaced at any time, for components made afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class Metric:
    """The definition of a metric: its exported name, what it says, its labels and its buckets."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class Instrument(Protocol):
    """One series of a metric. Thread-safe; never blocks."""

    def remove(self) -> None:
        """Stop exporting this series. Another user of the same series keeps it alive."""


class Counter(Instrument, Protocol):
    """A number that only grows."""

    def inc(self, amount: float = 1.0, /) -> None: ...


class Gauge(Instrument, Protocol):
    """A number that goes up and down."""

    def inc(self, amount: float = 1.0, /) -> None: ...

    def dec(self, amount: float = 1.0, /) -> None: ...

    def set(self, value: float, /) -> None: ...


class Histogram(Instrument, Protocol):
    """A distribution of observed values; a summary looks the same to the observer."""

    def observe(self, value: float, /) -> None: ...


class MetricsProvider(Protocol):
    """Makes instruments. Thread-safe.

    Asking twice for the same metric and labels gives two instruments of one series.

    Source: k8s.io/client-go/util/workqueue, MetricsProvider.
    """

    def counter(self, metric: Metric, /, **labels: str) -> Counter: ...

    def gauge(self, metric: Metric, /, **labels: str) -> Gauge: ...

    def histogram(self, metric: Metric, /, **labels: str) -> Histogram: ...

    def summary(self, metric: Metric, /, **labels: str) -> Histogram: ...


class _NoInstrument:
    __slots__ = ()

    def inc(self, _amount: float = 1.0, /) -> None: ...

    def dec(self, _amount: float = 1.0, /) -> None: ...

    def set(self, _value: float, /) -> None: ...

    def observe(self, _value: float, /) -> None: ...

    def remove(self) -> None: ...


class _NoMetrics:
    __slots__ = ("_instrument",)

    def __init__(self) -> None:
        self._instrument = _NoInstrument()

    def counter(self, _metric: Metric, /, **_labels: str) -> _NoInstrument:
        return self._instrument

    gauge = histogram = summary = counter

    def __reduce__(self) -> str:
        return "NO_METRICS"


NO_METRICS: Final[MetricsProvider] = _NoMetrics()
"""The provider that drops everything. Components skip all bookkeeping for it."""

_default: MetricsProvider = NO_METRICS


def default_provider() -> MetricsProvider:
    """Return the provider of components that were not given one."""
    return _default


def set_default_provider(provider: MetricsProvider) -> None:
    """Make `provider` the default for components that are built from now on.

    Source: k8s.io/client-go/util/workqueue, SetProvider.
    """
    global _default
    _default = provider
