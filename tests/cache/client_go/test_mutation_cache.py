"""Reading one's own writes."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.cache import (
    DeletedFinalStateUnknown,
    Indexer,
    MutationCache,
    UnknownIndexError,
    meta_namespace_index,
)
from clientgo.testing import FakeClock
from tests.cache.builders import Foo, foo, ref, refs


class Caches:
    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.store: Indexer[Foo] = Indexer(indexers={"namespace": meta_namespace_index})
        self.cache: MutationCache[Foo] = MutationCache(self.store, clock=self.clock, **options)

    def get(self, name: str) -> str | None:
        obj = self.cache.get_by_key(f"ns/{name}")
        return None if obj is None else ref(obj)

    def listed(self) -> list[str]:
        return refs(self.cache.by_index("namespace", "ns"))


@pytest.mark.parametrize(
    ("stored", "written", "read"), [(1, 2, "a@2"), (2, 2, "a@2"), (3, 2, "a@3"), (9, 10, "a@10")]
)
def test_the_newer_of_store_and_write_is_read(stored: int, written: int, read: str) -> None:
    """MTC-01, MTC-02, MTC-03: as numbers."""
    caches = Caches()
    caches.store.add(foo("a", rv=stored))
    caches.cache.mutation(foo("a", rv=written))
    assert caches.get("a") == read
    assert caches.listed() == [read]


def test_a_write_that_the_store_has_caught_up_with_is_forgotten() -> None:
    """MTC-02."""
    caches = Caches()
    caches.cache.mutation(foo("a", rv=5))
    caches.store.add(foo("a", rv=5))
    assert caches.get("a") == "a@5"
    caches.store.update(foo("a", rv=4))
    assert caches.get("a") == "a@4"


@pytest.mark.parametrize(("include_adds", "read"), [(False, None), (True, "a@2")])
def test_what_the_store_does_not_have_is_read_only_on_request(
    include_adds: bool, read: str | None
) -> None:
    """MTC-02, MTC-03."""
    caches = Caches(include_adds=include_adds)
    caches.cache.mutation(foo("a", rv=2))
    caches.cache.mutation(foo("b", rv=3, namespace="other"))
    assert caches.get("a") == read
    assert caches.listed() == ([read] if read else [])


def test_an_index_must_exist() -> None:
    """MTC-03."""
    with pytest.raises(UnknownIndexError):
        Caches().cache.by_index("nope", "x")


def test_writes_are_forgotten_after_a_while() -> None:
    """MTC-01."""
    caches = Caches(include_adds=True, ttl=300.0)
    caches.cache.mutation(foo("a"))
    caches.clock.step(299.0)
    assert caches.get("a") == "a@1"
    caches.clock.step(1.0)
    assert caches.get("a") is None
    assert caches.listed() == []


def test_the_least_recently_used_write_is_forgotten_first() -> None:
    """MTC-01."""
    caches = Caches(include_adds=True, capacity=2)
    caches.cache.mutation(foo("a"))
    caches.cache.mutation(foo("b"))
    caches.get("a")
    caches.cache.mutation(foo("c"))
    assert caches.listed() == ["a@1", "c@1"]


def test_an_older_write_does_not_replace_a_newer_one() -> None:
    """MTC-04."""
    caches = Caches(include_adds=True)
    caches.cache.mutation(foo("a", rv=5))
    caches.cache.mutation(foo("a", rv=4))
    assert caches.get("a") == "a@5"
    caches.cache.mutation(foo("a", rv=6))
    assert caches.get("a") == "a@6"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (foo("a", rv=7, uid="old"), None),
        (foo("a", rv=5, uid="new"), None),
        (foo("a", rv=9, uid="new"), "a@9"),
    ],
)
def test_a_write_does_not_bring_back_what_was_deleted(written: Foo, read: str | None) -> None:
    """MTC-04: unless it is another object of that name."""
    caches = Caches(include_adds=True)
    caches.cache.on_delete(foo("a", rv=5, uid="old"))
    caches.cache.mutation(written)
    assert caches.get("a") == read


@pytest.mark.parametrize(("seen", "kept"), [(4, True), (5, False), (6, False)])
def test_the_watch_overtakes_a_write(seen: int, kept: bool) -> None:
    """MTC-05."""
    caches = Caches(include_adds=True)
    caches.cache.mutation(foo("a", rv=5))
    caches.cache.on_add_or_update(foo("a", rv=seen))
    assert (caches.get("a") == "a@5") is kept


@pytest.mark.parametrize(
    ("deleted", "kept"),
    [
        (foo("a", rv=6, uid="x"), False),
        (foo("a", rv=5, uid="x"), False),
        (foo("a", rv=4, uid="x"), False),
        (foo("a", rv=4, uid="y"), True),
        (foo("a", rv=6, uid="y"), False),
        (DeletedFinalStateUnknown("ns/a", foo("a", rv=4, uid="y")), True),
        (DeletedFinalStateUnknown("ns/a", None), False),
    ],
)
def test_a_deletion_ends_the_writes_of_the_same_object(deleted: Any, kept: bool) -> None:
    """MTC-05."""
    caches = Caches(include_adds=True)
    caches.cache.mutation(foo("a", rv=5, uid="x"))
    caches.cache.on_delete(deleted)
    assert (caches.get("a") == "a@5") is kept


def test_a_deletion_mark_does_not_hide_what_the_store_has() -> None:
    """MTC-02: an object that was created anew."""
    caches = Caches(include_adds=True)
    caches.cache.on_delete(foo("a", rv=5, uid="x"))
    caches.store.add(foo("a", rv=8, uid="y"))
    assert caches.get("a") == "a@8"
    caches.cache.on_add_or_update(foo("a", rv=8, uid="y"))
    assert caches.get("a") == "a@8"


def test_what_has_no_key_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    """MTC-04."""
    caches = Caches()
    with caplog.at_level(logging.ERROR, "clientgo.cache"):
        caches.cache.mutation(5)  # type: ignore[arg-type]
        caches.cache.on_add_or_update(5)  # type: ignore[arg-type]
        caches.cache.on_delete(5)
    assert len(caplog.records) == 3


def test_a_version_must_be_a_number() -> None:
    """MTC-01: a missing one counts as zero."""
    caches = Caches(include_adds=True)
    caches.cache.mutation(foo("a", rv=""))
    caches.cache.mutation(foo("a", rv=1))
    assert caches.get("a") == "a@1"
    with pytest.raises(ValueError, match="abc"):
        caches.cache.mutation(foo("a", rv="abc"))
