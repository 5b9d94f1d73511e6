"""What waits for a handler."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown, FilteringHandler, HandlerFuncs
from clientgo.cache.informer.notifications import (
    Backlog,
    Chunk,
    CoalescingBacklog,
    Kind,
    Notification,
    deliver,
)
from tests.cache.builders import foo
from tests.cache.running import RecordingHandler


def add(name: str, rv: int, *, initial: bool = False) -> Notification:
    return (Kind.ADD, foo(name, rv), initial)


def update(name: str, old: int, new: int) -> Notification:
    return (Kind.UPDATE, foo(name, old), foo(name, new))


def delete(name: str, rv: int) -> Notification:
    return (Kind.DELETE, foo(name, rv), None)


def recorder(backlog: Backlog) -> list[str]:
    handler = RecordingHandler()
    for chunk in backlog.take():
        for notification in chunk.notifications:
            deliver(handler, notification)
    return handler.notes


def coalesced(*notifications: Notification) -> list[str]:
    backlog = CoalescingBacklog()
    for notification in notifications:
        backlog.append(Chunk([notification]))
    return recorder(backlog)


def test_without_coalescing_everything_is_kept_in_order() -> None:
    """LIS-01."""
    backlog = Backlog()
    backlog.append(Chunk([add("a", 1), update("a", 1, 2)]))
    backlog.append(Chunk([delete("a", 2)]))
    assert backlog.size == 3
    assert recorder(backlog) == ["+a@1", "a@1→a@2", "-a@2"]
    assert (backlog.size, bool(backlog)) == (0, False)


@pytest.mark.parametrize(
    ("notifications", "expected"),
    [
        ([update("a", 1, 2), update("a", 2, 3)], ["a@1→a@3"]),
        ([add("a", 1), update("a", 1, 2)], ["+a@2"]),
        ([add("a", 1, initial=True), update("a", 1, 2)], ["+a@2!"]),
        ([add("a", 1), delete("a", 2)], []),
        ([update("a", 1, 2), delete("a", 3)], ["a@1→a@2", "-a@3"]),
        ([delete("a", 2), add("a", 3)], ["-a@2", "+a@3"]),
        ([delete("a", 2), add("a", 3), update("a", 3, 4)], ["-a@2", "+a@4"]),
        ([delete("a", 2), add("a", 3), delete("a", 4)], ["-a@2"]),
        ([update("a", 1, 2), delete("a", 3), add("a", 4)], ["a@1→a@2", "-a@3", "+a@4"]),
        ([add("a", 1), delete("a", 2), add("a", 3)], ["+a@3"]),
        ([add("a", 1), add("b", 2), update("a", 1, 3)], ["+a@3", "+b@2"]),
    ],
)
def test_what_waits_for_an_object_is_summed_up(
    notifications: list[Any], expected: list[str]
) -> None:
    """Issue: a slow handler has a bounded backlog."""
    assert coalesced(*notifications) == expected


def test_a_resync_stays_one_unless_something_changed() -> None:
    """FIELD-11."""
    resync: Notification = (Kind.SYNC, foo("a", 2), foo("a", 2))
    for before, expected in (([resync], Kind.SYNC), ([update("a", 1, 2)], Kind.UPDATE)):
        backlog = CoalescingBacklog()
        backlog.append(Chunk([*before, resync]))
        (chunk,) = backlog.take()
        assert [kind for kind, _, _ in chunk.notifications] == [expected]


def test_a_tombstone_is_summed_up_with_the_object_that_it_stands_for() -> None:
    gone: Notification = (Kind.DELETE, DeletedFinalStateUnknown("ns/a", foo("a", 2)), None)
    assert coalesced(update("a", 1, 2), gone) == ["a@1→a@2", "†a@2"]


def test_a_filter_sees_that_a_deleted_object_has_left_it() -> None:
    """Or its handler keeps an object that it accepted, and whose last state it does not accept."""
    accepted: list[str] = []
    handler = FilteringHandler(
        lambda obj: obj.metadata.resource_version == "1",
        HandlerFuncs(on_delete=lambda obj: accepted.remove(obj.metadata.name)),
    )
    accepted.append("a")
    backlog = CoalescingBacklog()
    backlog.append(Chunk([update("a", 1, 2), delete("a", 3), add("a", 4), delete("a", 5)]))
    for chunk in backlog.take():
        for notification in chunk.notifications:
            deliver(handler, notification)
    assert accepted == []


def test_a_resync_before_a_deletion_is_left_out() -> None:
    resync: Notification = (Kind.SYNC, foo("a", 2), foo("a", 2))
    assert coalesced(resync, delete("a", 3)) == ["-a@3"]


def test_the_size_is_that_of_what_will_be_delivered() -> None:
    backlog = CoalescingBacklog()
    backlog.append(Chunk([update("a", 1, 2), delete("a", 3), add("a", 4), add("b", 5)]))
    assert backlog.size == 4
    backlog.append(Chunk([delete("a", 6), delete("b", 7)]))
    assert backlog.size == 2
    assert len(backlog.take()[0].notifications) == 2
    assert (backlog.size, bool(backlog)) == (0, False)


def test_initial_objects_that_vanished_still_count_as_handled() -> None:
    """LIS-02: or the registration would never sync."""
    backlog = CoalescingBacklog()
    backlog.append(Chunk([add("a", 1, initial=True)], initial=1))
    backlog.append(Chunk([delete("a", 2)]))
    assert bool(backlog)
    (chunk,) = backlog.take()
    assert (chunk.notifications, chunk.initial) == ([], 1)
