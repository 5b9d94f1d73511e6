"""A store whose objects grow old."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import ExpirationCache, ttl_policy
from clientgo.testing import FakeClock
from tests.cache.builders import Foo, foo, refs


def cache(clock: FakeClock, ttl: float = 60.0) -> ExpirationCache[Foo]:
    return ExpirationCache(ttl_policy(ttl), clock=clock)


@pytest.mark.parametrize(("age", "alive"), [(59.0, True), (60.0, True), (60.001, False)])
def test_an_object_expires_when_it_is_older_than_its_time_to_live(age: float, alive: bool) -> None:
    """EXP-02."""
    clock = FakeClock()
    store = cache(clock)
    store.add(foo("a"))
    clock.step(age)
    assert (store.get_by_key("ns/a") is not None) is alive


@pytest.mark.parametrize("ttl", [0.0, -1.0])
def test_without_a_time_to_live_nothing_expires(ttl: float) -> None:
    """EXP-02."""
    clock = FakeClock()
    store = cache(clock, ttl)
    store.add(foo("a"))
    clock.step(1e9)
    assert store.get(foo("a")) is not None


@pytest.mark.parametrize("write", ["add", "update"])
def test_storing_an_object_again_restarts_its_age(write: str) -> None:
    """EXP-01, EXP-05."""
    clock = FakeClock()
    store = cache(clock)
    store.add(foo("a", rv=1))
    clock.step(50.0)
    getattr(store, write)(foo("a", rv=2))
    clock.step(50.0)
    assert refs(store.list()) == ["a@2"]


def test_the_objects_of_a_replacement_are_of_one_age() -> None:
    """EXP-01."""
    clock = FakeClock()
    store = cache(clock)
    store.add(foo("a"))
    clock.step(50.0)
    store.replace([foo("a"), foo("b")], "1")
    clock.step(60.0)
    assert refs(store.list()) == ["a@1", "b@1"]
    clock.step(0.001)
    assert store.list() == []


def test_expired_objects_go_when_they_are_met() -> None:
    """EXP-03, EXP-04."""
    clock = FakeClock()
    store = cache(clock)
    store.add(foo("a"))
    clock.step(61.0)
    store.add(foo("b"))

    assert sorted(store.list_keys()) == ["ns/a", "ns/b"]
    assert refs(store.list()) == ["b@1"]
    assert store.list_keys() == ["ns/b"]


def test_only_deletions_replacements_and_bookmarks_move_the_version() -> None:
    """EXP-06."""
    store = cache(FakeClock())
    store.replace([], "10")
    store.add(foo("a", rv=11))
    assert store.last_store_sync_resource_version() == "10"
    store.delete(foo("a", rv=12))
    assert store.last_store_sync_resource_version() == "12"
    store.bookmark("13")
    assert store.last_store_sync_resource_version() == "13"


def test_the_policy_is_the_users() -> None:
    """EXP-06."""

    def only_a_expires(obj: Any, age: float) -> bool:
        return bool(obj.metadata.name == "a")

    store: ExpirationCache[Foo] = ExpirationCache(only_a_expires, clock=FakeClock())
    store.replace([foo("a"), foo("b")], "1")
    store.resync()
    assert refs(store.list()) == ["b@1"]
