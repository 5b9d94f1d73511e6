"""From a queue's changes to the store and the notifications."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown, Delta, DeltaType, Indexer, Replacement
from clientgo.cache.informer.controller import DeltaProcessor
from clientgo.cache.informer.notifications import Chunk, Kind, deliver
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.store.parts import PART
from clientgo.meta import labels_of
from tests.cache.builders import foo, refs
from tests.cache.running import RecordingHandler


def fails_on_bad(obj: Any) -> list[str]:
    if "bad" in labels_of(obj):
        raise ValueError("bad")
    return ["good"]


class Processing:
    """A processor over a store, and the notifications that it sent."""

    def __init__(self, *objs: Any, **options: Any) -> None:
        self.store: Indexer[Any] = Indexer(indexers={"fails_on_bad": fails_on_bad})
        self.store.replace(objs, "1")
        self.chunks: list[Chunk] = []
        self.quarantine = QuarantineLog("test")
        self.processor = DeltaProcessor(
            self.store, self.chunks.append, quarantine=self.quarantine, **options
        )

    def process(self, *changes: tuple[DeltaType, Any], initial: bool = False) -> list[str]:
        """Process one change per key, and return the notifications."""
        self.chunks.clear()
        self.processor.process([[Delta(kind, obj)] for kind, obj in changes], initial)
        recorder = RecordingHandler()
        for chunk in self.chunks:
            for notification in chunk.notifications:
                deliver(recorder, notification)
        return recorder.notes

    def replace(self, *objs: Any, initial: bool = False) -> list[str]:
        return self.process((DeltaType.REPLACED_ALL, Replacement(objs, "20")), initial=initial)


@pytest.mark.parametrize(
    "kind", [DeltaType.ADDED, DeltaType.UPDATED, DeltaType.REPLACED, DeltaType.SYNC]
)
class TestWhatTheStoreDoesNotHaveIsAdded:
    def test_does_not_depend_on_the_type_of_the_event(self, kind: DeltaType) -> None:
        """CTL-05, FIELD-19."""
        assert Processing().process((kind, foo("a"))) == ["+a@1"]

    def test_and_what_it_has_is_updated(self, kind: DeltaType) -> None:
        """CTL-05, FIELD-19."""
        processing = Processing(foo("a"))
        assert processing.process((kind, foo("a", 2))) == ["a@1→a@2"]
        assert refs(processing.store.list()) == ["a@2"]


def test_the_flag_of_the_initial_list_is_passed_on_and_counted() -> None:
    """INF-11, LIS-02."""
    processing = Processing(foo("b"))
    changes = (DeltaType.REPLACED, foo("a")), (DeltaType.REPLACED, foo("b", 2))
    assert processing.process(*changes, initial=True) == ["+a@1!", "b@1→b@2"]
    assert processing.chunks[0].initial == 1


def test_an_object_that_a_list_has_twice_is_added_once_in_its_later_state() -> None:
    """FIELD-19."""
    processing = Processing()
    assert processing.replace(foo("a", 1), foo("a", 2)) == ["+a@2"]
    assert refs(processing.store.list()) == ["a@2"]


def test_a_large_list_is_delivered_in_parts() -> None:
    """CTL-09: the store has all of it before; the parts are in order."""
    names = [f"a-{number}" for number in range(PART + 1)]
    processing = Processing(foo("gone"), foo(names[0]))
    delivered = processing.replace(*(foo(name, 2) for name in names), initial=True)
    assert delivered[:2] == ["†gone@1", f"{names[0]}@1→{names[0]}@2"]
    assert delivered[2:] == [f"+{name}@2!" for name in names[1:]]
    assert [chunk.initial for chunk in processing.chunks] == [PART - 2, 2]
    assert len(processing.process((DeltaType.SYNC_ALL, None))) == PART + 1
    assert [chunk.syncs for chunk in processing.chunks] == [PART, 1]


def test_a_deletion_is_delivered_even_if_the_store_has_no_such_object() -> None:
    """CTL-06."""
    processing = Processing(foo("a"))
    gone = DeletedFinalStateUnknown("ns/a", foo("a"))
    assert processing.process((DeltaType.DELETED, gone)) == ["†a@1"]
    assert processing.process((DeltaType.DELETED, foo("b"))) == ["-b@1"]
    assert processing.store.list() == []


def test_a_deletion_whose_state_is_unknown_has_the_state_of_the_store() -> None:
    """CTL-06: the last state that the server sent could not be decoded."""
    processing = Processing(foo("a"))
    gone = DeletedFinalStateUnknown("ns/a", None)
    assert processing.process((DeltaType.DELETED, gone)) == ["†a@1"]


@pytest.mark.parametrize("kind", [DeltaType.REPLACED, DeltaType.REPLACED_ALL])
def test_another_object_of_the_same_version_is_no_sync(kind: DeltaType) -> None:
    """INF-17: a server that took the place of another one counts from the beginning."""
    processing = Processing(foo("a", uid="first"))
    again = foo("a", uid="second")
    listed: Any = Replacement((again,), "20") if kind is DeltaType.REPLACED_ALL else again
    assert processing.process((kind, listed)) == ["a@1→a@1"]
    (chunk,) = processing.chunks
    assert chunk.without_syncs().notifications


def test_an_update_to_the_same_version_is_a_sync() -> None:
    """INF-17."""
    processing = Processing(foo("a"), foo("b"))
    processing.process((DeltaType.REPLACED, foo("a")), (DeltaType.UPDATED, foo("b", 2)))
    (chunk,) = processing.chunks
    assert [n[0] for n in chunk.notifications] == [Kind.SYNC, Kind.UPDATE]
    assert [n[0] for n in chunk.without_syncs().notifications] == [Kind.UPDATE]


def test_plain_dicts_are_compared_all_the_same() -> None:
    """INF-17."""
    plain = {"metadata": {"name": "p", "namespace": "ns", "resourceVersion": "1"}}
    processing = Processing(plain)
    processing.processor.process([[Delta(DeltaType.REPLACED, dict(plain))]], False)
    assert [n[0] for n in processing.chunks[0].notifications] == [Kind.SYNC]


def test_a_batch_reaches_the_store_before_any_notification() -> None:
    """CTL-09."""
    processing = Processing()
    sizes: list[int] = []
    processor = DeltaProcessor(
        processing.store,
        lambda chunk: sizes.append(len(processing.store.list())),
        quarantine=processing.quarantine,
    )
    processor.process([[Delta(DeltaType.ADDED, foo(name))] for name in "abc"], False)
    assert sizes == [3]


def test_the_changes_of_one_object_are_delivered_one_by_one() -> None:
    """CTL-05: a DeltaFIFO delivers several changes of a key together."""
    processing = Processing()
    deltas = [Delta(DeltaType.ADDED, foo("a")), Delta(DeltaType.UPDATED, foo("a", 2))]
    processing.processor.process([deltas], False)
    kinds = [n[0] for n in processing.chunks[0].notifications]
    assert kinds == [Kind.ADD, Kind.UPDATE]


class TestAnObjectThatTheStoreRefuses:
    BAD = foo("bad", labels={"bad": "yes"})

    def test_costs_only_itself(self) -> None:
        """CTL-09, CTL-10."""
        processing = Processing()
        recorder = processing.process((DeltaType.ADDED, self.BAD), (DeltaType.ADDED, foo("a")))
        assert recorder == ["+a@1"]
        assert processing.quarantine.count == 1

    def test_costs_only_itself_in_a_list(self) -> None:
        """CTL-07, CTL-10."""
        processing = Processing(foo("gone"), foo("b"))
        recorder = processing.replace(foo("a"), self.BAD, foo("b", 2))
        assert recorder == ["†gone@1", "+a@1", "b@1→b@2"]
        assert refs(processing.store.list()) == ["a@1", "b@2"]
        assert processing.store.last_store_sync_resource_version() == "20"

    def test_because_it_has_no_metadata_costs_only_itself_in_a_list(self) -> None:
        """CTL-07."""
        processing = Processing()
        assert processing.replace(foo("a"), 7) == ["+a@1"]
        assert processing.quarantine.count == 1


class TestAWholeList:
    def test_is_compared_with_the_store_when_it_is_processed(self) -> None:
        """CTL-07."""
        processing = Processing(foo("a"), foo("b"))
        assert processing.replace(foo("c"), foo("b", 2)) == ["†a@1", "+c@1", "b@1→b@2"]
        assert processing.store.last_store_sync_resource_version() == "20"

    def test_can_be_the_initial_one(self) -> None:
        """INF-11."""
        assert Processing().replace(foo("a"), initial=True) == ["+a@1!"]

    def test_that_is_empty_notifies_of_nothing(self) -> None:
        """CTL-07."""
        processing = Processing()
        assert processing.replace() == []
        assert processing.chunks == []


def test_a_resync_of_everything_notifies_of_every_object() -> None:
    """CTL-08."""
    processing = Processing(foo("a"), foo("b"))
    assert sorted(processing.process((DeltaType.SYNC_ALL, None))) == ["a@1→a@1", "b@1→b@1"]
    assert processing.chunks[0].syncs == 2


def test_a_bookmark_is_noted_in_the_store_and_not_delivered() -> None:
    """CTL-06."""
    processing = Processing()
    assert processing.process((DeltaType.BOOKMARK, "30")) == []
    assert processing.store.last_store_sync_resource_version() == "30"


class TestRecreation:
    OLD, NEW = foo("a", 1, uid="u1"), foo("a", 2, uid="u2")

    def test_is_an_update_by_default(self) -> None:
        """EVH-06."""
        assert Processing(self.OLD).process((DeltaType.UPDATED, self.NEW)) == ["a@1→a@2"]

    def test_can_be_a_deletion_and_an_addition(self) -> None:
        """FIELD-37."""
        processing = Processing(self.OLD, split_recreated=True)
        assert processing.process((DeltaType.UPDATED, self.NEW)) == ["†a@1", "+a@2"]

    def test_of_a_list_too_and_only_if_the_uid_differs(self) -> None:
        """FIELD-37."""
        processing = Processing(self.OLD, foo("b", 1, uid="u3"), split_recreated=True)
        recorder = processing.replace(self.NEW, foo("b", 2, uid="u3"))
        assert recorder == ["†a@1", "+a@2", "b@1→b@2"]
