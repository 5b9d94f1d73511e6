"""The queue that gathers the changes of each object."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import (
    ChangeError,
    DeletedFinalStateUnknown,
    Delta,
    DeltaFIFO,
    Deltas,
    DeltaType,
    KeyFuncError,
    newest,
    oldest,
)
from clientgo.cache.queues.handover import EmptyDeltasError
from clientgo.meta import Unstructured
from tests.cache.builders import foo
from tests.cache.queue_entries import Store, drain, take, take_batch
from tests.collected import is_visited

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


def ghost(name: str, rv: int = 1) -> DeletedFinalStateUnknown:
    return DeletedFinalStateUnknown(f"ns/{name}", foo(name, rv=rv))


def test_the_oldest_and_newest_of_no_deltas_is_none() -> None:
    """DFI-01."""
    first, last = Delta(ADDED, foo("a")), Delta(DELETED, foo("a"))
    assert (oldest([first, last]), newest([first, last])) == (first, last)
    assert oldest([]) is None
    assert newest([]) is None


def test_changes_wait_at_the_place_of_their_keys_first() -> None:
    """DFI-02, DFI-03."""
    queue = DeltaFIFO()
    queue.add(foo("a", rv=1))
    queue.update(foo("b", rv=1))
    queue.update(foo("a", rv=2))

    assert take(queue) == ["Added a@1", "Updated a@2"]
    queue.update(foo("a", rv=3))
    assert drain(queue) == [["Updated b@1"], ["Updated a@3"]]


class TestDelete:
    def test_the_deletion_of_something_unknown_is_dropped(self) -> None:
        """DFI-04: but it counts as content."""
        queue = DeltaFIFO(known_objects=Store())
        queue.delete(foo("a"))
        assert queue.statistics().pending == 0
        assert queue.has_synced()

    def test_the_deletion_of_something_known_is_queued(self) -> None:
        """DFI-04."""
        queue = DeltaFIFO(known_objects=Store(foo("a")))
        queue.delete(foo("a", rv=2))
        assert drain(queue) == [["Deleted a@2"]]

    def test_a_failing_look_up_counts_as_known(self) -> None:
        """DFI-04."""

        class Broken(Store):
            def get_by_key(self, key: str) -> Any | None:
                raise RuntimeError(key)

        queue = DeltaFIFO(known_objects=Broken())
        queue.delete(foo("a", rv=2))
        assert drain(queue) == [["Deleted a@2"]]

    @pytest.mark.parametrize(
        ("first", "second", "kept"),
        [
            (foo("a", rv=2), foo("a", rv=3), "Deleted a@2"),
            (foo("a", rv=2), ghost("a", rv=1), "Deleted a@2"),
            (ghost("a", rv=1), foo("a", rv=3), "Deleted a@3"),
            (ghost("a", rv=1), ghost("a", rv=2), "Deleted †ns/a(a@2)"),
        ],
    )
    def test_of_two_deletions_in_a_row_the_better_one_is_kept(
        self, first: Any, second: Any, kept: str
    ) -> None:
        """DFI-05."""
        queue = DeltaFIFO()
        queue.add(foo("a", rv=1))
        queue.delete(first)
        queue.delete(second)
        assert drain(queue) == [["Added a@1", kept]]

    def test_deletions_with_something_between_them_both_stay(self) -> None:
        """DFI-05."""
        queue = DeltaFIFO()
        queue.add(foo("a", rv=1))
        queue.delete(foo("a", rv=2))
        queue.add(foo("a", rv=3))
        queue.delete(foo("a", rv=4))
        assert len(take(queue)) == 4


class TestReplace:
    def test_a_list_after_a_deletion_brings_the_object_back(self) -> None:
        """DFI-06."""
        queue = DeltaFIFO(known_objects=Store(foo("a")))
        queue.delete(foo("a", rv=2))
        queue.replace([foo("a", rv=3)], "3")
        assert drain(queue) == [["Deleted a@2", "Replaced a@3"]]

    def test_what_is_pending_or_known_but_not_listed_is_deleted_afterwards(self) -> None:
        """DFI-07, DFI-08."""
        queue = DeltaFIFO(known_objects=Store(foo("known", rv=1), foo("both", rv=1)))
        queue.add(foo("pending", rv=2))
        queue.update(foo("both", rv=2))
        queue.replace([foo("new", rv=5)], "5")

        assert drain(queue) == [
            ["Added pending@2", "Deleted †ns/pending(pending@2)"],
            ["Updated both@2", "Deleted †ns/both(both@2)"],
            ["Replaced new@5"],
            ["Deleted †ns/known(known@1)"],
        ]

    def test_a_tombstone_within_a_tombstone_is_unwrapped(self) -> None:
        """DFI-07."""
        queue = DeltaFIFO(known_objects=Store(foo("a")))
        queue.delete(ghost("a", rv=1))
        queue.replace([], "5")
        assert drain(queue) == [["Deleted †ns/a(a@1)"]]

    def test_a_known_key_without_an_object_is_deleted_without_a_state(self) -> None:
        """DFI-07."""

        class Haunted(Store):
            def list_keys(self) -> list[str]:
                return ["ns/a"]

        queue = DeltaFIFO(known_objects=Haunted())
        queue.replace([], "5")
        assert drain(queue) == [["Deleted †ns/a()"]]

    def test_an_object_that_could_not_be_read_is_not_deleted(self) -> None:
        """DFI-07: what is known or pending stays; a list without it deletes it."""
        queue = DeltaFIFO(known_objects=Store(foo("known"), foo("gone")))
        queue.add(foo("pending", rv=2))
        queue.replace([foo("a", rv=5)], "5", {"ns/known", "ns/pending", "ns/never-seen"})
        assert drain(queue) == [["Added pending@2"], ["Replaced a@5"], ["Deleted †ns/gone(gone@1)"]]

        queue.replace([foo("a", rv=5)], "6")
        assert ["Deleted †ns/known(known@1)"] in drain(queue)

    def test_the_garbage_collector_has_nothing_to_look_at(self) -> None:
        """DFI-06: a list of a million would stop all threads for a tenth of a second."""
        queue = DeltaFIFO()
        queue.replace([foo(f"a-{number}") for number in range(3000)], "7")
        queue.update(foo("b"))
        assert queue.statistics().pending == 3001
        assert not is_visited(queue._items)

    def test_an_object_that_is_listed_twice_comes_twice(self) -> None:
        """DFI-02."""
        queue = DeltaFIFO()
        queue.replace([foo("a", rv=1), foo("b", rv=2), foo("a", rv=3)], "7")
        assert drain(queue) == [["Replaced a@1", "Replaced a@3"], ["Replaced b@2"]]

    def test_a_failure_keeps_what_came_before_and_deletes_nothing(self) -> None:
        """DFI-09."""
        queue = DeltaFIFO(known_objects=Store(foo("known")))
        with pytest.raises(ChangeError) as caught:
            queue.replace([foo("a"), 5, foo("b")], "5")

        assert caught.value.index == 1
        assert caught.value.obj == 5
        assert isinstance(caught.value.__cause__, KeyFuncError)
        assert drain(queue) == [["Replaced a@1"]]
        assert not queue.has_synced()


class TestSync:
    def test_a_queue_without_content_is_not_in_sync(self) -> None:
        """DFI-11."""
        queue = DeltaFIFO(name="foos")
        assert not queue.has_synced()
        checker = queue.has_synced_checker()
        assert checker.name == "foos"
        assert not checker.is_done()

    @pytest.mark.parametrize("write", ["add", "update", "delete"])
    def test_a_first_single_change_means_in_sync(self, write: str) -> None:
        """DFI-10, DFI-11."""
        queue = DeltaFIFO()
        getattr(queue, write)(foo("a"))
        queue.replace([foo("a")], "1")
        assert queue.has_synced()

    def test_a_first_empty_list_means_in_sync(self) -> None:
        """DFI-11."""
        queue = DeltaFIFO(known_objects=Store())
        queue.replace([], "1")
        assert queue.has_synced_checker().done.is_set()

    def test_every_key_of_the_first_list_and_its_deletions_count(self) -> None:
        """DFI-10, DFI-12: equal keys once; later lists don't count."""
        queue = DeltaFIFO(known_objects=Store(foo("gone")))
        queue.replace([foo("a", rv=1), foo("a", rv=2), foo("b")], "1")
        queue.replace([foo("c"), foo("d"), foo("e")], "2")
        assert queue.statistics().initial_remaining == 3

        flags = []
        while queue.statistics().pending:
            queue.pop(lambda deltas, initial: flags.append(initial))
            assert queue.has_synced() is (len(flags) >= 3)
        assert flags == [True] * 3 + [False] * 3

    def test_the_last_item_of_the_list_has_been_processed_by_then(self) -> None:
        """DFI-13: upstream sets the event before."""
        queue = DeltaFIFO()
        queue.replace([foo("a")], "1")
        during = []
        queue.pop(lambda deltas, initial: during.append(queue.has_synced()))
        assert during == [False]
        assert queue.has_synced()

    def test_a_batch_does_not_reach_beyond_the_initial_list(self) -> None:
        """DFI-12, RFI-12."""
        queue = DeltaFIFO()
        queue.replace([foo("a"), foo("b")], "1")
        queue.add(foo("c"))

        assert take_batch(queue) == ([["Replaced a@1"], ["Replaced b@1"]], True, "batch")
        assert take_batch(queue) == ([["Added c@1"]], False, "single")

    def test_what_is_processed_while_the_first_list_arrives_does_not_count(self) -> None:
        """DFI-10: a resync may have been popped before the first list."""
        queue = DeltaFIFO(known_objects=Store(foo("a")))
        queue.resync()
        queue.pop(lambda deltas, initial: queue.replace([foo("a"), foo("b")], "1"))
        assert queue.statistics().initial_remaining == 2


