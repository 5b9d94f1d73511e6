"""Informers whose handlers and readers get models of the `kubernetes` package."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from kubernetes.client import V1Node, V1ObjectMeta, V1Pod, V1PodList

from clientgo.cache import DeletedFinalStateUnknown, ResourceEventHandler
from clientgo.cache.informer.handlers import ViewingHandler
from clientgo.informers import SharedInformerFactory
from clientgo.meta import (
    NotFoundError,
    ObjectDecodeError,
    Unstructured,
    parse_label_selector,
    to_model,
)
from clientgo.testing import FakeClient


def pod(name: str, node: str = "n", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "a"}], "newField": 1},
    }


@pytest.fixture
def client() -> FakeClient:
    return FakeClient(pod("a", app="web"), pod("b", node="m"))


@pytest.fixture
def factory(client: FakeClient) -> Iterator[SharedInformerFactory]:
    with SharedInformerFactory(client) as factory:
        yield factory


def start(factory: SharedInformerFactory) -> None:
    stop = threading.Event()
    factory.start(stop)
    assert all(factory.wait_for_cache_sync(stop).values())


class Recorder(ResourceEventHandler[V1Pod]):
    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.deleted = threading.Event()

    def on_add(self, obj: V1Pod, is_in_initial_list: bool) -> None:
        self.calls.append(("add", obj, is_in_initial_list))

    def on_update(self, old: V1Pod, new: V1Pod) -> None:
        self.calls.append(("update", old, new))

    def on_delete(self, obj: V1Pod | DeletedFinalStateUnknown) -> None:
        self.calls.append(("delete", obj))
        self.deleted.set()


def test_a_lister_gives_models(factory: SharedInformerFactory) -> None:
    lister = factory.lister_for(V1Pod)
    start(factory)

    found = lister.namespace("ns").get("a")
    assert isinstance(found, V1Pod)
    assert (found.spec.containers[0].image, found.kind) == ("a", "Pod")
    assert [each.metadata.name for each in lister.list(parse_label_selector("app=web"))] == ["a"]
    assert sorted(each.metadata.name for each in lister.namespace("ns").list()) == ["a", "b"]
    with pytest.raises(NotFoundError, match='pods "c" not found'):
        lister.namespace("ns").get("c")


def test_handlers_are_called_with_models(
    client: FakeClient, factory: SharedInformerFactory
) -> None:
    informer, recorder = factory.informer_for(V1Pod), Recorder()
    informer.add_event_handler(recorder)
    start(factory)
    changed = client.resource(V1Pod).namespace("ns").get("a")
    changed.spec.node_name = "other"
    client.update(changed)
    client.delete(changed)
    assert recorder.deleted.wait(10)
    late = Recorder()
    assert informer.add_event_handler(late).wait_until_idle(10)

    for _, *objs in recorder.calls:
        assert {type(obj) for obj in objs if not isinstance(obj, bool)} == {V1Pod}
    assert sorted(call[0] for call in recorder.calls) == ["add", "add", "delete", "update"]
    (update,) = (call for call in recorder.calls if call[0] == "update")
    assert [obj.spec.node_name for obj in update[1:]] == ["n", "other"]
    assert [(call[0], call[1].metadata.name) for call in late.calls] == [("add", "b")]


def test_a_tombstone_has_a_model() -> None:
    recorder = Recorder()
    view = ViewingHandler(partial(to_model, model=V1Pod), recorder)
    view.on_delete(DeletedFinalStateUnknown("ns/a", Unstructured.from_dict(pod("a"))))
    view.on_delete(DeletedFinalStateUnknown("ns/a", None))

    (_, first), (_, second) = recorder.calls
    assert (first.key, type(first.obj)) == ("ns/a", V1Pod)
    assert second.obj is None


def test_a_model_of_the_cache_is_the_readers_own(
    client: FakeClient, factory: SharedInformerFactory
) -> None:
    """FIELD-70: programs of the official client change what they have read."""
    lister = factory.lister_for(V1Pod).namespace("ns")
    start(factory)

    mine = lister.get("a")
    mine.spec.containers[0].image = "changed"

    assert lister.get("a").spec.containers[0].image == "a"
    client.update(mine)
    (stored,) = (action.body for action in client.actions() if str(action).startswith("update"))
    assert stored["spec"] == {
        "nodeName": "n",
        "containers": [{"name": "c", "image": "changed"}],
        "newField": 1,
    }


def test_index_functions_get_models_and_the_indexer_gives_models(
    factory: SharedInformerFactory,
) -> None:
    informer = factory.informer_for(V1Pod)
    informer.add_indexers({"node": lambda each: [each.spec.node_name]})
    start(factory)

    indexer = informer.indexer
    (on_m,) = indexer.by_index("node", "m")
    assert (type(on_m), on_m.metadata.name) == (V1Pod, "b")
    assert [each.metadata.name for each in indexer.index("node", on_m)] == ["b"]
    assert [type(each) for each in indexer.list()] == [V1Pod, V1Pod]
    assert isinstance(indexer.get_by_key("ns/a"), V1Pod)
    assert isinstance(indexer.get(on_m), V1Pod)
    assert indexer.get_by_key("ns/c") is None
    assert indexer.index_keys("node", "m") == ["ns/b"]


def test_what_is_cached_is_the_header_and_the_json(client: FakeClient) -> None:
    """A model takes ten times as much; a transform works on what is cached."""
    seen: list[Any] = []

    def transform(obj: Any) -> Any:
        seen.append(obj)
        return obj

    with SharedInformerFactory(client, transform=transform) as factory:
        factory.informer_for(V1Pod)
        start(factory)

    assert [type(obj) for obj in seen] == [Unstructured, Unstructured]


def test_an_object_that_is_no_model_fails_alone() -> None:
    bad = {**pod("bad"), "spec": {"containers": "x"}}
    with SharedInformerFactory(FakeClient(bad, pod("a"))) as factory:
        recorder = Recorder()
        lister = factory.lister_for(V1Pod).namespace("ns")
        registration = factory.informer_for(V1Pod).add_event_handler(recorder)
        start(factory)
        assert registration.wait_until_idle(10)

        assert [call[1].metadata.name for call in recorder.calls] == ["a"]
        assert lister.get("a").metadata.name == "a"
        with pytest.raises(ObjectDecodeError, match="V1Pod 'ns/bad' does not fit"):
            lister.get("bad")


def test_everybody_who_asks_for_a_model_shares_its_informer(
    client: FakeClient, factory: SharedInformerFactory
) -> None:
    assert factory.informer_for(V1Pod) is factory.informer_for(V1Pod)
    assert factory.informer_for(V1Pod).name == "V1Pod"
    assert factory.informer_for(V1Node) is not factory.informer_for(V1Pod)
    with pytest.raises(TypeError, match="V1PodList is a list"):
        factory.informer_for(V1PodList)
    assert client.actions() == []
    assert V1Pod(metadata=V1ObjectMeta(name="a")).metadata.name == "a"


def test_a_handle_has_models_too(factory: SharedInformerFactory) -> None:
    """FAC-12"""
    with factory.acquire(V1Pod) as handle:
        recorder = Recorder()
        registration = handle.add_event_handler(recorder)
        start(factory)
        registration.wait_until_idle()

        assert type(handle.lister.namespace("ns").get("a")) is V1Pod
        assert {type(obj) for _, obj, _ in recorder.calls} == {V1Pod}
    assert factory.informers() == {}
