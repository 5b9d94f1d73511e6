"""What was written here is read here, though the watch lags."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from clientgo.meta import EventType, ListOptions, ObjectName
from clientgo.operator.cache.own_writes import TIME_TO_LIVE, OwnWrites
from clientgo.operator.cache.watches import ObservedLister
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource
from tests.operator.world import Part, part

P = ObjectName("default", "p")
WRITER = ("gadget", ObjectName("default", "a"))


class LaggingStore:
    """A store as of one version; a test moves it on."""

    def __init__(self) -> None:
        self.version = 1
        self.restarts = 0
        self.objects: dict[ObjectName, Any] = {}

    def as_of(self, _namespace: str) -> int:
        return self.version

    def stored(self, key: ObjectName) -> Any | None:
        return self.objects.get(key)

    def reach(self, version: int, *objects: Any) -> None:
        self.objects = {ObjectName.of(obj): obj for obj in objects}
        self.version = version


def stored(version: int, uid: str = "one", **metadata: Any) -> Part:
    return part(uid=uid, resource_version=str(version), **metadata)


class Kit:
    def __init__(self) -> None:
        self.clock = FakeClock(start=1.0)
        self.store = LaggingStore()
        self.writes = OwnWrites("parts", self.store, clock=self.clock)

    def version(self) -> str | None:
        found = self.writes.newest(P)
        return None if found is None else str(found.metadata.resource_version)


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_a_creation_is_read_before_the_watch_brings_it(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.writes.wrote(stored(5))
    assert kit.version() == "5"


def test_an_update_hides_what_the_store_had_before(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.store.reach(4, stored(4))
    kit.writes.wrote(stored(5))
    assert kit.version() == "5"


def test_a_server_whose_versions_begin_again_has_lost_the_writes(kit: Kit) -> None:
    """Or an object that it has got since counts as deleted, and its run as done."""
    kit.store.reach(50, stored(50))
    kit.writes.deleted(stored(50))
    assert kit.version() is None
    kit.store.restarts += 1
    kit.store.reach(3, stored(3, uid="two"))
    assert kit.version() == "3"
    kit.writes.wrote(stored(4, uid="two"))
    assert kit.version() == "4"
    assert kit.writes.statistics().entries == 1


def test_the_store_answers_once_it_has_come_as_far(kit: Kit) -> None:
    """OP-CLI-06: and the entry is gone."""
    kit.writes.wrote(stored(5))
    kit.store.reach(7, stored(7))
    assert kit.version() == "7"
    assert kit.writes.statistics().entries == 0


def test_a_deletion_by_somebody_else_ends_a_write(kit: Kit) -> None:
    """OP-CLI-06, OP-SRC-17: the store is further than the write, and has no such object."""
    kit.writes.wrote(stored(5))
    kit.store.reach(6)
    assert kit.version() is None
    assert kit.writes.statistics().entries == 0


def test_what_was_deleted_here_is_not_read_again(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.store.reach(5, stored(5))
    kit.writes.deleted(stored(5))
    assert kit.version() is None
    kit.store.reach(6, stored(5))
    assert kit.version() is None


def test_what_was_made_and_deleted_here_does_not_come_back_when_the_watch_brings_it(
    kit: Kit,
) -> None:
    """OP-CLI-06: a read in between must not make the deletion forgotten."""
    kit.writes.wrote(stored(5))
    kit.writes.deleted(stored(5))
    assert kit.version() is None
    kit.store.reach(5, stored(5))
    assert kit.version() is None
    kit.store.reach(6)
    assert kit.version() is None
    assert kit.writes.statistics().entries == 0


def test_a_deletion_that_only_marks_is_not_taken_for_one(kit: Kit) -> None:
    """OP-CLI-06: somebody added a finalizer meanwhile, or the object has a grace period."""
    kit.store.reach(5, stored(5))
    kit.writes.deleted(stored(5))
    kit.store.reach(6, stored(6, deletion_timestamp="2026-01-01T00:00:00Z"))
    assert kit.version() == "6"


def test_a_deletion_with_a_version_is_history_when_the_store_has_reached_it(kit: Kit) -> None:
    """OP-CLI-06a: whatever the store has then."""
    kit.store.reach(5, stored(5))
    kit.writes.deleted(stored(5), "8")
    kit.store.reach(7, stored(7))
    assert kit.version() is None
    kit.store.reach(8, stored(7))
    assert kit.version() == "7"
    assert kit.writes.statistics().entries == 0

    kit.writes.deleted(stored(7), "8")
    assert kit.writes.statistics().entries == 0, "the store has it already"
    assert kit.version() == "7"


def test_a_deletion_whose_version_is_no_number_is_one_without(kit: Kit) -> None:
    """OP-CLI-06a"""
    kit.store.reach(5, stored(5))
    kit.writes.deleted(stored(5), "odd")
    kit.store.reach(9, stored(5))
    assert kit.version() is None


def test_a_deletion_with_a_version_hides_what_was_written_before_it_alone(kit: Kit) -> None:
    """OP-CLI-06a"""
    kit.writes.wrote(stored(6, uid="one"))
    kit.writes.deleted(stored(6, uid="one"), "8")
    kit.writes.wrote(stored(7, uid="one"))
    assert kit.version() is None
    kit.writes.wrote(stored(9, uid="two"))
    assert kit.version() == "9"


def test_an_older_object_of_the_same_name_does_not_come_back(kit: Kit) -> None:
    """OP-CLI-06: the store still has the one before the one that was deleted."""
    kit.store.reach(3, stored(3, uid="one"))
    kit.writes.wrote(stored(5, uid="two"))
    kit.writes.deleted(stored(5, uid="two"))
    assert kit.version() is None


def test_a_new_object_of_the_same_name_is_read(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.writes.deleted(stored(5, uid="one"))
    kit.writes.wrote(stored(7, uid="two"))
    assert kit.version() == "7"


@pytest.mark.parametrize("late", [stored(5, uid="one"), stored(6, uid="two")])
def test_an_answer_that_comes_late_does_not_hide_a_later_one(kit: Kit, late: Part) -> None:
    """OP-CLI-06: two threads wrote, and the answers overtook each other."""
    kit.writes.wrote(stored(8, uid="two"))
    kit.writes.wrote(late)
    assert kit.version() == "8"


def test_a_deletion_beats_a_newer_state_that_its_caller_did_not_know(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.writes.wrote(stored(8))
    kit.writes.deleted(stored(5))
    assert kit.version() is None


def test_an_answer_to_a_write_before_the_deletion_is_ignored(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.writes.deleted(stored(5))
    kit.writes.wrote(stored(6))
    assert kit.version() is None


def test_a_write_that_the_watch_has_overtaken_leaves_nothing(kit: Kit) -> None:
    """OP-CLI-06: it was brought, and deleted, before the answer was there."""
    kit.store.reach(9)
    kit.writes.wrote(stored(5))
    assert kit.version() is None
    assert kit.writes.statistics().entries == 0


def test_a_watch_that_never_brings_a_write_is_waited_for_a_minute(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CLI-06"""
    kit.writes.wrote(stored(5))
    kit.clock.step(TIME_TO_LIVE - 1)
    assert kit.version() == "5"
    kit.clock.step(1)
    with caplog.at_level(logging.WARNING):
        assert kit.version() is None
    assert "not brought back the write of default/p" in caplog.text
    assert kit.writes.statistics().expired == 1


