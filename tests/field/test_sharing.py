"""What is shared is one watch, one cache and one set of indexes; and it can be measured."""

from __future__ import annotations

import inspect
import threading
from importlib.resources import files

from clientgo.api.core_v1 import Pod
from clientgo.cache import SharedIndexInformer
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.testing.scripted_server import answer_json
from tests.field.informers import pod_informer, running
from tests.field.objects import NAMESPACE, keys, listing, pod
from tests.field.scenario import Field


def test_parts_of_a_program_share_one_watch_of_a_kind(field: Field):
    """FIELD-25: whoever asks a factory for a kind gets the same cache."""
    field.pods.on_list(answer_json(listing(pod("a"))))
    stop = threading.Event()
    with (
        Client(field.server.url) as client,
        SharedInformerFactory(client, namespace=NAMESPACE) as factory,
    ):
        told: tuple[list[Pod], list[Pod]] = ([], [])
        for seen in told:
            factory.informer_for(Pod).add_event_handler(on_add=field.noting(seen))
        factory.start(stop)
        field.until(lambda: all(told), "a handler was not told")
        field.until(lambda: field.pods.watches, "it never watched")
        names = [p.metadata.name for p in factory.lister_for(Pod).list()]
    stop.set()

    assert names == ["a"]
    assert told[0] == told[1]
    assert len(field.pods.lists) == 1
    assert len(field.pods.watches) == 1


def test_several_namespaces_can_be_watched_apart(field: Field):
    """FIELD-25: one factory for each, over the connections of one client."""
    paths = {name: f"/api/v1/namespaces/{name}/pods" for name in ("north", "south")}
    for name, path in paths.items():
        here = field.collection(path)
        here.on_list(answer_json(listing(pod(f"in-{name}", namespace=name))))
    stop = threading.Event()
    with Client(field.server.url) as client:
        factories = {name: SharedInformerFactory(client, namespace=name) for name in paths}
        for factory in factories.values():
            factory.informer_for(Pod)
            factory.start(stop)
            factory.wait_for_cache_sync(stop)
        found = {name: f.informer_for(Pod).indexer.list_keys() for name, f in factories.items()}
        stop.set()
        for factory in factories.values():
            factory.shutdown()

    assert found == {"north": ["north/in-north"], "south": ["south/in-south"]}


def test_objects_are_indexed_and_transformed_on_their_way_in(field: Field):
    """FIELD-25."""

    def without_labels_but_app(obj: Pod) -> Pod:
        obj.metadata.labels = {"app": obj.metadata.labels.get("app", "")}
        return obj

    field.pods.on_list(
        answer_json(
            listing(pod("a", labels={"app": "web", "x": "y"}), pod("b", labels={"app": "db"}))
        )
    )
    with (
        pod_informer(
            field,
            indexers={"app": lambda obj: [obj.metadata.labels["app"]]},
            transform=without_labels_but_app,
        ) as informer,
        running(informer),
    ):
        assert informer.has_synced_checker().done.wait(30)
        (web,) = informer.indexer.by_index("app", "web")

    assert web.metadata.name == "a"
    assert web.metadata.labels == {"app": "web"}


def test_the_package_is_typed_and_so_is_the_informer():
    """FIELD-25: a checker sees what an informer of Pods holds."""
    unannotated = [
        f"{name}({parameter})"
        for name, method in inspect.getmembers(SharedIndexInformer, inspect.isfunction)
        if not name.startswith("_")
        for parameter, its in inspect.signature(method).parameters.items()
        if parameter != "self" and its.annotation is inspect.Parameter.empty
    ]

    assert files("clientgo").joinpath("py.typed").is_file()
    assert unannotated == []


def test_what_a_cache_holds_can_be_observed(field: Field):
    """FIELD-30: no silent limit, and a count for whoever has one."""
    field.pods.on_list(answer_json(listing(pod("a"), pod("b"))))
    with pod_informer(field) as informer, running(informer):
        assert informer.has_synced_checker().done.wait(30)
        statistics = informer.statistics()

    assert statistics.synced
    assert statistics.store.objects == len(keys("a", "b"))