class TestPop:
    def test_a_failed_entry_is_gone(self) -> None:
        """DFI-14."""
        queue = DeltaFIFO()
        queue.replace([foo("a")], "1")

        def fail(deltas: Deltas, initial: bool) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            queue.pop(fail)
        assert queue.statistics().pending == 0
        assert queue.has_synced()

    def test_a_batch_is_cut_at_the_limit(self) -> None:
        """DFI-12."""
        queue = DeltaFIFO()
        for name in "abcde":
            queue.add(foo(name))
        queue.update(foo("a", rv=2))
        assert take_batch(queue, 2)[0] == [["Added a@1", "Updated a@2"], ["Added b@1"]]
        queue.update(foo("a", rv=3))
        assert take_batch(queue)[0] == [
            ["Added c@1"],
            ["Added d@1"],
            ["Added e@1"],
            ["Updated a@3"],
        ]


class TestResync:
    def test_known_objects_without_pending_changes_come_once_more(self) -> None:
        """DFI-15."""
        queue = DeltaFIFO(known_objects=Store(foo("a"), foo("b")))
        queue.delete(foo("b", rv=2))
        queue.resync()
        assert drain(queue) == [["Deleted b@2"], ["Sync a@1"]]
        DeltaFIFO().resync()

    def test_a_look_up_that_fails_skips_the_key(self) -> None:
        """DFI-15."""

        class Haunted(Store):
            def list_keys(self) -> list[str]:
                return ["ns/missing", "ns/broken", "ns/a"]

            def get_by_key(self, key: str) -> Any | None:
                if key == "ns/broken":
                    raise RuntimeError
                return super().get_by_key(key)

        queue = DeltaFIFO(known_objects=Haunted(foo("a")))
        queue.resync()
        assert drain(queue) == [["Sync a@1"]]


