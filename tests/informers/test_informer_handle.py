"""FAC-12: an informer ends when its last handle is released."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap, Namespace, Secret
from clientgo.cache import InformerName, InformerStateError, wait_for_cache_sync
from clientgo.client import Client
from clientgo.informers import (
    DynamicInformerFactory,
    InformerHandle,
    MetadataInformerFactory,
    SharedInformerFactory,
)
from clientgo.meta import GroupVersionResource, ObjectMeta, Scheme, resource_of
from clientgo.observe.metrics import NO_METRICS, set_default_provider
from clientgo.observe.metrics.names import INFORMER_QUEUED_ITEMS
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.background import Background
from tests.cache.running import Notes
from tests.informers.fake_client import FakeClient
from tests.observe.metrics.recording import RecordingProvider
from tests.util.process.forking import in_child


def config_map(name: str, namespace: str = "ns") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, resource_version="1"))


def factory_of(client: FakeClient, **options: Any) -> SharedInformerFactory:
    return SharedInformerFactory(client, **options)  # type: ignore[arg-type]


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def threads() -> list[str]:
    """Return the threads of informers of ConfigMaps."""
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("ConfigMap"))


def started(factory: SharedInformerFactory, stop: threading.Event) -> None:
    factory.start(stop)
    assert all(factory.wait_for_cache_sync(stop).values())


def test_the_last_release_ends_threads_and_watch_and_frees_the_cache(
    stop: threading.Event,
) -> None:
    """FAC-12"""
    client = FakeClient(config_map("a"))
    factory = factory_of(client)
    one, two = factory.acquire(ConfigMap), factory.acquire(ConfigMap)
    one.add_event_handler(on_add=lambda obj: None)
    started(factory, stop)
    informer = weakref.ref(one.informer)
    assert one.informer is two.informer
    assert [obj.metadata.name for obj in two.lister.list()] == ["a"]

    one.release()

    assert informer().is_watching()  # type: ignore[union-attr]
    assert two.lister.namespace("ns").get("a").metadata.name == "a"

    two.release()

    assert threads() == []
    assert all(stream._stopped for stream in client._streams)
    assert factory.informers() == {}
    gc.collect()
    assert informer() is None
    factory.shutdown()


def test_the_server_is_watched_as_long_as_a_handle_is_held(stop: threading.Event) -> None:
    """FAC-12"""
    with EmbeddedAPIServer() as server, Client(server.url) as client:

        def watched() -> list[str]:
            client.discovery.invalidate()
            client.discovery.groups()  # a round trip: the server has seen what closed before
            return [watch.resource.plural for watch in server._cluster.state.watches._open]

        with SharedInformerFactory(client) as factory:
            with factory.acquire(ConfigMap) as handle, factory.acquire(Secret):
                started(factory, stop)
                assert handle.informer.has_synced()
                assert sorted(watched()) == ["configmaps", "secrets"]
                handle.release()
                assert _becomes(watched, ["secrets"])
            assert _becomes(watched, [])


def _becomes(read: Any, expected: Any) -> bool:
    """Read until the value is as expected; each read gives the server a turn."""
    return any(read() == expected for _ in range(10_000))


def test_a_handle_after_the_last_release_has_a_new_informer(stop: threading.Event) -> None:
    """FAC-12"""
    client = FakeClient(config_map("a"))
    with factory_of(client) as factory:
        first = factory.acquire(ConfigMap)
        started(factory, stop)
        old = first.informer
        first.release()
        client.objects.append(config_map("b"))

        second = factory.acquire(ConfigMap)
        started(factory, stop)

        assert second.informer is not old
        assert sorted(second.informer.indexer.list_keys()) == ["ns/a", "ns/b"]


def test_releasing_twice_is_harmless(stop: threading.Event) -> None:
    """FAC-12: each handle counts once, by whichever way it is released."""
    with factory_of(FakeClient()) as factory:
        one, two = factory.acquire(ConfigMap), factory.acquire(ConfigMap)
        started(factory, stop)

        for _ in range(3):
            one.release()
            factory.release(one)

        assert two.informer.is_watching()
        factory.release(two)
        assert threads() == []


def test_of_many_threads_that_release_a_handle_one_does(stop: threading.Event) -> None:
    """FAC-12"""
    with factory_of(FakeClient()) as factory:
        one, two = factory.acquire(ConfigMap), factory.acquire(ConfigMap)
        started(factory, stop)

        calls = [Background(one.release) for _ in range(8)]
        for call in calls:
            call.result()

        assert two.informer.is_watching()
        two.release()


def test_handles_that_come_and_go_in_many_threads_leave_nothing(stop: threading.Event) -> None:
    """FAC-12"""
    with factory_of(FakeClient()) as factory:

        def use() -> None:
            for _ in range(20):
                with factory.acquire(ConfigMap) as handle:
                    factory.start(stop)
                    assert not handle.informer.is_stopped()

        calls = [Background(use) for _ in range(4)]
        for call in calls:
            call.result()

        assert factory.informers() == {}
        assert threads() == []


@pytest.mark.parametrize("ask", ["informer_for", "lister_for", "for_resource"])
def test_an_informer_that_was_asked_for_without_a_handle_is_kept(
    stop: threading.Event, ask: str
) -> None:
    """FAC-12: before or after a handle was."""
    with factory_of(FakeClient(), scheme=Scheme([ConfigMap])) as factory:
        handle = factory.acquire(ConfigMap)
        kind: Any = resource_of(ConfigMap).gvr if ask == "for_resource" else ConfigMap
        getattr(factory, ask)(kind)
        started(factory, stop)
        informer = handle.informer

        handle.release()
        factory.acquire(ConfigMap).release()

        assert factory.informer_for(ConfigMap) is informer
        assert informer.is_watching()


def test_a_released_handle_says_so() -> None:
    """FAC-12: and keeps no cache alive."""
    handle = factory_of(FakeClient()).acquire(ConfigMap)
    handle.release()

    uses = [
        lambda: handle.informer,
        lambda: handle.lister,
        lambda: handle.add_event_handler(on_add=print),
    ]
    for use in uses:
        with pytest.raises(InformerStateError, match=r"handle of ConfigMap was released; acquire"):
            use()


def test_the_handlers_of_a_handle_end_with_it_and_those_of_others_do_not(
    stop: threading.Event,
) -> None:
    """FAC-12"""
    client, calls = FakeClient(), Notes()
    with factory_of(client) as factory:
        one, two = factory.acquire(ConfigMap), factory.acquire(ConfigMap)
        one.add_event_handler(on_add=lambda obj: calls(f"one {obj.metadata.name}"))
        two.add_event_handler(on_add=lambda obj: calls(f"two {obj.metadata.name}"))
        one.informer.add_event_handler(on_add=lambda obj: calls(f"its {obj.metadata.name}"))
        started(factory, stop)
        client.emit("ADDED", config_map("a"))
        calls.wait_for_count(3)

        one.release()
        client.emit("ADDED", config_map("b"))

        calls.wait_for_count(5)
        assert sorted(calls.notes[3:]) == ["its b", "two b"]
        assert len(two.informer.statistics().handlers) == 2


def test_a_release_waits_for_the_call_in_progress(stop: threading.Event) -> None:
    """FAC-12"""
    entered, leave = threading.Event(), threading.Event()

    def on_add(_obj: ConfigMap) -> None:
        entered.set()
        leave.wait(60)

    with factory_of(FakeClient(config_map("a"))) as factory:
        handle = factory.acquire(ConfigMap)
        handle.add_event_handler(on_add=on_add)
        factory.start(stop)
        assert entered.wait(60)

        release = Background(handle.release)

        assert release.is_running
        leave.set()
        release.result()
        assert threads() == []


@pytest.mark.parametrize("by", ["handle", "kind"])
def test_a_handler_may_release_its_own_informer(stop: threading.Event, by: str) -> None:
    """FAC-12: as one does that waits for one object. It does not wait for itself."""
    released = threading.Event()

    def on_add(_obj: ConfigMap) -> None:
        if by == "handle":
            handle.release()
        else:
            factory.release(ConfigMap)
        released.set()

    with factory_of(FakeClient(config_map("a"))) as factory:
        handle = factory.acquire(ConfigMap)
        handle.add_event_handler(on_add=on_add)
        factory.start(stop)

        assert released.wait(5), "less than a handler may take"
        assert factory.informers() == {}


def test_a_release_before_the_start_makes_no_informer_start(stop: threading.Event) -> None:
    """FAC-12"""
    client = FakeClient()
    with factory_of(client) as factory:
        handle = factory.acquire(ConfigMap)
        informer = handle.informer
        handle.release()
        factory.start(stop)

        assert client.lists + client.watches == []
        assert factory.informers() == {}
        assert informer.is_stopped()
        error = wait_for_cache_sync(stop, informer).as_error()
        assert "one has ended: ConfigMap (last error: it was stopped before its" in str(error)


def test_a_release_while_the_first_list_is_waited_for_ends_the_wait(stop: threading.Event) -> None:
    """FAC-12"""
    client = FakeClient()
    client.unserved = {"configmaps"}
    with factory_of(client) as factory:
        handle = factory.acquire(ConfigMap)
        factory.start(stop)
        wait = Background(lambda: factory.wait_for_cache_sync(stop))

        handle.release()

        assert wait.result() in ({ConfigMap: False}, {})
        assert threads() == []


def test_a_handle_of_an_informer_that_was_stopped_has_a_new_one(stop: threading.Event) -> None:
    """FAC-12: its start has ended, as at the end of a leadership, or its kind was released."""
    term = threading.Event()
    with factory_of(FakeClient()) as factory:
        old = factory.acquire(ConfigMap)
        started(factory, term)
        stopped = old.informer
        term.set()

        new = factory.acquire(ConfigMap)
        started(factory, stop)
        old.release()

        assert new.informer is not stopped
        assert new.informer.is_watching()

        factory.release(ConfigMap)
        again = factory.acquire(ConfigMap)
        started(factory, stop)
        new.release()
        assert again.informer.is_watching()


def test_handles_after_the_shutdown_are_harmless(stop: threading.Event) -> None:
    """FAC-12"""
    factory = factory_of(FakeClient())
    with factory.acquire(ConfigMap):
        started(factory, stop)
        factory.shutdown()
        assert threads() == []

    late = factory.acquire(ConfigMap)
    factory.start(stop)
    assert threads() == []
    late.release()


def test_factories_with_other_namespaces_have_handles_of_their_own(stop: threading.Event) -> None:
    """FAC-12: the identity of an informer is its factory and its kind."""
    client = FakeClient(config_map("a", "one"), config_map("b", "two"))
    with factory_of(client, namespace="one") as one, factory_of(client, namespace="two") as two:
        held = [one.acquire(ConfigMap), two.acquire(ConfigMap), one.acquire(Namespace)]
        started(one, stop)
        started(two, stop)

        held[0].release()

        assert held[1].informer.indexer.list_keys() == ["two/b"]
        assert [*one.informers()] == [Namespace]


@pytest.mark.parametrize("kind", [DynamicInformerFactory, MetadataInformerFactory])
def test_the_factories_of_any_resource_count_too(kind: type[DynamicInformerFactory]) -> None:
    """FAC-12: by group, version and resource, however it is named."""
    resource = resource_of(ConfigMap)
    with EmbeddedAPIServer() as server, Client(server.url) as client, kind(client) as factory:
        by_resource, by_name = factory.acquire(resource), factory.acquire(resource.gvr)
        v2 = factory.acquire(GroupVersionResource("", "v2", "configmaps"))

        assert by_resource.informer is by_name.informer
        assert v2.informer is not by_name.informer
        by_resource.release()
        assert resource.gvr in factory.informers()
        by_name.release()
        assert resource.gvr not in factory.informers()


@pytest.mark.parametrize("starts", [True, False], ids=["started", "not started"])
def test_metrics_go_and_come_back_under_the_name_of_the_factory(
    stop: threading.Event, caplog: pytest.LogCaptureFixture, *, starts: bool
) -> None:
    """FAC-12, CMT-01"""
    provider = RecordingProvider()
    set_default_provider(provider)
    try:
        with InformerName("mine") as name, factory_of(FakeClient(), informer_name=name) as factory:
            for _ in range(2):
                with factory.acquire(ConfigMap):
                    instrument = provider[INFORMER_QUEUED_ITEMS]
                    if starts:
                        started(factory, stop)
                    assert not instrument.removed
                assert instrument.removed
    finally:
        set_default_provider(NO_METRICS)
    assert caplog.messages == []


def test_a_handle_of_the_parent_fails_in_the_child_and_stays_in_the_parent(
    stop: threading.Event,
) -> None:
    """FAC-12"""

    def leave(handle: InformerHandle[ConfigMap]) -> str:
        with handle:
            pass
        return "left"

    with factory_of(FakeClient()) as factory, factory.acquire(ConfigMap) as handle:
        started(factory, stop)
        answers = [
            in_child(handle.release),
            in_child(lambda: handle.informer),
            in_child(lambda: factory.release(handle)),
        ]

        assert {answer.partition(" was made")[0] for answer in answers} == {
            "ForkedProcessError: the handle of ConfigMap"
        }
        assert in_child(lambda: leave(handle)) == "left"
        assert handle.informer.is_watching()
