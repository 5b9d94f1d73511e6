"""The queue with an order of its own."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cache import Heap, QueueClosedError


def heap() -> Heap[tuple[str, int]]:
    return Heap(lambda pair: pair[1], key_func=lambda pair: pair[0])


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 9)), max_size=30))
def test_objects_come_out_in_order_each_in_its_last_state(pairs: list[tuple[str, int]]) -> None:
    """UTL-02."""
    queue = heap()
    for pair in pairs:
        queue.add(pair)

    expected = sorted(dict(pairs).items(), key=lambda pair: pair[1])
    assert [pair[1] for pair in queue.list()] == [pair[1] for pair in expected]
    popped = [queue.pop() for _ in expected]
    assert [pair[1] for pair in popped] == [pair[1] for pair in expected]
    assert dict(popped) == dict(pairs)


def test_an_update_moves_an_object_to_its_new_place() -> None:
    """UTL-02."""
    queue = heap()
    queue.bulk_add([("a", 1), ("b", 2), ("c", 3)])
    queue.update(("a", 9))
    queue.update(("c", 0))
    assert [queue.pop()[0] for _ in range(3)] == ["c", "b", "a"]


def test_an_object_that_is_there_is_not_added_if_only_absent_ones_are_wanted() -> None:
    """UTL-02."""
    queue = heap()
    queue.add(("a", 5))
    queue.add_if_absent(("a", 1))
    queue.add_if_absent(("b", 1))
    assert queue.list() == [("b", 1), ("a", 5)]
    assert queue.get_by_key("a") == ("a", 5)
    assert queue.get(("b", 0)) == ("b", 1)
    assert queue.get_by_key("c") is None
    assert sorted(queue.list_keys()) == ["a", "b"]


def test_deleting_what_is_not_there_is_an_error() -> None:
    """UTL-02."""
    queue = heap()
    queue.add(("a", 1))
    queue.delete(("a", 0))
    assert queue.list() == []
    with pytest.raises(KeyError):
        queue.delete(("a", 0))


def test_sort_keys_need_only_be_comparable() -> None:
    """UTL-02: a comparison function will do, and equal ones come in the order of arrival."""
    by_length = functools.cmp_to_key(lambda left, right: len(left) - len(right))
    queue: Heap[str] = Heap(by_length, key_func=str)
    queue.bulk_add(["bb", "aa", "c"])
    queue.update("bb")
    assert queue.list() == ["c", "bb", "aa"]


def test_a_pop_waits_and_closing_wakes_it() -> None:
    """UTL-02."""
    queue = heap()
    outcomes: list[Any] = []

    def consume() -> None:
        try:
            while True:
                outcomes.append(queue.pop())
        except QueueClosedError as error:
            outcomes.append(type(error))

    consumer = threading.Thread(target=consume, daemon=True)
    consumer.start()
    queue.add(("a", 1))
    queue.close()
    consumer.join(30)

    assert outcomes == [("a", 1), QueueClosedError]
    assert queue.is_closed()
    for add in (queue.add, queue.update, queue.add_if_absent):
        with pytest.raises(QueueClosedError):
            add(("b", 1))