class TestApply:
    def test_changes_are_queued_in_order(self) -> None:
        """DFI-02, DFI-04."""
        queue = DeltaFIFO(known_objects=Store(foo("k")))
        queue.apply(
            [
                Delta(ADDED, foo("a")),
                Delta(DELETED, foo("k")),
                Delta(DELETED, foo("x")),
                Delta(UPDATED, foo("a", rv=2)),
            ]
        )
        assert drain(queue) == [["Added a@1", "Updated a@2"], ["Deleted k@1"]]

    def test_a_failure_names_its_place_and_keeps_what_came_before(self) -> None:
        """KEY-05."""
        queue = DeltaFIFO()
        with pytest.raises(ChangeError) as caught:
            queue.apply([Delta(ADDED, foo("a")), Delta(UPDATED, 5), Delta(ADDED, foo("b"))])

        assert caught.value.index == 1
        assert isinstance(caught.value.__cause__, KeyFuncError)
        assert drain(queue) == [["Added a@1"]]


class TestInFlight:
    """PY: the lock is free while an entry is processed; what is processed counts as known."""

    def test_producers_need_not_wait_for_the_consumer(self) -> None:
        """DFI-12."""
        queue = DeltaFIFO(known_objects=Store())
        queue.add(foo("a", rv=1))
        queue.pop(lambda deltas, initial: queue.update(foo("a", rv=2)))
        assert drain(queue) == [["Updated a@2"]]

    def test_the_deletion_of_what_is_being_added_is_not_lost(self) -> None:
        """DFI-04."""
        queue = DeltaFIFO(known_objects=Store())
        queue.add(foo("a", rv=1))
        queue.pop(lambda deltas, initial: queue.delete(foo("a", rv=2)))
        assert drain(queue) == [["Deleted a@2"]]

    def test_the_deletion_of_what_is_being_deleted_is_dropped(self) -> None:
        """DFI-04."""
        queue = DeltaFIFO(known_objects=Store(foo("a")))
        queue.delete(foo("a", rv=2))
        queue.pop(lambda deltas, initial: queue.delete(foo("a", rv=3)))
        assert drain(queue) == []

    def test_a_list_deletes_what_is_being_added(self) -> None:
        """DFI-07."""
        queue = DeltaFIFO(known_objects=Store())
        queue.add(foo("a", rv=1))
        queue.pop(lambda deltas, initial: queue.replace([], "5"))
        assert drain(queue) == [["Deleted †ns/a(a@1)"]]

    def test_a_list_deletes_what_is_being_updated_in_its_newest_state(self) -> None:
        """DFI-07."""
        queue = DeltaFIFO(known_objects=Store(foo("a", rv=1)))
        queue.update(foo("a", rv=2))
        queue.pop(lambda deltas, initial: queue.replace([], "5"))
        assert drain(queue) == [["Deleted †ns/a(a@2)"]]

    def test_a_list_does_not_delete_what_is_being_deleted(self) -> None:
        """DFI-07."""
        queue = DeltaFIFO(known_objects=Store(foo("a", rv=1)))
        queue.delete(foo("a", rv=2))
        queue.pop(lambda deltas, initial: queue.replace([], "5"))
        assert drain(queue) == []

    def test_a_resync_does_not_bring_back_what_is_being_processed(self) -> None:
        """DFI-15."""
        queue = DeltaFIFO(known_objects=Store(foo("a", rv=1), foo("b", rv=1)))
        queue.update(foo("a", rv=2))
        queue.pop(lambda deltas, initial: queue.resync())
        assert drain(queue) == [["Sync b@1"]]


class TestKeyOf:
    def test_deltas_tombstones_and_objects_have_keys(self) -> None:
        """DFI-17."""
        queue = DeltaFIFO()
        assert queue.key_of([Delta(ADDED, foo("a")), Delta(DELETED, ghost("b"))]) == "ns/b"
        assert queue.key_of(ghost("a")) == "ns/a"
        assert queue.key_of(foo("a")) == "ns/a"

    def test_empty_deltas_have_none(self) -> None:
        """DFI-17."""
        with pytest.raises(KeyFuncError) as caught:
            DeltaFIFO().key_of([])
        assert isinstance(caught.value.__cause__, EmptyDeltasError)


def test_objects_of_any_kind_are_queued() -> None:
    """KEY-03."""
    queue = DeltaFIFO()
    queue.add({"metadata": {"name": "a", "namespace": "ns"}})
    queue.add(Unstructured.from_dict({"metadata": {"name": "a", "namespace": "ns"}}))
    assert queue.statistics().pending == 1
