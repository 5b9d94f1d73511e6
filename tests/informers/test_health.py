"""What probes say of informers: a restart is asked for only where it helps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import SharedIndexInformer, wait_for_cache_sync
from clientgo.informers import SharedInformerFactory, check_alive, check_synced, health
from clientgo.informers.health import UnhealthyError
from clientgo.meta import ForbiddenError
from clientgo.testing import FakeClient

STOP = threading.Event()


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def factory(client: FakeClient) -> Iterator[SharedInformerFactory]:
    with SharedInformerFactory(client) as factory:
        yield factory


@pytest.fixture
def informer(factory: SharedInformerFactory) -> SharedIndexInformer[ConfigMap]:
    return factory.informer_for(ConfigMap)


def test_before_the_first_list_it_is_alive_and_not_synced(
    informer: SharedIndexInformer[ConfigMap],
) -> None:
    check_alive(informer)
    with pytest.raises(UnhealthyError, match="the cache of ConfigMap is empty"):
        check_synced(informer)


def test_with_its_first_list_it_is_both(
    factory: SharedInformerFactory, informer: SharedIndexInformer[ConfigMap]
) -> None:
    factory.start(STOP)
    assert wait_for_cache_sync(STOP, informer)

    check_alive(informer)
    check_synced(informer)


def test_a_server_that_refuses_lists_is_no_reason_for_a_restart(
    client: FakeClient, factory: SharedInformerFactory, informer: SharedIndexInformer[ConfigMap]
) -> None:
    refused = threading.Event()

    def refuse(_: Any) -> None:
        refused.set()
        raise ForbiddenError.of("not you")

    client.prepend_reactor("list", "configmaps", refuse)
    factory.start(STOP)
    assert refused.wait(30)

    check_alive(informer)
    with pytest.raises(UnhealthyError):
        check_synced(informer)


def test_one_that_has_ended_is_not_alive(
    factory: SharedInformerFactory, informer: SharedIndexInformer[ConfigMap]
) -> None:
    factory.start(STOP)
    assert wait_for_cache_sync(STOP, informer)
    factory.shutdown()

    with pytest.raises(UnhealthyError, match="the informer of ConfigMap has ended"):
        check_alive(informer)


def test_one_that_receives_nothing_is_not_alive(
    factory: SharedInformerFactory,
    informer: SharedIndexInformer[ConfigMap],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factory.start(STOP)
    assert wait_for_cache_sync(STOP, informer)
    monkeypatch.setattr(health, "LONGEST_SILENCE", -1.0)

    with pytest.raises(UnhealthyError, match="the informer of ConfigMap received nothing for"):
        check_alive(informer)
