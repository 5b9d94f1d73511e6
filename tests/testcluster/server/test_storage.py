"""Objects, versions and the log of changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.nesting import MAX_NESTING
from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.storage import storage as storage_module
from clientgo.testcluster.server.storage.storage import Collection, Observer, Storage, object_key

KEY = ("", "configmaps")


def obj(name: str, value: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "value": value,
    }


def put(storage: Storage, name: str, value: int = 0) -> int:
    collection = storage.collection(KEY)
    return storage.put(collection, object_key("ns", name), obj(name, value), {}).resource_version


def names(items: Any) -> list[str]:
    return [item.key.partition("/")[2] for item in items]


class FakeWatcher:
    """Records the calls of the log."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.woken = 0
        self.dropped = False

    def wake(self) -> None:
        self.woken += 1

    def drop(self) -> None:
        self.dropped = True


def test_each_write_takes_the_next_version_and_is_encoded_with_it() -> None:
    storage = Storage()

    first, second = put(storage, "a"), put(storage, "b")

    assert second == first + 1
    stored = storage.collection(KEY).get("ns/a")
    assert stored is not None
    assert stored.decode()["metadata"]["resourceVersion"] == str(first)


def test_a_deletion_carries_the_last_state_under_a_version_of_its_own() -> None:
    storage = Storage()
    created = put(storage, "a", value=7)
    collection = storage.collection(KEY)

    final = storage.delete(collection, "ns/a")

    assert final.resource_version == created + 1
    assert final.decode()["value"] == 7
    assert collection.get("ns/a") is None
    [change] = collection.changes_from(collection.position_after(created), 10)
    assert change.type is EventType.DELETED


def test_a_namespace_is_scanned_without_its_neighbours() -> None:
    storage = Storage()
    collection = storage.collection(KEY)
    for namespace in ("a", "a-b", "ab"):
        storage.put(collection, object_key(namespace, "x"), obj("x"), {})

    assert [item.key for item in collection.scan("a")] == ["a/x"]
    assert [item.key for item in collection.scan()] == ["a-b/x", "a/x", "ab/x"]


def test_a_scan_continues_after_a_key() -> None:
    storage = Storage()
    for name in "abc":
        put(storage, name)

    assert names(storage.collection(KEY).scan("ns", after="ns/a")) == ["b", "c"]


def test_the_past_is_found_by_undoing_the_log() -> None:
    storage = Storage()
    put(storage, "a", 1)
    then = put(storage, "c", 1)
    put(storage, "a", 2)
    put(storage, "b", 1)
    collection = storage.collection(KEY)
    storage.delete(collection, "ns/c")

    past = collection.scan_at(then)

    assert [(item.key, item.decode()["value"]) for item in past] == [("ns/a", 1), ("ns/c", 1)]


def test_watchers_are_woken_by_each_change() -> None:
    storage = Storage()
    watcher = FakeWatcher(position=0)
    storage.collection(KEY).watchers.add(watcher)

    put(storage, "a")
    put(storage, "a", 1)

    assert watcher.woken == 2


def test_a_watcher_that_the_log_has_passed_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "HISTORY_CHANGES", 8)
    storage = Storage()
    collection = storage.collection(KEY)
    slow = FakeWatcher(position=collection.log_end)
    collection.watchers.add(slow)

    versions = [put(storage, "a", value) for value in range(9)]

    assert slow.dropped
    assert versions[0] < collection.expired + 1 <= versions[-1]


def test_few_large_objects_shorten_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "HISTORY_BYTES", 1000)
    storage = Storage()

    first = put(storage, "a")
    for value in range(10):
        put(storage, "a", value)

    assert storage.collection(KEY).expired > first


def test_an_expired_log_starts_after_the_present() -> None:
    storage = Storage()
    version = put(storage, "a")

    storage.expire_history()

    assert storage.collection(KEY).expired == version
    assert names(storage.collection(KEY).scan()) == ["a"]


def test_an_observer_is_called_for_the_collections_that_it_follows() -> None:
    storage = Storage()
    seen: list[tuple[str, str]] = []
    put(storage, "a")

    def observer(of: str) -> Observer:
        return lambda _, change: seen.append((of, change.current.key))

    storage.observe(observer("all"))
    storage.observe(observer("others"), ("", "others"), ("", "more"))
    put(storage, "b")
    storage.put(storage.collection(("", "more")), "ns/c", obj("c"), {})

    assert seen == [("all", "ns/b"), ("all", "ns/c"), ("others", "ns/c")]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["put", "delete"])), max_size=40)
)
def test_every_remembered_version_can_be_listed_as_it_was(steps: list[tuple[str, str]]) -> None:
    storage = Storage()
    collection: Collection = storage.collection(KEY)
    states = {storage.version: dict[str, int]()}
    current: dict[str, int] = {}
    for value, (name, action) in enumerate(steps):
        if action == "put":
            put(storage, name, value)
            current[name] = value
        elif name in current:
            storage.delete(collection, f"ns/{name}")
            del current[name]
        states[storage.version] = dict(current)

    for version, expected in states.items():
        found = {item.key[3:]: item.decode()["value"] for item in collection.scan_at(version)}
        assert found == expected


def test_a_state_that_is_nested_too_deep_takes_no_version() -> None:
    storage = Storage()
    first = put(storage, "a")
    deep: list[Any] = []
    for _ in range(MAX_NESTING):
        deep = [deep]

    with pytest.raises(RecursionError, match="levels"):
        storage.put(storage.collection(KEY), "ns/b", obj("b") | {"deep": deep}, {})

    assert put(storage, "b") == first + 1
