"""Counting and timing what an endpoint answers."""

from __future__ import annotations

import threading
from typing import Final

from clientgo.clock import Clock
from clientgo.metrics import Counter, MetricsProvider
from clientgo.operator.webhooks.endpoint import Answer, Call, Endpoint
from clientgo.operator.webhooks.metric_names import (
    WEBHOOK_LATENCY,
    WEBHOOK_REQUESTS,
    WEBHOOK_REQUESTS_IN_FLIGHT,
)

_EXPORTED_FROM_THE_START: Final = (200, 500)


class MeasuredEndpoint:
    """Another endpoint with metrics, labelled by its path. Thread-safe."""

    def __init__(
        self, path: str, endpoint: Endpoint, metrics: MetricsProvider, clock: Clock
    ) -> None:
        self._path = path
        self._endpoint = endpoint
        self._metrics = metrics
        self._clock = clock
        self._lock = threading.Lock()
        self._requests: dict[int, Counter] = {}
        self._latency = metrics.histogram(WEBHOOK_LATENCY, webhook=path)
        self._in_flight = metrics.gauge(WEBHOOK_REQUESTS_IN_FLIGHT, webhook=path)
        for code in _EXPORTED_FROM_THE_START:
            self._requests_with(code)

    def answer(self, call: Call) -> Answer:
        began = self._clock.monotonic()
        self._in_flight.inc()
        try:
            answer = self._endpoint.answer(call)
        finally:
            self._in_flight.dec()
        self._latency.observe(self._clock.monotonic() - began)
        self._requests_with(answer.status).inc()
        return answer

    def remove(self) -> None:
        """Take the series of this path out of what is exported."""
        with self._lock:
            instruments = (self._latency, self._in_flight, *self._requests.values())
            self._requests = {}
        for instrument in instruments:
            instrument.remove()

    def _requests_with(self, code: int) -> Counter:
        with self._lock:
            counter = self._requests.get(code)
            if counter is None:
                counter = self._metrics.counter(
                    WEBHOOK_REQUESTS, webhook=self._path, code=str(code)
                )
                self._requests[code] = counter
            return counter
