"""FAC-12a: informers of a kind whose definition changes, goes and comes back, on a real server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    NotServedError,
    QueueChoice,
    SharedIndexInformer,
    last_known_state,
)
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import APIResource, Unstructured, object_key
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.definitions import is_established
from clientgo.testing.observer import Observer
from clientgo.util.wait import Backoff, BackoffManager
from tests.cache.informer.making import synced
from tests.cache.running import Notes
from tests.tcp_proxy import TCPProxy

WIDGETS = APIResource(group="example.com", version="v1", kind="Widget", plural="widgets")
NAME = "widgets.example.com"


class NotingSource(ResourceListWatch):
    """Notes why the server does not serve its kind, each time that this is asked."""

    __slots__ = ("reasons",)

    def __init__(self, client: Client, namespace: str = "") -> None:
        super().__init__(client.resource(WIDGETS), namespace)
        self.reasons = Notes()

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        reason = super().why_not_served(stop)
        self.reasons(reason)
        return reason

    def wait_until_not_served(self) -> NotServedError:
        before = len(self.reasons.notes)
        self.reasons.wait_for(lambda notes: any(notes[before:]))
        reason: NotServedError = next(filter(None, self.reasons.notes[before:]))
        return reason


class Cluster:
    """A server with a definition of Widgets, and the calls of a handler of theirs."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._definitions = client.resource(CustomResourceDefinition)
        self.calls = Notes()
        self.define()

    def define(self, *served: str, stored: str = "v1", scope: str = "Namespaced") -> None:
        """Define Widgets in the served versions, by default in both, or change the definition."""
        schema = {"openAPIV3Schema": {"type": "object"}}
        versions = [
            {
                "name": name,
                "served": not served or name in served,
                "storage": name == stored,
                "schema": schema,
            }
            for name in ("v1", "v2")
        ]
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
        manifest = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": NAME},
            "spec": {"group": "example.com", "scope": scope, "names": names, "versions": versions},
        }
        with Observer(self._client, CustomResourceDefinition) as seen:
            self._definitions.apply(manifest, field_manager="test", force=True)
            lister = seen.lister(CustomResourceDefinition)
            assert seen.wait_until(lambda: is_established(lister.get(NAME)))

    def delete_definition(self) -> None:
        with Observer(self._client, CustomResourceDefinition) as seen:
            self._definitions.delete(NAME)
            lister = seen.lister(CustomResourceDefinition)
            assert seen.wait_until(lambda: not lister.list())

    def create(self, name: str, version: str = "v1", namespace: str = "default") -> None:
        kind = msgspec.structs.replace(WIDGETS, version=version, namespaced=bool(namespace))
        body = {"apiVersion": kind.api_version, "kind": "Widget", "metadata": {"name": name}}
        self._client.resource(kind).namespace(namespace).create(body)

    def informer(self, source: NotingSource, **options: Any) -> SharedIndexInformer[Unstructured]:
        informer: SharedIndexInformer[Unstructured] = SharedIndexInformer(
            source,
            Unstructured,
            name="widgets",
            delays=BackoffManager(Backoff(duration=0.02)),
            **options,
        )
        informer.add_event_handler(
            on_add=lambda obj: self.calls(f"+{object_key(obj)}"),
            on_delete=lambda obj: self.calls(f"-{object_key(last_known_state(obj))}"),
        )
        return informer


