"""One informer for each type, started and stopped together."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from clientgo.api.core_v1 import ConfigMap, Namespace, Secret
from clientgo.cache import NAMESPACE_INDEX, REAL_FIFO, InformerName
from clientgo.informers import SharedInformerFactory, UnknownResourceError
from clientgo.meta import (
    GroupVersionResource,
    ListOptions,
    NotFoundError,
    ObjectMeta,
    Scheme,
    resource_of,
)
from clientgo.observe.metrics import NO_METRICS, set_default_provider
from clientgo.observe.metrics.names import INFORMER_QUEUED_ITEMS
from tests.informers.fake_client import FakeClient
from tests.observe.metrics.recording import RecordingProvider


def config_map(name: str, namespace: str = "ns") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, resource_version="1"))


def factory_of(client: FakeClient, *args: Any, **options: Any) -> SharedInformerFactory:
    return SharedInformerFactory(client, *args, **options)  # type: ignore[arg-type]


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def _informer_threads() -> list[str]:
    names = ("ConfigMap", "Secret", "Namespace")
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(names)]


def test_one_thread_watches_the_stop_for_all_informers(stop: threading.Event) -> None:
    before = set(threading.enumerate())
    with factory_of(FakeClient()) as factory:
        for kind in (ConfigMap, Secret, Namespace):
            factory.informer_for(kind)
        factory.start(stop)
        assert all(factory.wait_for_cache_sync(stop).values())

        started = [thread.name for thread in set(threading.enumerate()) - before]

    assert started.count("stop-watcher") == 1


def test_every_informer_has_the_queue_that_the_factory_is_given(stop: threading.Event) -> None:
    """FAC-01, GAT-01: RealFIFO is one argument away."""
    made: list[str] = []

    def make(store: Any, *, name: str, **options: Any) -> Any:
        made.append(name)
        return REAL_FIFO.make(store, name=name, **options)

    queue = dataclasses.replace(REAL_FIFO, make=make)
    with factory_of(FakeClient(), queue=queue) as factory:
        for kind in (ConfigMap, Secret):
            factory.informer_for(kind)
        factory.start(stop)
        assert all(factory.wait_for_cache_sync(stop).values())

    assert len(made) == 2


def test_informers_report_metrics_under_the_name_that_the_factory_is_given(
    stop: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    """CMT-01: a released informer leaves its name to the one that follows."""
    provider, name = RecordingProvider(), InformerName("controller")
    set_default_provider(provider)
    try:
        with factory_of(FakeClient(), informer_name=name) as factory:
            for _ in range(2):
                factory.informer_for(Secret)
                provider.instruments.clear()
                factory.informer_for(ConfigMap)
                factory.start(stop)
                assert all(factory.wait_for_cache_sync(stop).values())
                factory.release(ConfigMap)

                assert INFORMER_QUEUED_ITEMS.name in provider.instruments
        assert provider.labels[INFORMER_QUEUED_ITEMS.name] == {
            "name": "controller",
            "group": "",
            "version": "v1",
            "resource": "configmaps",
        }
        assert caplog.messages == []
    finally:
        set_default_provider(NO_METRICS)
        name.release()


def test_a_type_has_one_informer_however_it_is_asked_for() -> None:
    """FAC-02, FAC-10"""
    factory = factory_of(FakeClient(), scheme=Scheme([ConfigMap]))

    informer = factory.informer_for(ConfigMap)
    lister = factory.lister_for(ConfigMap)
    informer.indexer.add(config_map("a"))

    assert factory.informer_for(ConfigMap) is informer
    assert factory.for_resource(resource_of(ConfigMap).gvr).informer is informer
    assert lister.namespace("ns").get("a").metadata.name == "a"
    assert factory.informer_for(Secret) is not informer


def test_asking_for_a_lister_makes_the_informer_that_start_starts(stop: threading.Event) -> None:
    """FAC-03"""
    client = FakeClient(config_map("a"), config_map("b", "other"))
    with factory_of(client) as factory:
        lister = factory.lister_for(ConfigMap)

        factory.start(stop)

        assert factory.wait_for_cache_sync(stop) == {ConfigMap: True}
        assert [obj.metadata.name for obj in lister.namespace("other").list()] == ["b"]
        statistics = factory.informer_for(ConfigMap).indexer.statistics()
        assert statistics.index_values == {NAMESPACE_INDEX: 2}


def test_a_lister_says_what_it_does_not_have() -> None:
    with pytest.raises(NotFoundError, match="configmaps"):
        factory_of(FakeClient()).lister_for(ConfigMap).namespace("ns").get("a")


def test_nothing_is_requested_before_the_start() -> None:
    """FAC-06"""
    client = FakeClient()

    factory_of(client).informer_for(ConfigMap)

    assert client.lists + client.watches == []
    assert _informer_threads() == []


def test_handlers_are_told_of_changes(stop: threading.Event) -> None:
    client = FakeClient(config_map("a"))
    added: list[str] = []
    second = threading.Event()

    def on_add(obj: ConfigMap) -> None:
        added.append(obj.metadata.name)
        if len(added) == 2:
            second.set()

    with factory_of(client) as factory:
        factory.informer_for(ConfigMap).add_event_handler(on_add=on_add)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        client.emit("ADDED", config_map("b"))

        assert second.wait(30)
    assert added == ["a", "b"]


def test_the_resync_period_is_that_of_the_type_or_else_the_factorys() -> None:
    """FAC-04"""
    factory = factory_of(FakeClient(), 30.0, custom_resync={Secret: 60.0})

    assert factory.informer_for(ConfigMap)._default_period == 30.0
    assert factory.informer_for(Secret)._default_period == 60.0


def test_the_transform_is_applied_to_every_type(stop: threading.Event) -> None:
    """FAC-04"""

    def without_data(obj: Any) -> Any:
        obj.data = None
        return obj

    client = FakeClient(ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"), data={"k": "v"}))
    with factory_of(client, transform=without_data) as factory:
        lister = factory.lister_for(ConfigMap)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        assert lister.namespace("ns").get("a").data is None


def test_options_of_every_list_and_watch_are_tweaked(stop: threading.Event) -> None:
    """FAC-05"""

    def tweak(options: ListOptions) -> ListOptions:
        return replace(options, label_selector="app=web")

    client = FakeClient()
    with factory_of(client, tweak_list_options=tweak) as factory:
        factory.informer_for(ConfigMap)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

    requests = client.lists + client.watches
    assert {options.label_selector for _, _, options in requests} == {"app=web"}


def test_a_namespace_limits_only_what_has_one(stop: threading.Event) -> None:
    """FAC-01, FAC-11"""
    client = FakeClient(config_map("a"), config_map("b", "other"))
    with factory_of(client, namespace="ns") as factory:
        config_maps = factory.lister_for(ConfigMap)
        factory.informer_for(Namespace)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        assert [obj.metadata.name for obj in config_maps.list()] == ["a"]
    asked = {(plural, namespace) for plural, namespace, _ in client.lists + client.watches}
    assert asked == {("configmaps", "ns"), ("namespaces", "")}


def test_start_may_be_called_again_for_later_informers(stop: threading.Event) -> None:
    """FAC-06"""
    client = FakeClient()
    with factory_of(client) as factory:
        factory.informer_for(ConfigMap)
        factory.start(stop)
        factory.informer_for(Secret)
        before = factory.wait_for_cache_sync(stop)

        factory.start(stop)

        assert before == {ConfigMap: True}
        assert factory.wait_for_cache_sync(stop) == {ConfigMap: True, Secret: True}
        assert _informer_threads().count("ConfigMap") == 1


def test_each_informer_ends_with_the_start_that_launched_it() -> None:
    """FAC-06, FAC-09"""
    first, second = threading.Event(), threading.Event()
    with factory_of(FakeClient()) as factory:
        config_maps = factory.informer_for(ConfigMap)
        factory.start(first)
        secrets = factory.informer_for(Secret)
        factory.start(second)
        factory.wait_for_cache_sync(second)

        first.set()
        factory._entries[ConfigMap].thread.join(30)  # type: ignore[union-attr]

        assert config_maps.is_stopped()
        assert not secrets.is_stopped()
        factory.start(second)
        assert factory.informer_for(ConfigMap) is config_maps
        assert config_maps.is_stopped()


def test_waiting_ends_with_the_stop_and_says_what_has_synced(stop: threading.Event) -> None:
    """FAC-07"""
    client = FakeClient()
    client.unserved = {"secrets"}
    with factory_of(client) as factory:
        config_maps = factory.informer_for(ConfigMap)
        factory.informer_for(Secret)
        factory.start(stop)
        assert config_maps.has_synced_checker().done.wait(30)
        waited: list[dict[Any, bool]] = []
        give_up = threading.Event()
        waiter = threading.Thread(
            target=lambda: waited.append(factory.wait_for_cache_sync(give_up))
        )
        waiter.start()

        give_up.set()
        waiter.join(30)

    assert waited == [{ConfigMap: True, Secret: False}]


def test_waiting_for_nothing_returns_at_once(stop: threading.Event) -> None:
    """FAC-07"""
    assert factory_of(FakeClient()).wait_for_cache_sync(stop) == {}


def test_shutdown_ends_every_thread_and_any_later_start(stop: threading.Event) -> None:
    """FAC-08: client-go waits until the caller has cancelled; ours stops the informers itself."""
    client = FakeClient(config_map("a"))
    factory = factory_of(client)
    lister = factory.lister_for(ConfigMap)
    factory.start(stop)
    factory.wait_for_cache_sync(stop)

    threads = [threading.Thread(target=factory.shutdown) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    factory.informer_for(Secret)
    factory.start(stop)

    assert _informer_threads() == []
    assert not stop.is_set()
    assert lister.namespace("ns").get("a").metadata.name == "a"


def test_shutdown_returns_at_once_if_nothing_ran() -> None:
    """FAC-08"""
    factory_of(FakeClient()).shutdown()


def test_a_released_informer_ends_and_makes_room_for_a_new_one(stop: threading.Event) -> None:
    """FAC-09"""
    with factory_of(FakeClient()) as factory:
        old = factory.informer_for(ConfigMap)
        secrets = factory.informer_for(Secret)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        factory.release(ConfigMap)
        new = factory.informer_for(ConfigMap)
        factory.start(stop)

        assert old.is_stopped()
        assert new is not old
        assert factory.wait_for_cache_sync(stop) == {ConfigMap: True, Secret: True}
        assert not secrets.is_stopped()


def test_releasing_what_nobody_asked_for_does_nothing() -> None:
    factory_of(FakeClient()).release(ConfigMap)


def test_a_resource_without_a_declared_type_is_an_error() -> None:
    """FAC-10"""
    with pytest.raises(UnknownResourceError, match="DynamicInformerFactory"):
        factory_of(FakeClient()).for_resource(GroupVersionResource("", "v1", "pods"))


def test_a_class_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(TypeError, match="@resource"):
        factory_of(FakeClient()).informer_for(dict)  # type: ignore[type-var]


def test_the_name_of_a_resource_is_no_class() -> None:
    with pytest.raises(TypeError, match=r"'pods' is no class; .* client\.mapper"):
        factory_of(FakeClient()).informer_for("pods")  # type: ignore[arg-type]


def test_informers_that_were_not_started_are_named(
    stop: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    with factory_of(FakeClient()) as factory:
        factory.informer_for(ConfigMap)
        factory.start(stop)
        factory.informer_for(Secret)
        assert factory.wait_for_cache_sync(stop) == {ConfigMap: True}

    assert caplog.messages == [
        "not waiting for Secret: not started, so the cache stays empty; call start before"
    ]


def test_a_start_after_the_shutdown_is_logged(
    stop: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    with factory_of(FakeClient()) as factory:
        pass
    factory.informer_for(ConfigMap)
    factory.start(stop)

    assert caplog.messages == ["the factory was shut down and starts no informer; make a new one"]
    assert _informer_threads() == []


def test_many_threads_may_ask_and_start_at_once(stop: threading.Event) -> None:
    barrier = threading.Barrier(8)
    seen: list[int] = []
    with factory_of(FakeClient()) as factory:

        def ask() -> None:
            barrier.wait()
            for kind in (ConfigMap, Secret, Namespace):
                seen.append(id(factory.informer_for(kind)))
                factory.start(stop)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

        assert len(set(seen)) == 3
        assert sorted(_informer_threads()).count("ConfigMap") == 1