def test_nothing_stays_that_nobody_reads(kit: Kit) -> None:
    """OP-CLI-06: a later write clears up."""
    kit.writes.wrote(stored(5), WRITER)
    kit.clock.step(TIME_TO_LIVE)
    kit.writes.wrote(part("q", uid="q", resource_version="6"))
    statistics = kit.writes.statistics()
    assert (statistics.entries, statistics.echoes) == (1, 0)


def test_the_watch_clears_up_too(kit: Kit) -> None:
    """OP-CLI-06"""
    kit.writes.wrote(stored(5))
    kit.store.reach(5, stored(5))
    kit.writes.saw(stored(5))
    assert kit.writes.keys() == []


def test_versions_that_cannot_be_compared_are_left_to_the_store(kit: Kit) -> None:
    kit.writes.wrote(part(uid="one", resource_version="abc"))
    assert kit.version() is None


def test_what_a_write_takes_out_of_the_selection_is_not_read(kit: Kit) -> None:
    """OP-CLI-06c"""
    kit.store.reach(4, stored(4))
    kit.writes.left(stored(5))
    assert kit.version() is None
    kit.writes.wrote(stored(6))
    assert kit.version() == "6"
    kit.writes.left(stored(7))
    assert kit.version() is None


def test_what_has_left_is_hidden_until_the_store_has_come_as_far(kit: Kit) -> None:
    """OP-CLI-06c: unlike a deletion it has a version; another client may have brought it back."""
    kit.store.reach(4, stored(4))
    kit.writes.left(stored(5))
    kit.store.reach(6, stored(6))
    assert kit.version() == "6"