@contextmanager
def started(informer: SharedIndexInformer[Any]) -> Iterator[threading.Event]:
    """Run an informer beside threads of the test that may come and go meanwhile."""
    stop = threading.Event()
    thread = threading.Thread(target=informer.run, args=(stop,), daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()


@pytest.fixture(name="client")
def _client() -> Iterator[Client]:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        yield client


@pytest.fixture(name="cluster")
def _cluster(client: Client) -> Cluster:
    return Cluster(client)


@pytest.mark.parametrize("objects", [[], ["a", "b"]], ids=["no object", "objects"])
def test_a_deleted_definition_is_one_log_line_and_its_objects_are_deleted(
    client: Client, cluster: Cluster, objects: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """k/k#79610"""
    caplog.set_level(logging.INFO, "clientgo.cache")
    source = NotingSource(client)
    informer = cluster.informer(source)
    with started(informer) as stop:
        synced(stop, informer)
        for name in objects:
            cluster.create(name)
        cluster.calls.wait_for_count(len(objects))
        cluster.calls.notes.clear()

        cluster.delete_definition()

        source.reasons.wait_for_count(10)
        assert sorted(cluster.calls.notes) == [f"-default/{name}" for name in objects]
        assert informer.indexer.list() == []
        assert caplog.messages == [
            f"widgets reflector: {NAME} in version v1 is not served: there is no definition "
            f"{NAME}; trying again until it works"
        ]

        cluster.define()
        cluster.create("c")

        cluster.calls.wait_for(lambda notes: "+default/c" in notes)
        assert informer.indexer.list_keys() == ["default/c"]
    assert caplog.messages[1:] == ["widgets reflector: it works again"]


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["delta", "real"])
def test_a_definition_that_is_deleted_while_no_watch_is_open_leaves_no_object_behind(
    client: Client, cluster: Cluster, queue: QueueChoice
) -> None:
    cluster.create("a")
    with TCPProxy(_port(client)) as proxy, Client(proxy.url) as cut_off:
        source = NotingSource(cut_off)
        informer = cluster.informer(source, queue=queue)
        with started(informer) as stop:
            synced(stop, informer)
            proxy.cut()

            cluster.delete_definition()
            proxy.mend()

            cluster.calls.wait_for(lambda notes: notes == ["+default/a", "-default/a"])
            assert informer.indexer.list() == []


def test_a_definition_that_is_replaced_while_no_watch_is_open_is_no_end(
    client: Client, cluster: Cluster
) -> None:
    cluster.create("a")
    with TCPProxy(_port(client)) as proxy, Client(proxy.url) as cut_off:
        source = NotingSource(cut_off)
        informer = cluster.informer(source)
        with started(informer) as stop:
            synced(stop, informer)
            proxy.cut()

            cluster.delete_definition()
            cluster.define()
            cluster.create("b")
            proxy.mend()

            cluster.calls.wait_for(lambda notes: {"-default/a", "+default/b"} <= {*notes})
            assert informer.indexer.list_keys() == ["default/b"]


def test_a_version_that_is_not_served_any_more_deletes_nothing(
    client: Client, cluster: Cluster
) -> None:
    cluster.create("a")
    cluster.create("b")
    source = NotingSource(client)
    informer = cluster.informer(source)
    with started(informer) as stop:
        synced(stop, informer)

        cluster.define("v2", stored="v2")

        reason = source.wait_until_not_served()
        assert f"its definition {NAME} serves v2" in str(reason)
        source.wait_until_not_served()
        assert sorted(informer.indexer.list_keys()) == ["default/a", "default/b"]

        v2 = msgspec.structs.replace(WIDGETS, version="v2")
        client.resource(v2).namespace("default").delete("a")
        cluster.define()
        cluster.create("c", version="v2")

        cluster.calls.wait_for(lambda notes: {"-default/a", "+default/c"} <= {*notes})
        assert sorted(informer.indexer.list_keys()) == ["default/b", "default/c"]
        assert "-default/b" not in cluster.calls.notes


def test_another_stored_version_is_not_noticed(
    client: Client, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.create("a")
    source = NotingSource(client)
    informer = cluster.informer(source)
    with started(informer) as stop:
        synced(stop, informer)

        cluster.define(stored="v2")
        cluster.create("b", version="v2")

        cluster.calls.wait_for_count(2)
        assert cluster.calls.notes == ["+default/a", "+default/b"]
        assert informer.indexer.get_by_key("default/b").api_version == "example.com/v1"  # type: ignore[union-attr]
    assert not any(source.reasons.notes)
    assert "not served" not in caplog.text


def test_a_definition_that_comes_after_the_informer_syncs_it(
    client: Client, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.delete_definition()
    source = NotingSource(client)
    informer = cluster.informer(source)
    with started(informer) as stop:
        source.reasons.wait_for_count(5)
        assert not informer.has_synced()
        assert isinstance(informer.last_error(), NotServedError)
        assert len(caplog.messages) == 1

        cluster.define()

        synced(stop, informer)
        cluster.create("a")
        cluster.calls.wait_for_count(1)


def test_a_kind_that_comes_back_without_namespaces_has_other_keys(
    client: Client, cluster: Cluster
) -> None:
    cluster.create("a")
    everywhere, in_one = NotingSource(client), NotingSource(client, "default")
    informer, narrow = cluster.informer(everywhere), cluster.informer(in_one)
    with started(informer) as stop, started(narrow):
        synced(stop, informer, narrow)
        cluster.calls.wait_for_count(2)

        cluster.delete_definition()
        cluster.define(scope="Cluster")
        cluster.create("a", namespace="")

        cluster.calls.wait_for_count(5)
        assert sorted(cluster.calls.notes[2:]) == ["+a", "-default/a", "-default/a"]
        in_one.reasons.wait_for(lambda notes: "it has no namespaces" in str(notes[-1]))
        assert informer.indexer.list_keys() == ["a"]
        assert narrow.indexer.list_keys() == []

        cluster.delete_definition()
        cluster.define()
        cluster.create("b")

        cluster.calls.wait_for(lambda notes: notes.count("+default/b") == 2)
        assert informer.indexer.list_keys() == narrow.indexer.list_keys() == ["default/b"]


def _port(client: Client) -> int:
    return int(client.config.server.rpartition(":")[2])
