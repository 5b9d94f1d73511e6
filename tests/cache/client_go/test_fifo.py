"""The queue of newest states."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.cache import FIFO, DeletedFinalStateUnknown, KeyFuncError
from tests.cache.builders import Foo, foo, ref


def drain(queue: FIFO[Foo]) -> list[str]:
    popped: list[str] = []
    while queue.statistics().pending:
        queue.pop(lambda obj, initial: popped.append(ref(obj)))
    return popped


def test_the_newest_state_comes_out_at_the_place_of_the_first() -> None:
    """FIF-01."""
    queue: FIFO[Foo] = FIFO()
    queue.add(foo("a", rv=1))
    queue.add(foo("b", rv=1))
    queue.update(foo("a", rv=2))
    assert drain(queue) == ["a@2", "b@1"]


def test_what_comes_again_after_it_was_taken_goes_to_the_end() -> None:
    """FIF-01."""
    queue: FIFO[Foo] = FIFO()
    queue.add(foo("a", rv=1))
    queue.add(foo("b", rv=1))
    queue.pop(lambda obj, initial: None)
    queue.add(foo("a", rv=2))
    assert drain(queue) == ["b@1", "a@2"]


@pytest.mark.parametrize("deleted", [foo("a"), DeletedFinalStateUnknown("ns/a", None)])
def test_what_is_deleted_does_not_come_out(deleted: Any) -> None:
    """FIF-02."""
    queue: FIFO[Foo] = FIFO()
    queue.add(foo("a"))
    queue.add(foo("b"))
    queue.delete(deleted)
    queue.delete(foo("unknown"))
    assert drain(queue) == ["b@1"]


def test_a_list_replaces_everything_and_its_keys_are_the_first_content() -> None:
    """FIF-03."""
    queue: FIFO[Foo] = FIFO()
    queue.replace([foo("a", rv=1), foo("b"), foo("a", rv=2)], "1")
    flags: list[bool] = []
    queue.pop(lambda obj, initial: flags.append(initial))
    assert not queue.has_synced()
    queue.pop(lambda obj, initial: flags.append(initial))
    assert queue.has_synced()
    queue.replace([foo("c")], "2")
    queue.pop(lambda obj, initial: flags.append(initial))
    assert flags == [True, True, False]


def test_an_empty_first_list_or_a_single_change_means_in_sync() -> None:
    """FIF-03."""
    for write in (lambda q: q.replace([], "1"), lambda q: q.delete(foo("a"))):
        queue: FIFO[Foo] = FIFO()
        assert not queue.has_synced()
        write(queue)
        assert queue.has_synced()


def test_the_latch_falls_after_the_last_item_was_processed() -> None:
    """FIF-04."""
    queue: FIFO[Foo] = FIFO()
    queue.replace([foo("a")], "1")
    during: list[bool] = []
    queue.pop(lambda obj, initial: during.append(queue.has_synced()))
    assert during == [False]


def test_a_resync_changes_nothing() -> None:
    """FIF-04."""
    queue: FIFO[Foo] = FIFO()
    queue.add(foo("a"))
    queue.pop(lambda obj, initial: None)
    queue.resync()
    assert queue.statistics().pending == 0


def test_an_object_without_a_key_is_refused() -> None:
    """KEY-05."""
    queue: FIFO[Any] = FIFO()
    with pytest.raises(KeyFuncError):
        queue.add(5)
    with pytest.raises(KeyFuncError):
        queue.replace([foo("a"), 5], "1")
    assert queue.statistics().pending == 0
