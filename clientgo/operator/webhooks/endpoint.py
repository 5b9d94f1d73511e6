"""What all paths of the webhook server share: reading a call, limits of handlers, metrics.

Promises that a handler's call returns or raises within its time limit. A handler that hangs keeps
its daemon thread, so their number is limited, and beyond it new calls fail immediately.

Differs from controller-runtime, where a handler that hangs holds its goroutine for ever.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from clientgo.meta.decoding import decode
from clientgo.meta.nesting import is_deeper_than, nesting_depth
from clientgo.observe.metrics import Counter, Metric, MetricsProvider
from clientgo.observe.serving import NOT_FOUND, Handler, Request, Response
from clientgo.operator.errors import ConfigError
from clientgo.operator.settings.durations import parse_duration
from clientgo.operator.webhooks.refusals import (
    BadReviewError,
    HandlerTimeoutError,
    RequestTooLargeError,
    TooManyCallsError,
)
from clientgo.util.clock import REAL_CLOCK, Clock

T = TypeVar("T")

_log = logging.getLogger("clientgo.operator.webhooks")

MAX_BODY: Final = 7 * 1024 * 1024
"""Bytes; a review of this size is refused. API servers accept objects of up to 3 MiB."""

MAX_LEVELS: Final = 200
"""Levels of an object in a review; one that has more is refused. API servers accept 10,000, but
what handlers do with an object calls itself several times for each level."""

_ENVELOPE: Final = 3
"""Levels of a review around its object."""

DEFAULT_TIMEOUT: Final = 10.0
"""Seconds that an API server waits by default."""

MAX_CALLS: Final = 64
"""Handlers that run at the same time; an API server calls one webhook less often."""

_MARGIN: Final = 1.0
"""Seconds left to answer, so that the user reads our reason and not "deadline exceeded"."""

_PREFIX: Final = "controller_runtime_webhook"
WEBHOOK_REQUESTS: Final = Metric(
    f"{_PREFIX}_requests_total",
    "Calls by path and HTTP status; a refused review is a 200",
    ("webhook", "code"),
)
WEBHOOK_LATENCY: Final = Metric(
    f"{_PREFIX}_latency_seconds",
    "Time from the call of a path to its answer",
    ("webhook",),
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
WEBHOOK_REQUESTS_IN_FLIGHT: Final = Metric(
    f"{_PREFIX}_requests_in_flight", "Calls being answered", ("webhook",)
)
WEBHOOK_PANICS: Final = Metric(
    f"{_PREFIX}_panics_total", "Admission handlers that failed unexpectedly"
)
CONVERSION_WEBHOOK_PANICS: Final = Metric(
    "controller_runtime_conversion_webhook_panics_total", "Converters that failed unexpectedly"
)


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


def review_in(call: Request, review: type[T], name: str) -> T:
    """Decode a call. Raises ``BadReviewError`` and ``RequestTooLargeError``."""
    if call.is_too_large:
        raise RequestTooLargeError(f"the body of the call has {MAX_BODY} bytes or more")
    if not call.body:
        raise BadReviewError("the body of the call is empty")
    # Counted, because what a decoder and a handler can follow depends on the version of Python.
    if is_deeper_than(call.body, MAX_LEVELS + _ENVELOPE):
        raise BadReviewError(
            f"the call has {nesting_depth(call.body):,} nested levels, and an object may have "
            f"{MAX_LEVELS}; reduce its depth"
        )
    try:
        return decode(call.body, review)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadReviewError(f"the body of the call is no {name}: {error}") from error


def json_response(body: bytes) -> Response:
    """Return the answer to a review."""
    return Response(200, body, "application/json")


class CallLimiter:
    """Runs handlers, each in a thread of its own. Thread-safe."""

    def __init__(self, max_calls: int = MAX_CALLS, *, clock: Clock = REAL_CLOCK) -> None:
        self._max_calls = max_calls
        self._clock = clock
        self._changed = threading.Condition()
        self._running: set[threading.Thread] = set()

    def call(self, function: Callable[[], T], limit: float, name: str) -> T:
        """Return ``function()`` or raise what it raises; wait at most ``limit`` seconds.

        ``function`` has the context variables of the caller. Raises ``HandlerTimeoutError`` and
        ``TooManyCallsError``, with ``name``, which the thread has too.
        """
        outcomes: list[Callable[[], T]] = []
        context = contextvars.copy_context()

        def work() -> None:
            outcome = _outcome_of(lambda: context.run(function))
            with self._changed:
                outcomes.append(outcome)
                self._running.discard(thread)
                self._changed.notify_all()

        thread = threading.Thread(target=work, name=f"webhook-handler{name}", daemon=True)
        deadline = self._clock.monotonic() + limit
        with self._changed:
            if len(self._running) >= self._max_calls:
                raise TooManyCallsError(
                    f"{name}: {len(self._running)} handlers are running; try again later"
                )
            try:
                thread.start()
            except RuntimeError as error:
                raise TooManyCallsError(f"{name}: {error}; try again later") from error
            self._running.add(thread)
            while not outcomes:
                if self._clock.monotonic() >= deadline:
                    raise HandlerTimeoutError(
                        f"{name}: the handler has not answered within {limit:g} s"
                    )
                self._clock.wait_until(self._changed, deadline)
        return outcomes[0]()

    def threads(self) -> list[threading.Thread]:
        """Return the threads of handlers that are running."""
        with self._changed:
            return list(self._running)


def _outcome_of(function: Callable[[], T]) -> Callable[[], T]:
    """Call a function; return what returns its value, or raises its error."""
    try:
        value = function()
    except Exception as error:  # noqa: BLE001 - raised in the thread of the caller
        failure = error
    except BaseException as error:  # noqa: BLE001 - SystemExit must not end the connection
        failure = RuntimeError(f"the handler raised {error!r}")
    else:
        return lambda: value

    def fail() -> Any:
        raise failure

    return fail


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
        for code in (200, 500):  # exported from the start
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
            if code not in self._requests:
                labels = {"webhook": self._path, "code": str(code)}
                self._requests[code] = self._metrics.counter(WEBHOOK_REQUESTS, **labels)
            return self._requests[code]
