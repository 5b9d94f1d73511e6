"""What a reflector can write to."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import Delta, DeltaFIFO, DeltaType, Indexer, RealFIFO, Reflector
from clientgo.cache.reflector.reflector_store import as_cache_store
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import foo, refs
from tests.cache.running import Notes, RecordingStore, no_delays, running

CHANGES = [
    Delta(DeltaType.ADDED, foo("a")),
    Delta(DeltaType.UPDATED, foo("a", 2)),
    Delta(DeltaType.DELETED, foo("b")),
]


def test_a_plain_store_gets_changes_one_by_one() -> None:
    """RFL-24, RFL-33."""
    store = RecordingStore()
    adapted = as_cache_store(store)
    adapted.apply(CHANGES)
    adapted.replace([foo("c")], "9")
    adapted.bookmark("10")
    assert store.calls.notes == ["add a@1", "update a@2", "delete b@1", "replace c@1 at 9"]


@pytest.mark.parametrize("make", [DeltaFIFO, RealFIFO, Indexer])
def test_queues_and_indexers_take_batches(make: Any) -> None:
    """RFL-33."""
    store = make()
    assert as_cache_store(store) is store


def test_what_an_indexer_refuses_leads_to_a_list() -> None:
    """RFL-25, RFL-33."""

    def refuse(obj: Any) -> list[str]:
        if obj.metadata.name == "bad":
            raise ValueError("no")
        return []

    store: Indexer[Any] = Indexer(indexers={"picky": refuse})
    source, errors = FakeSource([foo("a")], supports_watch_list=False), Notes()
    with running(Reflector(source, store, on_error=errors, delays=no_delays())):
        source.wait_for_watch()
        source.add(foo("bad"))
        errors.wait_for_count(1)
    assert "the store refused an event" in str(errors.notes[0])
    assert refs(store.list()) == ["a@1"]


def test_a_store_keeps_what_a_list_has_and_could_not_be_read() -> None:
    """RFL-25: an indexer, and a plain store that can be asked for its objects."""

    class Readable(RecordingStore):
        def get_by_key(self, key: str) -> Any | None:
            return foo("b", 1) if key == "ns/b" else None

    indexer: Indexer[Any] = Indexer()
    indexer.replace([foo("a", 1), foo("b", 1), foo("c", 1)], "8")
    readable, plain = Readable(), RecordingStore()
    for store in (indexer, readable, plain):
        as_cache_store(store).replace([foo("a", 2)], "9", ["ns/b", "ns/never-seen"])

    assert sorted(refs(indexer.list())) == ["a@2", "b@1"]
    assert readable.calls.notes == ["replace b@1 a@2 at 9"]
    assert plain.calls.notes == ["replace a@2 at 9"]


def test_a_store_that_notes_versions_gets_each_event_by_itself() -> None:
    """RFL-24, RFL-28, RFL-33."""

    class Noting(RecordingStore):
        def bookmark(self, version: str) -> None:
            self._note("bookmark", version)

        def update_resource_version(self, version: str) -> None:
            self._note("reached", version)

        def apply(self, changes: Any) -> None:
            self._note("apply", str(len(changes)))

    store, source = Noting(), FakeSource([foo("a")], supports_watch_list=False)
    with running(Reflector(source, store, delays=no_delays())):
        source.wait_for_watch()
        source.add(foo("b"))
        source.add(foo("c"))
        source.send_bookmark()
        store.calls.wait_for_count(7)
    assert store.calls.notes == [
        "replace a@1 at 1",
        *("apply 1", "reached 2"),
        *("apply 1", "reached 3"),
        *("bookmark 3", "reached 3"),
    ]
