"""Syncs as spans of OpenTelemetry: one for each sync, with its requests as children.

Needs ``opentelemetry-api`` (the ``otel`` extra); which exporter sends the spans is the program's
choice, as always with OpenTelemetry::

    from clientgo.observe.trace import set_tracer
    from clientgo.observe.trace.otel import OpenTelemetryTracer

    set_tracer(OpenTelemetryTracer())        # before the parts of the controller are made

Does not promise that a span is current while the sync runs: spans are made a moment later, from
the hops. Requests outside of a sync, such as watches, have no span.
"""

from __future__ import annotations

from clientgo.observe.trace.hops import Hop
from clientgo.observe.trace.tracer import Tracer
from clientgo.util.extras import needing_extra

with needing_extra("otel", "clientgo.observe.trace.otel"):
    from opentelemetry import trace as api
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

_Key = tuple[str, str]
"""A queue and a key: a queue never has two syncs of a key at the same time."""


class OpenTelemetryTracer(Tracer):
    """Makes spans with ``provider``, by default the program's own.

    A sync is named ``sync QUEUE``, a request by its method. Attributes of ours are
    ``clientgo.queue`` and ``clientgo.key``.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = api.get_tracer("clientgo", tracer_provider=provider)
        self._began = 0.0
        self._syncs: dict[_Key, Span] = {}
        self._requests: dict[_Key, Span] = {}

    def began(self, unix_time: float) -> None:
        self._began = unix_time

    def ended(self) -> None:
        """End the spans of what still goes on, without an end time of their own."""
        for span in (*self._requests.values(), *self._syncs.values()):
            span.end()

    def hop(self, hop: Hop) -> None:
        key = (hop.of, hop.key)
        if hop.hop == "sync.start":
            self._syncs[key] = self._tracer.start_span(
                f"sync {hop.of}",
                kind=SpanKind.CONSUMER,
                attributes={"clientgo.queue": hop.of, "clientgo.key": hop.key},
                start_time=self._time(hop),
            )
        elif hop.hop == "sync.end":
            self._end(self._syncs.pop(key, None), hop, hop.details["error"])
        elif hop.hop == "request.sent" and key in self._syncs:
            self._requests[key] = self._tracer.start_span(
                hop.details["method"],
                context=api.set_span_in_context(self._syncs[key]),
                kind=SpanKind.CLIENT,
                attributes={
                    "http.request.method": hop.details["method"],
                    "url.path": hop.details["path"].partition("?")[0],
                },
                start_time=self._time(hop),
            )
        elif hop.hop == "request.answered" and key in self._requests:
            status = hop.details["status"]
            span = self._requests.pop(key)
            if status:
                span.set_attribute("http.response.status_code", status)
            failed = "" if 0 < status < 400 else f"HTTP {status}" if status else "no response"
            self._end(span, hop, failed)

    def _end(self, span: Span | None, hop: Hop, error: str) -> None:
        if span is None:
            return
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(self._time(hop))

    def _time(self, hop: Hop) -> int:
        return int((self._began + hop.at) * 1e9)
