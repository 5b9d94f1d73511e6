"""Items in the order of their instants."""

from __future__ import annotations

import random
import sys

import pytest

from clientgo.workqueue.orderings.due_heap import DueHeap


def test_an_item_keeps_its_earliest_instant() -> None:
    heap: DueHeap[str] = DueHeap()

    assert heap.put("a", 5)
    assert not heap.put("a", 7)
    assert heap.put("a", 3)

    assert len(heap) == 1
    assert heap.due_ns("a") == heap.first_due_ns() == 3


def test_equal_instants_come_up_in_the_order_in_which_they_were_given() -> None:
    heap: DueHeap[str] = DueHeap()
    for item in "cab":
        heap.put(item, 1)

    assert [heap.pop() for _ in range(3)] == ["c", "a", "b"]


def test_a_discarded_item_does_not_come_up() -> None:
    heap: DueHeap[str] = DueHeap()
    heap.put("a", 1)
    heap.put("b", 2)

    assert heap.discard("a")
    assert not heap.discard("a")

    assert heap.first_due_ns() == 2
    assert "a" not in heap
    assert heap.pop() == "b"
    assert heap.first_due_ns() is None


def test_stale_entries_never_outnumber_the_live_ones() -> None:
    heap: DueHeap[int] = DueHeap()
    for due_ns in range(10_000, 0, -1):
        heap.put(due_ns % 10, due_ns)

    assert len(heap) == 10
    assert len(heap._heap) <= 2 * len(heap) + 1
    assert [heap.pop() for _ in range(10)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]


def test_any_mix_of_puts_and_discards_comes_up_in_order() -> None:
    rng = random.Random(1)
    heap: DueHeap[int] = DueHeap()
    expected: dict[int, int] = {}
    for _ in range(5000):
        item, due_ns = rng.randrange(50), rng.randrange(1000)
        if rng.random() < 0.3:
            assert heap.discard(item) == (expected.pop(item, None) is not None)
        else:
            heap.put(item, due_ns)
            expected[item] = min(due_ns, expected.get(item, due_ns))

    drained = [(heap.first_due_ns(), heap.pop()) for _ in range(len(heap))]

    assert [due for due, _ in drained] == sorted(expected.values())
    assert {item: due for due, item in drained} == expected


def test_an_empty_heap_that_is_asked_for_its_first_instant_holds_no_memory() -> None:
    heap: DueHeap[int] = DueHeap()
    empty = sys.getsizeof(heap)
    for item in range(10_000):
        heap.put(item, item)
    for _ in range(10_000):
        heap.pop()

    assert heap.first_due_ns() is None
    assert sys.getsizeof(heap) <= empty
    assert sys.getsizeof(heap._heap) == sys.getsizeof([])


def test_a_repaired_heap_has_what_its_dict_has() -> None:
    heap: DueHeap[str] = DueHeap()
    for due_ns, item in enumerate("abc"):
        heap.put(item, due_ns)
    heap._heap.clear()  # as if an interrupt had come between the two

    heap.repair()

    assert [heap.pop() for _ in range(3)] == ["a", "b", "c"]


def test_an_item_that_cannot_be_compared_comes_out_and_the_others_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Odd:
        works = True

        def __hash__(self) -> int:
            if not self.works:
                raise ValueError("no hash")
            return 1

    heap: DueHeap[Odd | str] = DueHeap()
    odd = Odd()
    heap.put(odd, 1)
    heap.put("a", 2)
    odd.works = False

    assert heap.pop() is odd
    assert "an item, of Odd, cannot be compared" in caplog.text
    assert len(heap) == 1
    assert heap.pop() == "a"
    assert not heap
