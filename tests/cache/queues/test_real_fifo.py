"""The queue that keeps every change in one line."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import (
    ChangeError,
    Delta,
    DeltaType,
    KeyFuncError,
    RealFIFO,
)
from tests.cache.builders import foo
from tests.cache.queue_entries import Store, drain, take, take_batch

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


def atomic(**options: Any) -> RealFIFO:
    return RealFIFO(emit_bookmarks=True, **options)


def test_every_change_is_an_entry_in_the_order_of_arrival() -> None:
    """RFI-01, RFI-02."""
    queue = atomic()
    queue.add(foo("a", rv=1))
    queue.update(foo("a", rv=2))
    queue.delete(foo("unknown"))
    queue.delete(foo("unknown"))
    assert drain(queue) == [
        ["Added a@1"],
        ["Updated a@2"],
        ["Deleted unknown@1"],
        ["Deleted unknown@1"],
    ]


def test_bookmarks_and_known_objects_exclude_each_other() -> None:
    """RFI-03."""
    with pytest.raises(ValueError, match="atomic"):
        RealFIFO(known_objects=Store(), emit_bookmarks=True)


class TestKnownObjects:
    def test_a_list_deletes_first_and_then_replaces(self) -> None:
        """RFI-04."""
        queue = RealFIFO(known_objects=Store(foo("known"), foo("both", rv=1)))
        queue.add(foo("first", rv=2))
        queue.update(foo("both", rv=2))
        queue.update(foo("first", rv=3))
        queue.delete(foo("gone", rv=3))
        queue.replace([foo("new", rv=5)], "5")

        assert drain(queue)[4:] == [
            ["Deleted †ns/first(first@3)"],
            ["Deleted †ns/both(both@2)"],
            ["Deleted †ns/known(known@1)"],
            ["Replaced new@5"],
        ]

    def test_an_object_that_could_not_be_read_is_not_deleted(self) -> None:
        """RFI-04."""
        queue = RealFIFO(known_objects=Store(foo("known"), foo("gone")))
        queue.add(foo("pending", rv=2))
        queue.replace([], "5", {"ns/known", "ns/pending"})
        assert drain(queue) == [["Added pending@2"], ["Deleted †ns/gone(gone@1)"]]

    def test_a_list_with_a_keyless_object_queues_nothing(self) -> None:
        """RFI-04."""
        queue = RealFIFO(known_objects=Store(foo("known")))
        with pytest.raises(ChangeError) as caught:
            queue.replace([foo("a"), 5], "5")
        assert caught.value.index == 1
        assert drain(queue) == []
        assert not queue.has_synced()

    def test_a_resync_skips_what_is_pending(self) -> None:
        """RFI-06."""
        queue = RealFIFO(known_objects=Store(foo("a"), foo("b")))
        queue.update(foo("a", rv=2))
        queue.resync()
        assert drain(queue) == [["Updated a@2"], ["Sync b@1"]]

    def test_what_is_being_processed_counts_as_known(self) -> None:
        """RFI-04, RFI-06, RFI-13."""
        queue = RealFIFO(known_objects=Store(foo("a", rv=1)))
        queue.apply(
            [Delta(UPDATED, foo("a", rv=2)), Delta(ADDED, foo("b", rv=2)), Delta(DELETED, foo("c"))]
        )

        def relist(batch: Any, initial: bool) -> None:
            queue.resync()
            queue.replace([], "5")

        queue.pop_batch(relist)
        assert drain(queue) == [["Deleted †ns/a(a@2)"], ["Deleted †ns/b(b@2)"]]

    def test_an_empty_first_list_with_nothing_known_means_in_sync(self) -> None:
        """RFI-09."""
        queue = RealFIFO(known_objects=Store())
        queue.replace([], "5")
        assert queue.has_synced()


class TestAtomic:
    def test_a_list_is_one_entry(self) -> None:
        """RFI-05."""
        queue = atomic()
        queue.add(foo("a", rv=1))
        queue.replace([foo("b", rv=2), foo("a", rv=2)], "5")
        assert drain(queue) == [["Added a@1"], ["ReplacedAll b@2 a@2 @5"]]

    def test_a_resync_is_one_entry(self) -> None:
        """RFI-06."""
        queue = atomic()
        queue.resync()
        assert drain(queue) == [["SyncAll"]]

    def test_a_bookmark_keeps_its_place_and_is_not_content(self) -> None:
        """RFI-07."""
        queue = atomic()
        queue.bookmark("7")
        assert not queue.has_synced()
        queue.add(foo("a"))
        assert drain(queue) == [["Bookmark 7"], ["Added a@1"]]

    def test_bookmarks_are_ignored_unless_asked_for(self) -> None:
        """RFI-07."""
        queue = RealFIFO()
        queue.bookmark("7")
        assert queue.statistics().pending == 0

    def test_even_an_empty_first_list_must_be_processed(self) -> None:
        """RFI-09."""
        queue = atomic()
        queue.replace([], "5")
        assert not queue.has_synced()
        during = []
        queue.pop(lambda deltas, initial: during.append((initial, queue.has_synced())))
        assert during == [(True, False)]
        assert queue.has_synced()

    def test_everything_before_the_first_list_counts(self) -> None:
        """RFI-08."""
        queue = atomic()
        queue.bookmark("1")
        queue.resync()
        queue.replace([foo("a")], "5")
        assert queue.statistics().initial_remaining == 3


class TestPop:
    def test_a_popped_entry_is_not_kept(self) -> None:
        """RFI-10, RFI-14."""
        queue = atomic()
        queue.add(foo("a"))

        def fail(deltas: Any, initial: bool) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            queue.pop(fail)
        assert queue.statistics().pending == 0
        assert queue.statistics().in_flight == 0

    def test_a_batch_ends_at_its_limit(self) -> None:
        """RFI-11."""
        queue = atomic()
        for name in "abc":
            queue.add(foo(name))
        assert take_batch(queue, 2) == ([["Added a@1"], ["Added b@1"]], False, "batch")
        assert take_batch(queue, 2) == ([["Added c@1"]], False, "single")

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_batch_ends_before_a_key_that_it_has_already(self, place: int) -> None:
        """RFI-12."""
        queue = atomic()
        names = ["a", "b", "c", "d"]
        names.insert(place + 1, names[place])
        for name in names:
            queue.add(foo(name))

        batch, _, _ = take_batch(queue)
        assert len(batch) == place + 1
        assert len(take_batch(queue)[0]) == 4 - place

    def test_what_concerns_all_objects_is_processed_alone(self) -> None:
        """RFI-12."""
        queue = atomic()
        queue.add(foo("a"))
        queue.bookmark("2")
        queue.resync()
        queue.add(foo("b"))
        queue.replace([], "3")
        queue.add(foo("c"))
        batches = []
        while queue.statistics().pending:
            batches.append(take_batch(queue))
        assert [(batch, who) for batch, _, who in batches] == [
            ([[entry]], "single")
            for entry in (
                "Added a@1",
                "Bookmark 2",
                "SyncAll",
                "Added b@1",
                "ReplacedAll  @3",
                "Added c@1",
            )
        ]

    def test_initial_and_later_changes_never_share_a_batch(self) -> None:
        """RFI-12."""
        queue = RealFIFO(known_objects=Store())
        queue.replace([foo("a"), foo("b")], "1")
        queue.add(foo("c"))
        assert take_batch(queue) == ([["Replaced a@1"], ["Replaced b@1"]], True, "batch")
        assert take_batch(queue) == ([["Added c@1"]], False, "single")

    def test_an_object_without_a_key_never_gets_into_the_queue(self) -> None:
        """RFI-12: so no batch can meet one."""
        queue = atomic()
        with pytest.raises(KeyFuncError):
            queue.add(5)
        assert queue.statistics().pending == 0


def test_taking_leaves_the_rest_in_order() -> None:
    """RFI-01, RFI-10."""
    queue = atomic()
    queue.apply([Delta(ADDED, foo("a")), Delta(ADDED, foo("b"))])
    assert take(queue) == ["Added a@1"]
    queue.update(foo("a", rv=2))
    assert drain(queue) == [["Added b@1"], ["Updated a@2"]]
