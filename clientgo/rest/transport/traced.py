"""A transport whose requests a tracer sees."""

from __future__ import annotations

from typing import Unpack

from clientgo.observe.trace import Trace, active_trace
from clientgo.rest.transport.exchange import Answer, Sending, Transport


def traced_transport(transport: Transport) -> Transport:
    """Return a transport that notes each request, or the same one if nothing is traced."""
    trace = active_trace()
    return transport if trace is None else _TracedTransport(transport, trace)


class _TracedTransport:
    def __init__(self, transport: Transport, trace: Trace) -> None:
        self._transport = transport
        self._trace = trace

    def send(self, method: str, url: str, **options: Unpack[Sending]) -> Answer:
        trace = self._trace
        path = f"/{url.partition('://')[2].partition('/')[2]}"
        trace.note_request("request.sent", method=method, path=path)
        sent_at, status = trace.now(), 0
        try:
            answer = self._transport.send(method, url, **options)
            status = answer.status
            return answer
        finally:
            seconds = trace.now() - sent_at
            trace.note_request("request.answered", status=status, seconds=seconds)

    def close(self) -> None:
        self._transport.close()
