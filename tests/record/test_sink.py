"""Events reach an API server."""

from __future__ import annotations

import pytest

from clientgo.client import Client
from clientgo.meta import NotFoundError
from clientgo.record import EventBroadcaster, EventSink
from clientgo.testing.scripted_server import ScriptedServer, answer_json
from tests.record.builders import event, pod

_STORED = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "p.1", "namespace": "ns", "resourceVersion": "8"},
    "involvedObject": {},
    "count": 1,
}
_EVENTS = "/api/v1/namespaces/ns/events"


def test_an_event_is_posted_to_its_namespace() -> None:
    """REC-07"""
    with ScriptedServer() as server, Client(server.url) as client:
        server.on(_EVENTS, answer_json(_STORED, 201))

        stored = EventSink(client).create(event())

        assert stored.metadata.resource_version == "8"
        assert server.requests[0].method == "POST"
        assert server.requests[0].json()["message"] == "m"


def test_a_repetition_is_patched_by_name() -> None:
    """REC-07"""
    with ScriptedServer() as server, Client(server.url) as client:
        server.on(f"{_EVENTS}/p.1", answer_json(_STORED))

        EventSink(client).patch(event(), {"count": 2})

        assert server.requests[0].method == "PATCH"
        assert server.requests[0].headers["content-type"] == "application/merge-patch+json"
        assert server.requests[0].json() == {"count": 2}


def test_a_refusal_is_a_status_error() -> None:
    missing = {"kind": "Status", "code": 404, "reason": "NotFound", "status": "Failure"}
    with ScriptedServer() as server, Client(server.url) as client:
        server.on(f"{_EVENTS}/p.1", answer_json(missing, 404))

        with pytest.raises(NotFoundError):
            EventSink(client).patch(event(), {"count": 2})


def test_a_recorder_writes_over_http() -> None:
    with ScriptedServer() as server, Client(server.url) as client:
        server.on(_EVENTS, answer_json(_STORED, 201))
        with EventBroadcaster() as broadcaster:
            broadcaster.start_recording_to_sink(EventSink(client))
            broadcaster.new_recorder("comp").event(pod(), "Normal", "R", "hello")
            assert broadcaster.flush(60)

        assert server.requests[0].json()["source"] == {"component": "comp"}
