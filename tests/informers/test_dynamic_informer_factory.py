"""Informers of kinds that nobody declared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from clientgo.cache import Latch
from clientgo.client import Client, selecting
from clientgo.informers import DynamicInformerFactory, MetadataInformerFactory
from clientgo.meta import APIResource, GroupVersionResource, ObjectMeta, Unstructured
from clientgo.observe.metrics import NO_METRICS, set_default_provider
from clientgo.testing import FakeClient as InMemoryClient
from clientgo.testing.scripted_server import ScriptedServer, answer_json
from tests.informers.fake_client import FakeClient
from tests.observe.metrics.recording import RecordingProvider

_WIDGETS = APIResource(group="example.com", version="v1", kind="Widget", plural="widgets")


def widget(name: str, namespace: str = "ns") -> Unstructured:
    return Unstructured(
        api_version="example.com/v1",
        kind="Widget",
        metadata=ObjectMeta(name=name, namespace=namespace, resource_version="1"),
    )


def factory_of(client: FakeClient, *args: Any, **options: Any) -> DynamicInformerFactory:
    return DynamicInformerFactory(client, *args, **options)  # type: ignore[arg-type]


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_resource_has_one_informer_per_version() -> None:
    """DYN-01"""
    factory = factory_of(FakeClient())
    v2 = GroupVersionResource("example.com", "v2", "widgets")

    one = factory.for_resource(_WIDGETS)

    assert factory.for_resource(_WIDGETS.gvr).informer is one.informer
    assert factory.for_resource(v2).informer is not one.informer


def test_objects_are_unstructured_and_found_by_namespace(stop: threading.Event) -> None:
    """DYN-01, DYN-02"""
    with factory_of(FakeClient(widget("a"), widget("b", "other"))) as factory:
        widgets = factory.for_resource(_WIDGETS)
        factory.start(stop)

        assert factory.wait_for_cache_sync(stop) == {_WIDGETS.gvr: True}
        assert [obj["kind"] for obj in widgets.lister.namespace("other").list()] == ["Widget"]


def test_the_options_are_those_of_every_factory(stop: threading.Event) -> None:
    """DYN-02, DYN-04"""
    client = FakeClient(widget("a"), widget("b", "other"))
    options = {
        "namespace": "other",
        "custom_resync": {_WIDGETS.gvr: 5.0},
        "tweak_list_options": selecting(labels="app=web"),
    }
    with factory_of(client, **options) as factory:
        widgets = factory.for_resource(_WIDGETS)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        assert [obj.metadata.name for obj in widgets.lister.list()] == ["b"]
        assert widgets.informer._default_period == 5.0
    requests = client.lists + client.watches
    assert {options.label_selector for _, _, options in requests} == {"app=web"}


def test_a_resource_that_is_not_served_is_no_error_until_it_is_listed(
    stop: threading.Event,
) -> None:
    """DYN-01"""
    client = FakeClient()
    client.unserved = {"widgets"}
    with factory_of(client) as factory:
        widgets = factory.for_resource(GroupVersionResource("example.com", "v1", "widgets"))
        factory.start(stop)

        stop.set()

        assert factory.wait_for_cache_sync(stop) == {_WIDGETS.gvr: False}
        assert widgets.informer.name == "example.com/v1, Resource=widgets"


def test_metrics_and_errors_name_the_resource_and_not_the_class(stop: threading.Event) -> None:
    """DYN-01, CMT-04: two informers of other kinds have the same class of objects."""
    client, provider = FakeClient(), RecordingProvider()
    client.unserved = {"widgets"}
    set_default_provider(provider)
    try:
        with factory_of(client) as factory:
            informer = factory.for_resource(_WIDGETS).informer
            errors: SimpleQueue[Exception] = SimpleQueue()
            informer.set_watch_error_handler(errors.put)
            factory.start(stop)
            error = errors.get(timeout=60.0)
            stop.set()
    finally:
        set_default_provider(NO_METRICS)

    assert "failed to list example.com/v1, Resource=widgets: " in str(error)
    assert provider.labels["reflector_lists_total"] == {"name": "example.com/v1, Resource=widgets"}


def test_metadata_is_asked_for_and_nothing_else(stop: threading.Event) -> None:
    """DYN-03"""
    item = {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": {"name": "a", "namespace": "ns", "resourceVersion": "3"},
    }
    listed = {"metadata": {"resourceVersion": "5"}, "items": [item]}
    path = "/apis/example.com/v1/widgets"
    with ScriptedServer() as server, Client(server.url) as client:
        server.on(path, lambda request: _answer(request, listed))
        with MetadataInformerFactory(client) as factory:
            widgets = factory.for_resource(_WIDGETS)
            factory.start(stop)
            factory.wait_for_cache_sync(stop)
            names = [obj.metadata.name for obj in widgets.lister.list()]

    assert names == ["a"]
    accepted = {("watch" in r.query, r.headers["accept"].split(";")[1]) for r in server.requests}
    assert accepted == {(False, "as=PartialObjectMetadataList"), (True, "as=PartialObjectMetadata")}


def _answer(request: Any, listed: Any) -> Any:
    if "watch" in request.query:
        status = {"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid"}
        return answer_json(status, 422)
    return answer_json(listed)


@pytest.mark.parametrize("kind", [DynamicInformerFactory, MetadataInformerFactory])
def test_a_wait_for_sync_is_woken_and_does_not_poll(kind: type[DynamicInformerFactory]) -> None:
    """DYN-05: in client-go these two ask each informer every 100 ms."""
    factory = kind(InMemoryClient())

    checker = factory.for_resource(_WIDGETS).informer.has_synced_checker()

    assert isinstance(checker.done, Latch)
