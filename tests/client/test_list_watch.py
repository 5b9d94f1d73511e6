from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from clientgo.cache import ListerWatcher, WatchStream
from clientgo.client import Client, ResourceListWatch, selecting
from clientgo.meta import APIResource, ListOptions
from clientgo.testing.scripted_server import ScriptedServer, answer_json, watch_begin, watch_end

PODS = APIResource(version="v1", kind="Pod", plural="pods")
STOP = threading.Event()


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on("*", answer_json({"metadata": {}, "items": []}), watch_begin() + watch_end())
        yield server


@pytest.fixture(name="client")
def _client(server: ScriptedServer) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


@pytest.mark.parametrize(
    ("namespace", "path"), [("", "/api/v1/pods"), ("ns", "/api/v1/namespaces/ns/pods")]
)
def test_it_lists_and_watches_one_namespace_or_all(server, client, namespace, path):
    """LWT-04."""
    source: ListerWatcher[object] = ResourceListWatch(client.resource(PODS), namespace)

    source.list(ListOptions(resource_version="0"), STOP)
    stream = source.watch(ListOptions(resource_version="5"), STOP)

    assert isinstance(stream, WatchStream)
    assert [
        (r.path, r.query.get("watch"), r.query["resourceVersion"]) for r in server.requests
    ] == [
        (path, None, "0"),
        (path, "true", "5"),
    ]


def test_options_are_tweaked_on_both(server, client):
    """LWT-04: on a private copy, on list and watch."""
    source = ResourceListWatch(
        client.resource(PODS), tweak=lambda options: replace(options, label_selector="a=b")
    )
    options = ListOptions()

    source.list(options, STOP)
    source.watch(options, STOP)

    assert [request.query["labelSelector"] for request in server.requests] == ["a=b", "a=b"]
    assert options.label_selector == ""


def test_a_tweak_that_returns_nothing_is_refused(client):
    """As one would that changes options in place, as in client-go."""
    source = ResourceListWatch(client.resource(PODS), tweak=lambda options: None)

    with pytest.raises(TypeError, match="returned None, not ListOptions"):
        source.list(ListOptions(), STOP)
    with pytest.raises(TypeError, match="returned None, not ListOptions"):
        source.watch(ListOptions(), STOP)


def test_selecting_is_the_usual_tweak(server, client):
    """LWT-04: a field-selector shorthand exists."""
    source = ResourceListWatch(
        client.resource(PODS), tweak=selecting(labels="a=b", fields="spec.nodeName=n")
    )

    source.list(ListOptions(), STOP)

    assert server.requests[0].query == {"labelSelector": "a=b", "fieldSelector": "spec.nodeName=n"}


def test_support_for_streamed_lists_can_be_denied(client):
    """LWT-05."""
    assert ResourceListWatch(client.resource(PODS)).supports_watch_list
    assert not ResourceListWatch(
        client.resource(PODS), supports_watch_list=False
    ).supports_watch_list
