"""Objects by explicit key."""

from __future__ import annotations

import pytest

from clientgo.cache import IndexFuncError, ThreadSafeStore, UnknownIndexError
from tests.cache.builders import Foo, foo, refs


def by_name(obj: Foo) -> list[str]:
    return [obj.metadata.name]


def broken(obj: Foo) -> list[str]:
    raise ZeroDivisionError


def test_keys_are_what_the_caller_says() -> None:
    """IDX-01."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore({"name": by_name})
    store.add("one", foo("a", rv=1))
    store.update("one", foo("a", rv=2))
    store.add("two", foo("a", rv=3))

    assert sorted(store.list_keys()) == ["one", "two"]
    assert refs(store.list()) == ["a@2", "a@3"]
    assert store.index_keys("name", "a") == ["one", "two"]
    assert refs(store.index("name", foo("a"))) == ["a@2", "a@3"]

    store.delete("one")
    store.delete("unknown")
    assert refs(store.by_index("name", "a")) == ["a@3"]
    assert store.get("one") is None


def test_a_batch_writes_in_order_and_returns_what_was_there() -> None:
    """STO-07: None removes."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore()
    first, second = foo("a", rv=1), foo("a", rv=2)
    assert store.apply(["k", "k", "k", "k"], [first, second, None, None], "9") == [
        None,
        first,
        second,
        None,
    ]
    assert store.last_store_sync_resource_version() == "9"


def test_only_writes_that_say_so_move_the_version() -> None:
    """STO-08, IDX-13."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore()
    store.replace({"k": foo("a")}, "5")
    store.delete("k")
    store.add("k", foo("a", rv=7))
    assert store.last_store_sync_resource_version() == "5"
    store.bookmark("8")
    assert store.last_store_sync_resource_version() == "8"


def test_an_object_can_be_checked_before_it_is_written() -> None:
    """IDX-10."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore({"broken": broken})
    with pytest.raises(IndexFuncError):
        store.check("k", foo("a"))
    with pytest.raises(IndexFuncError):
        store.apply(["k", "l"], [None, foo("a")])
    assert store.list() == []


def test_without_indexers_there_are_none() -> None:
    """IDX-12."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore()
    assert store.get_indexers() == {}
    with pytest.raises(UnknownIndexError, match="none"):
        store.by_index("name", "a")


def test_what_is_replaced_is_a_copy_of_what_was_given() -> None:
    """STO-05: the caller may change its mapping afterwards."""
    store: ThreadSafeStore[Foo] = ThreadSafeStore()
    items = {"k": foo("a")}
    store.replace(items, "1")
    items.clear()
    assert refs(store.list()) == ["a@1"]
