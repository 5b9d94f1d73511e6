"""Headers only, also from servers that send everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.client import Client, PatchKind
from clientgo.meta import APIResource, DecodeError, ListOptions, PartialObjectMetadata, Status
from clientgo.rest import RestConfig
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer_json,
    watch_begin,
    watch_end,
    watch_events,
)

PODS = APIResource(version="v1", kind="Pod", plural="pods")
PATH = "/api/v1/namespaces/ns/pods"
ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


def header(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": {"name": "a", "resourceVersion": "5", **metadata},
    }


def whole(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "managedFields": [{"manager": "m"}], **metadata},
        "spec": {"secret": "x" * 1000},
    }


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(name="pods")
def _pods(server: ScriptedServer) -> Iterator[Any]:
    with Client(RestConfig(server=server.url, qps=-1)) as client:
        yield client.metadata(PODS).namespace("ns")


def test_headers_are_asked_for(server, pods):
    """MDT-01: in Accept; delete options as JSON."""
    server.on("*", answer_json(header()))
    server.on(PATH, answer_json({"items": []}), watch_begin() + watch_end())
    pods.get("a")
    pods.patch("a", {}, PatchKind.MERGE)
    pods.list()
    pods.watch()
    pods.delete("a")

    assert [request.headers["accept"] for request in server.requests[:4]] == [ONE, ONE, LIST, ONE]
    assert server.requests[4].headers["content-type"] == "application/json"


def test_a_header_comes_back_whole(server, pods):
    server.on("*", answer_json(header(labels={"a": "b"})))

    got = pods.get("a")

    assert isinstance(got, PartialObjectMetadata)
    assert got.metadata.labels == {"a": "b"}


def test_of_a_whole_object_only_the_header_is_kept(server, pods):
    """MDT-02."""
    server.on("*", answer_json(whole()))

    got = pods.get("a").to_dict()

    assert got.keys() == {"apiVersion", "kind", "metadata"}
    assert got["kind"] == "PartialObjectMetadata"
    assert got["metadata"]["managedFields"] == [{"manager": "m"}]


@pytest.mark.parametrize("form", [header, whole])
def test_lists_and_watches_are_cut_too(server, pods, form):
    """MDT-02."""
    kind = "PartialObjectMetadataList" if form is header else "PodList"
    status = {"kind": "Status", "apiVersion": "v1", "code": 410}
    server.on(
        PATH,
        answer_json({"kind": kind, "metadata": {"resourceVersion": "7"}, "items": [form()]}),
        watch_begin()
        + watch_events({"type": "ADDED", "object": form()}, {"type": "ERROR", "object": status})
        + watch_end(),
    )

    page = pods.list(ListOptions())
    stream = pods.watch()
    events = []
    while batch := stream.read():
        events += batch

    assert page.metadata.resource_version == "7"
    for got in (page.items[0], events[0].object):
        assert got.to_dict().keys() == {"apiVersion", "kind", "metadata"}
        assert got.metadata.name == "a"
    assert isinstance(events[1].object, Status)
    assert events[1].object.code == 410


@pytest.mark.parametrize("garbage", [{"a": "b"}, {"metadata": {}}, {"metadata": {"labels": {}}}])
def test_an_answer_without_any_identity_is_refused(server, pods, garbage):
    """MDT-02."""
    server.on("*", answer_json(garbage))

    with pytest.raises(DecodeError, match="neither uid, name"):
        pods.get("a")


@pytest.mark.parametrize(
    "identity",
    [{"uid": "u"}, {"generateName": "g-"}, {"creationTimestamp": "2026-01-01T00:00:00Z"}],
)
def test_any_one_identity_is_enough(server, pods, identity):
    """MDT-02."""
    server.on("*", answer_json({"kind": "Pod", "metadata": identity}))

    assert isinstance(pods.get("a"), PartialObjectMetadata)


def test_an_answer_that_is_not_json_is_refused(server, pods):
    from clientgo.testing.scripted_server import answer

    server.on("*", answer(body=b"<html>"))
    server.on(PATH, answer(body=b"[]"))

    with pytest.raises(DecodeError):
        pods.get("a")
    with pytest.raises(DecodeError):
        pods.list()
