from __future__ import annotations

import threading
from collections.abc import Iterator
from uuid import NAMESPACE_DNS, uuid5

import pytest
from msgspec.structs import replace

from clientgo.cache import ListerWatcher, WatchStream
from clientgo.client import Client, ResourceListWatch, selecting
from clientgo.meta import APIResource, ListOptions, Unstructured, shard_range
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer_json,
    watch_begin,
    watch_end,
    watch_events,
)

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


def pod(name: str, uid: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": "1"}}


def sharded(answers: int = 2, shard: int = 0) -> list[dict[str, object]]:
    """Pods of one of two shards."""
    selector = shard_range(shard, 2)
    pods = [pod(f"{number}", str(uuid5(NAMESPACE_DNS, str(number)))) for number in range(300)]
    return [obj for obj in pods if selector.matches(Unstructured.from_dict(obj))][:answers]


IGNORES = (
    "the API server ignores the shard selector of pods: ns/{} is not in "
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000'); each shard gets "
    "all objects, so filter them with ShardSelector.matches, or enable the feature gate "
    "ShardedListAndWatch"
)


def test_a_shard_is_asked_for_with_list_and_watch(server, client, caplog):
    """LWT-06: beside other selectors; a server that sends the shard alone is not reported."""
    server.on(
        "*",
        answer_json({"metadata": {}, "items": sharded(70)}),
        watch_begin() + watch_end(),
        answer_json({"metadata": {}, "items": sharded(70, shard=1)}),
    )
    tweak = selecting(labels="a=b", shard=shard_range(0, 2))
    source = ResourceListWatch(client.resource(PODS), "ns", tweak)

    source.list(ListOptions(), STOP)
    source.watch(ListOptions(), STOP)

    assert [
        (request.query["labelSelector"], request.query["shardSelector"])
        for request in server.requests
    ] == [("a=b", str(shard_range(0, 2)))] * 2
    assert caplog.messages == []
    source.list(ListOptions(), STOP)
    assert caplog.messages == [], "after 64 objects of the shard it is settled"


def test_a_server_that_ignores_a_shard_is_reported_once(server, client, caplog):
    """LWT-06: by an object outside of the range, in a list or a watch."""
    (other,) = sharded(1, shard=1)
    mixed = [*sharded(5), other]
    server.on("*", answer_json({"metadata": {}, "items": mixed}))
    source = ResourceListWatch(client.resource(PODS), "ns", selecting(shard=shard_range(0, 2)))

    for _ in range(2):
        assert len(source.list(ListOptions(), STOP).items) == 6

    assert caplog.messages == [IGNORES.format(other["metadata"]["name"])]


def test_a_watch_that_ignores_a_shard_is_reported_once(server, client, caplog):
    """LWT-06."""
    (mine,), (other,) = sharded(1), sharded(1, shard=1)
    header = {"apiVersion": "v1", "kind": "Pod"}
    events = [
        {"type": "ADDED", "object": header | mine},
        {"type": "BOOKMARK", "object": header | {"metadata": {"resourceVersion": "9", "uid": "x"}}},
        {"type": "ADDED", "object": header | other},
        {"type": "MODIFIED", "object": header | other},
    ]
    server.on("*", watch_begin() + watch_events(*events) + watch_end())
    source = ResourceListWatch(client.resource(PODS), "ns", selecting(shard=shard_range(0, 2)))

    stream = source.watch(ListOptions(), STOP)
    seen = [event.type for _ in range(4) for event in stream.read()]
    stream.stop()

    assert seen == ["ADDED", "BOOKMARK", "ADDED", "MODIFIED"]
    assert caplog.messages == [IGNORES.format(other["metadata"]["name"])]


@pytest.mark.parametrize("selector", ["", "newSyntax(object.metadata.uid)"])
def test_what_cannot_be_checked_is_sent_and_not_reported(server, client, caplog, selector):
    """LWT-06: such as a selector of a newer server."""
    server.on("*", answer_json({"metadata": {}, "items": [*sharded(1), *sharded(1, shard=1)]}))
    source = ResourceListWatch(client.resource(PODS), "ns", selecting(shard=selector))

    source.list(ListOptions(), STOP)

    assert [request.query.get("shardSelector", "") for request in server.requests] == [selector]
    assert caplog.messages == []
