"""What clients report: requests, retries, latency, throttling and sizes, by verb and host.

Names and labels are client-go's (`tools/metrics`); one set of instruments for each host.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

from clientgo.observe.metrics import NO_METRICS, MetricsProvider
from clientgo.observe.metrics import names as metric_names

NO_ANSWER: Final = "<error>"
"""The code of an attempt that the server did not answer."""


class RequestMetrics:
    """The instruments of one host; thread-safe. ``host`` may be empty, which reads ``none``."""

    def __init__(self, provider: MetricsProvider, host: str) -> None:
        self._provider = provider
        self._host = host or "none"
        self._enabled = provider is not NO_METRICS
        self._instruments: dict[Hashable, Any] = {}

    def attempt(self, method: str, code: int | str) -> None:
        """One attempt has ended, with this code."""
        self._count(metric_names.REST_CLIENT_REQUESTS, code=str(code), method=method)

    def retry(self, method: str, code: int | str) -> None:
        """An attempt after the first has ended, with this code."""
        self._count(metric_names.REST_CLIENT_REQUEST_RETRIES, code=str(code), verb=method)

    def latency(self, method: str, seconds: float) -> None:
        """A call has ended, throttling and retries included."""
        self._observe(metric_names.REST_CLIENT_REQUEST_DURATION, method, seconds)

    def throttled(self, method: str, seconds: float) -> None:
        """A call waited for the rate limiter."""
        self._observe(metric_names.REST_CLIENT_RATE_LIMITER_DURATION, method, seconds)

    def sizes(self, method: str, sent: int, received: int) -> None:
        """A call had bodies of so many bytes."""
        self._observe(metric_names.REST_CLIENT_REQUEST_SIZE, method, sent)
        self._observe(metric_names.REST_CLIENT_RESPONSE_SIZE, method, received)

    def _count(self, metric: Any, **labels: str) -> None:
        if self._enabled:
            self._instrument(self._provider.counter, metric, host=self._host, **labels).inc()

    def _observe(self, metric: Any, method: str, value: float) -> None:
        if self._enabled:
            self._instrument(
                self._provider.histogram, metric, host=self._host, verb=method
            ).observe(value)

    def _instrument(self, make: Callable[..., Any], metric: Any, **labels: str) -> Any:
        key = (metric.name, *labels.values())
        instrument = self._instruments.get(key)
        if instrument is None:
            # Two threads may both make it; both instruments are of one series.
            instrument = self._instruments[key] = make(metric, **labels)
        return instrument