def test_a_watch_that_has_nothing_to_bring_loses_no_write(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CLI-06c: of objects that it does not select it never brings any."""
    kit.writes.left(stored(5))
    kit.clock.step(TIME_TO_LIVE)
    assert kit.version() is None
    assert (kit.writes.statistics().expired, caplog.text) == (0, "")
    kit.store.reach(6, stored(6))
    kit.writes.left(stored(7))
    kit.clock.step(TIME_TO_LIVE)
    assert kit.version() == "6"
    assert kit.writes.statistics().expired == 1


# Echoes


def told(kit: Kit, obj: Any, writer: Any = WRITER) -> list[str]:
    """What an event of an object leads to."""
    acted: list[str] = []
    kit.writes.unless_echo(obj, writer, lambda: acted.append("run"))
    return acted


def test_the_echo_of_a_write_is_known_to_its_writer_alone(kit: Kit) -> None:
    """OP-SRC-16"""
    kit.writes.wrote(stored(5), WRITER)
    assert told(kit, stored(5)) == []
    assert told(kit, stored(5), ("other", WRITER[1])) == ["run"]
    assert told(kit, stored(5), (WRITER[0], P)) == ["run"]


def test_a_change_by_somebody_else_is_no_echo(kit: Kit) -> None:
    """OP-SRC-16: neither before nor after, nor between two writes."""
    kit.writes.wrote(stored(5), WRITER)
    kit.writes.wrote(stored(7), WRITER)
    assert told(kit, stored(6)) == ["run"]
    assert told(kit, stored(8)) == ["run"]
    assert told(kit, stored(5)) == told(kit, stored(7)) == []


def test_a_watch_that_is_faster_than_the_answer_is_made_to_wait_for_it(kit: Kit) -> None:
    """OP-SRC-16"""
    acted: list[str] = []
    with kit.writes.writing(WRITER):
        kit.writes.unless_echo(stored(5), WRITER, lambda: acted.append("echo"))
        kit.writes.unless_echo(stored(6), WRITER, lambda: acted.append("foreign"))
        kit.writes.wrote(stored(5), WRITER)
        assert acted == []
    assert acted == ["foreign"]


def test_two_writes_at_once_are_both_waited_for(kit: Kit) -> None:
    """OP-SRC-16"""
    acted: list[str] = []
    with kit.writes.writing(WRITER):
        with kit.writes.writing(WRITER):
            kit.writes.unless_echo(stored(5), WRITER, lambda: acted.append("run"))
        assert acted == []
        kit.writes.wrote(stored(5), WRITER)
    assert acted == []


def test_a_write_that_fails_leaves_nobody_waiting(kit: Kit) -> None:
    """OP-SRC-16"""
    acted: list[str] = []

    def refused() -> None:
        with kit.writes.writing(WRITER):
            kit.writes.unless_echo(stored(5), WRITER, lambda: acted.append("run"))
            raise RuntimeError("refused")

    with pytest.raises(RuntimeError):
        refused()
    assert acted == ["run"]
    assert told(kit, stored(9)) == ["run"]


def test_after_a_list_nothing_counts_as_an_echo(kit: Kit) -> None:
    """OP-SRC-16: what others have done in the gap hides behind our own last write."""
    kit.writes.wrote(stored(5), WRITER)
    kit.writes.forget_echoes()
    assert told(kit, stored(5)) == ["run"]


def test_a_write_that_a_list_may_have_is_no_echo_when_it_is_answered(kit: Kit) -> None:
    """OP-SRC-16: the list was faster than the answer; the next write is an echo again."""
    with kit.writes.writing(WRITER):
        kit.writes.forget_echoes()
        kit.writes.wrote(stored(5), WRITER)
    assert told(kit, stored(5)) == ["run"]
    with kit.writes.writing(WRITER):
        kit.writes.wrote(stored(6), WRITER)
    assert told(kit, stored(6)) == []


@pytest.mark.parametrize(
    ("changes", "acted"),
    [
        ({"spec": {"size": 5}}, []),
        ({"spec": {"size": 5, "colour": "red"}}, ["run"]),
        ({"spec": {"size": 5}, "status": {"ready": 1}}, ["run"]),
    ],
)
def test_a_state_with_more_than_was_sent_is_no_echo(
    kit: Kit, changes: dict[str, Any], acted: list[str]
) -> None:
    """OP-SRC-16: without a condition the answer may have the version of another client."""
    kit.writes.wrote(stored(5), WRITER, {"spec": {"size": 5}})
    found: list[str] = []
    kit.writes.unless_echo(stored(5), WRITER, lambda: found.append("run"), changes=lambda: changes)
    assert found == acted


def test_a_streamed_list_is_a_list_until_its_end() -> None:
    """OP-SRC-16: changes of its objects that come before its end are merged into it."""
    lists: list[int] = []
    source = FakeSource([part("p")])
    lister = ObservedLister(source, lambda: lists.append(len(lists)), lambda: None)
    options = ListOptions(
        resource_version_match="NotOlderThan", send_initial_events=True, allow_watch_bookmarks=True
    )
    stream = lister.watch(options, threading.Event())
    assert len(lists) == 1
    while all(event.type != EventType.BOOKMARK for event in stream.read()):
        pass
    assert len(lists) == 2
    source.update(part("p"))
    assert stream.read()
    assert len(lists) == 2
