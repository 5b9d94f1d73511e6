"""What both kinds of sink refuse before anything goes out."""

from __future__ import annotations

import pytest

from clientgo.api.events_v1 import Event as SeriesEvent
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.record import EventSeriesSink, EventSink
from clientgo.rest import RequestError
from clientgo.testing.scripted_server import ScriptedServer
from tests.record.builders import event

_WITHOUT_NAMESPACE = ObjectMeta(name="p.1")


@pytest.mark.parametrize("sink", [EventSink, EventSeriesSink])
def test_an_event_without_a_namespace_is_refused(sink: type) -> None:
    """EVT-13."""
    nowhere = event() if sink is EventSink else SeriesEvent()
    nowhere.metadata = _WITHOUT_NAMESPACE
    with ScriptedServer() as server, Client(server.url) as client:
        with pytest.raises(RequestError, match="namespace"):
            sink(client).create(nowhere)
        with pytest.raises(RequestError, match="namespace"):
            sink(client).patch(nowhere, {})

        assert server.requests == []
