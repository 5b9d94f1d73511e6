"""Syncs as spans of OpenTelemetry."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.observe.trace import tracing
from clientgo.testing import FakeClock
from clientgo.util.wait import StopEvent
from clientgo.workqueue import RateLimitingQueue, run_workers

api = pytest.importorskip("opentelemetry.trace")
otel = pytest.importorskip("clientgo.observe.trace.otel")


class _Span(api.NonRecordingSpan):  # type: ignore[misc, name-defined]
    def __init__(self, name: str, parent: Any, kind: Any, attributes: Any, started: int) -> None:
        super().__init__(api.INVALID_SPAN_CONTEXT)
        self.name, self.parent, self.kind = name, parent, kind
        self.attributes, self.started = dict(attributes), started
        self.status: Any = None
        self.ended: list[int | None] = []

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.status = status

    def end(self, end_time: int | None = None) -> None:
        self.ended.append(end_time)


class _Provider(api.TracerProvider, api.Tracer):  # type: ignore[misc, name-defined]
    """Keeps its spans."""

    def __init__(self) -> None:
        self.spans: list[_Span] = []

    def get_tracer(self, *_: Any, **__: Any) -> _Provider:
        return self

    def start_span(
        self,
        name: str,
        context: Any = None,
        kind: Any = None,
        attributes: Any = None,
        links: Any = None,
        start_time: int = 0,
        **_: Any,
    ) -> _Span:
        parent = None if context is None else api.get_current_span(context)
        self.spans.append(_Span(name, parent, kind, attributes, start_time))
        return self.spans[-1]

    start_as_current_span = start_span


def test_a_sync_is_a_span_and_its_requests_are_children() -> None:
    clock, provider, stop = FakeClock(start=10.0, wall=1000.0), _Provider(), StopEvent()

    def sync(key: str) -> None:
        trace.note_request("request.sent", method="PUT", path="/apis/x?fieldManager=me")
        clock.step(0.25)
        trace.note_request("request.answered", status=409, seconds=0.25)
        stop.set()
        raise ValueError("behind")

    with tracing(otel.OpenTelemetryTracer(provider), clock=clock) as trace:
        queue = RateLimitingQueue[str](name="foos")
        trace.note_request("request.sent", method="GET", path="/watch")  # outside of a sync
        queue.add("ns/x")
        run_workers(stop, queue, sync, workers=1)

    of_sync, request = provider.spans
    assert (of_sync.name, of_sync.parent) == ("sync foos", None)
    assert of_sync.attributes == {"clientgo.queue": "foos", "clientgo.key": "ns/x"}
    assert (of_sync.started, of_sync.ended) == (1000 * 10**9, [1_000_250_000_000])
    assert of_sync.status.status_code is api.StatusCode.ERROR
    assert of_sync.status.description == "ValueError: behind"
    assert (request.name, request.parent) == ("PUT", of_sync)
    assert request.attributes == {
        "http.request.method": "PUT",
        "url.path": "/apis/x",
        "http.response.status_code": 409,
    }
    assert request.status.description == "HTTP 409"
    assert request.ended == [1_000_250_000_000]


def test_a_sync_that_goes_on_when_the_trace_ends_has_an_end() -> None:
    provider = _Provider()
    with tracing(otel.OpenTelemetryTracer(provider)):
        queue = RateLimitingQueue[str](name="foos")
        sync = queue.syncing("ns/x")
        sync.__enter__()

    assert [span.ended for span in provider.spans] == [[None]]


def test_the_program_s_own_provider_is_used_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = _Provider()
    monkeypatch.setattr(api, "get_tracer_provider", lambda: provider)
    with tracing(otel.OpenTelemetryTracer()):
        queue = RateLimitingQueue[str](name="foos")
        with queue.syncing("ns/x"):
            pass

    assert [span.name for span in provider.spans] == ["sync foos"]
