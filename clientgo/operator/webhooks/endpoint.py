"""What all paths of the webhook server have in common: limits of handlers, and metrics.

Promises: a handler's call returns or raises within its time limit. A handler that hangs keeps its
daemon thread, so there is a limit on their number, and beyond it new calls fail immediately.

Differs from controller-runtime, where a handler that hangs holds its goroutine for ever.
Metrics: controller-runtime ``webhook/admission/metrics``, ``webhook/internal/metrics``.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import Counter, Metric, MetricsProvider
from clientgo.operator.durations import parse_duration
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks.refusals import HandlerTimeoutError, TooManyCallsError
from clientgo.serving import NOT_FOUND, Handler, Request, Response

_log = logging.getLogger("clientgo.operator.webhooks")

MAX_BODY: Final = 7 * 1024 * 1024
"""Bytes; a review of this size is refused. API servers accept objects of up to 3 MiB."""


DEFAULT_TIMEOUT: Final = 10.0
"""Seconds that an API server waits by default."""

_MARGIN: Final = 1.0
"""Seconds left to answer, so that the user reads our reason and not "deadline exceeded"."""


def handler_limit(request: Request, registered: float | None = None) -> float:
    """Return how many seconds a handler may take for this request.

    API servers say in the URL how long they wait (``?timeout=10s``); ``registered`` is what the
    webhook's configuration says.
    """
    waits = _timeout_in(request) or registered or DEFAULT_TIMEOUT
    return max(waits - _MARGIN, waits / 2)


def _timeout_in(request: Request) -> float | None:
    for text in request.query.get("timeout", ()):
        try:
            return parse_duration(text)
        except ConfigError:
            _log.debug("the timeout %r of a call is not a duration", text)
    return None


def json_response(body: bytes) -> Response:
    """Return the answer to a review."""
    return Response(200, body, "application/json")


_DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

WEBHOOK_REQUESTS: Final = Metric(
    "controller_runtime_webhook_requests_total",
    "Calls by path and HTTP status; a refused review is a 200",
    ("webhook", "code"),
)
WEBHOOK_LATENCY: Final = Metric(
    "controller_runtime_webhook_latency_seconds",
    "Time from the call of a path to its answer",
    ("webhook",),
    _DEFAULT_BUCKETS,
)
WEBHOOK_REQUESTS_IN_FLIGHT: Final = Metric(
    "controller_runtime_webhook_requests_in_flight", "Calls being answered", ("webhook",)
)
WEBHOOK_PANICS: Final = Metric(
    "controller_runtime_webhook_panics_total", "Admission handlers that failed unexpectedly"
)
CONVERSION_WEBHOOK_PANICS: Final = Metric(
    "controller_runtime_conversion_webhook_panics_total", "Converters that failed unexpectedly"
)


T = TypeVar("T")

MAX_CALLS: Final = 64
"""Handlers that run at the same time; an API server calls one webhook less often."""


class CallLimiter:
    """Runs handlers, each in a thread of its own. Thread-safe."""

    def __init__(self, max_calls: int = MAX_CALLS, *, clock: Clock = REAL_CLOCK) -> None:
        self._max_calls = max_calls
        self._clock = clock
        self._lock = threading.Lock()
        self._running: set[_Call[Any]] = set()

    def call(self, function: Callable[[], T], limit: float, name: str) -> T:
        """Return ``function()`` or raise what it raises; wait at most ``limit`` seconds.

        Raises ``HandlerTimeoutError`` and ``TooManyCallsError``, with ``name``, which the thread
        has too.
        """
        call = _Call(function, self._clock, self._ended)
        with self._lock:
            if len(self._running) >= self._max_calls:
                raise TooManyCallsError(
                    f"{name}: {len(self._running)} handlers are running; try again later"
                )
            self._running.add(call)
        try:
            call.start(f"webhook-handler{name}")
        except RuntimeError as error:
            self._ended(call)
            raise TooManyCallsError(f"{name}: {error}; try again later") from error
        return call.result(limit, name)

    def threads(self) -> list[threading.Thread]:
        """Return the threads of handlers that are running."""
        with self._lock:
            return [call.thread for call in self._running]

    def _ended(self, call: _Call[Any]) -> None:
        with self._lock:
            self._running.discard(call)


class _Call(Generic[T]):
    """One run of a handler."""

    def __init__(
        self, function: Callable[[], T], clock: Clock, ended: Callable[[_Call[Any]], None]
    ) -> None:
        self._function = function
        self._clock = clock
        self._on_end = ended
        self._changed = threading.Condition()
        self._ended = False
        self._value: T
        self._error: Exception | None = None
        # So that log lines of the handler have the fields of the request.
        self._context = contextvars.copy_context()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self, name: str) -> None:
        self.thread.name = name
        self.thread.start()

    def result(self, limit: float, name: str) -> T:
        deadline = self._clock.monotonic() + limit
        with self._changed:
            while not self._ended:
                if self._clock.monotonic() >= deadline:
                    raise HandlerTimeoutError(
                        f"{name}: the handler has not answered within {limit:g} s"
                    )
                self._clock.wait_until(self._changed, deadline)
        if self._error is not None:
            raise self._error
        return self._value

    def _run(self) -> None:
        try:
            self._value = self._context.run(self._function)
        except Exception as error:  # noqa: BLE001 - raised by result(), in the caller
            self._error = error
        except BaseException as error:  # noqa: BLE001 - SystemExit must not end the connection
            self._error = RuntimeError(f"the handler raised {error!r}")
        finally:
            self._on_end(self)
            with self._changed:
                self._ended = True
                self._changed.notify_all()


_EXPORTED_FROM_THE_START: Final = (200, 500)


class MeasuredEndpoint:
    """Another handler of a path, with metrics. Thread-safe."""

    def __init__(
        self, path: str, endpoint: Handler, metrics: MetricsProvider, clock: Clock
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

    def __call__(self, request: Request) -> Response:
        if request.rest:
            return NOT_FOUND
        began = self._clock.monotonic()
        self._in_flight.inc()
        try:
            response = self._endpoint(request)
        finally:
            self._in_flight.dec()
        self._latency.observe(self._clock.monotonic() - began)
        self._requests_with(response.status).inc()
        return response

    def remove(self) -> None:
        """Remove the series of this path from what is exported."""
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
