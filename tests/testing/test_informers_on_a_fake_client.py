"""A dynamic informer factory as a test uses it: on a fake client."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from clientgo.cache import NAMESPACE_INDEX
from clientgo.informers import DynamicInformerFactory
from clientgo.meta import GroupVersionResource, NotFoundError
from clientgo.testing import FakeClient
from tests.testing.builders import DYNAMIC_PODS, pod


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_resource_has_one_informer_with_an_index_and_a_lister(stop: threading.Event) -> None:
    """DYN-05."""
    with DynamicInformerFactory(FakeClient(pod("a"))) as factory:
        pods = factory.for_resource(DYNAMIC_PODS)
        assert factory.for_resource(DYNAMIC_PODS).informer is pods.informer

        factory.start(stop)
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        names = [thread.name for thread in threading.enumerate()]
        assert names.count(f"{pods.informer.name} reflector") == 1
        assert len(pods.informer.indexer.by_index(NAMESPACE_INDEX, "ns")) == 1
        assert pods.lister.namespace("ns").get("a").metadata.name == "a"
        with pytest.raises(NotFoundError, match="b"):
            pods.lister.namespace("ns").get("b")


def test_shutdown_waits_for_threads_and_starts_no_more(stop: threading.Event) -> None:
    """DYN-05."""
    before = set(threading.enumerate())
    client = FakeClient()
    factory = DynamicInformerFactory(client)
    factory.for_resource(DYNAMIC_PODS)
    factory.start(stop)
    factory.wait_for_cache_sync(stop)

    factory.shutdown()
    left = set(threading.enumerate()) - before
    late = factory.for_resource(GroupVersionResource("example.com", "v1", "widgets"))
    factory.start(stop)

    assert {thread for thread in left if thread.name != "stop-watcher"} == set()
    assert late.informer.statistics().reflector is None
    assert {action.resource.resource for action in client.actions()} == {"pods"}
