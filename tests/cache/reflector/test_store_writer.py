"""What a reflector can write to."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import Delta, DeltaFIFO, DeltaType, Indexer, KeyFuncError
from clientgo.cache.reflector.state import Apply, Bookmark, Reached, Replace, Skip
from clientgo.cache.reflector.store_writer import StoreWriter
from tests.cache.builders import foo, refs
from tests.cache.running import RecordingStore

CHANGES = [
    Delta(DeltaType.ADDED, foo("a")),
    Delta(DeltaType.UPDATED, foo("a", 2)),
    Delta(DeltaType.DELETED, foo("b")),
]


def test_a_plain_store_gets_changes_one_by_one() -> None:
    """RFL-24, RFL-33."""
    store = RecordingStore()
    writer = StoreWriter(store)
    writer.deliver(Apply(CHANGES))
    writer.deliver(Replace([foo("c")], "9"))
    for ignored in (Bookmark("10"), Reached("10"), Skip(7, "why")):
        writer.deliver(ignored)
    assert store.calls.notes == ["add a@1", "update a@2", "delete b@1", "replace c@1 at 9"]
    assert not writer.takes_batches


def test_a_queue_takes_batches() -> None:
    """RFL-33."""
    queue = DeltaFIFO()
    writer = StoreWriter(queue)
    writer.deliver(Apply(CHANGES))
    assert writer.takes_batches
    assert queue.statistics().pending == 1


def test_an_indexer_takes_batches_and_what_it_refuses_is_raised() -> None:
    """RFL-25, RFL-33."""
    store: Indexer[Any] = Indexer()
    writer = StoreWriter(store)
    with pytest.raises(KeyFuncError):
        writer.deliver(Apply([Delta(DeltaType.ADDED, foo("a")), Delta(DeltaType.ADDED, 7)]))
    assert refs(store.list()) == ["a@1"]


def test_what_else_a_store_offers_is_used() -> None:
    """RFL-24, RFL-28, RFL-33."""

    class Offering(RecordingStore):
        def bookmark(self, version: str) -> None:
            self._note("bookmark", version)

        def update_resource_version(self, version: str) -> None:
            self._note("reached", version)

        def apply(self, changes: Any) -> None: ...

    store = Offering()
    writer = StoreWriter(store)
    writer.deliver(Bookmark("5"))
    writer.deliver(Reached("6"))
    assert store.calls.notes == ["bookmark 5", "reached 6"]
    assert not writer.takes_batches
