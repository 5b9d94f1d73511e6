"""Items, each with an instant, in the order of the instants.

Promises: an item keeps the earliest instant that it was given; equal instants keep their order; an
empty heap holds no memory. Not thread-safe: the queue's lock guards it.

Differs from client-go (util/workqueue, `waitForPriorityQueue`): a changed entry is added again, and
the old one is dropped when it comes up, or when old ones are the majority.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DueHeap(Generic[T]):
    """Items and the instants, in nanoseconds, at which their turn comes."""

    __slots__ = ("_entries", "_heap", "_numbers")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, T]] = []
        self._entries: dict[T, tuple[int, int, T]] = {}
        self._numbers = itertools.count()

    def put(self, item: T, due_ns: int) -> bool:
        """Set the instant of `item` unless it has an earlier one; tell whether it is first now."""
        entries, heap = self._entries, self._heap
        entry = entries.get(item)
        if entry is not None and entry[0] <= due_ns:
            return False
        entry = entries[item] = (due_ns, next(self._numbers), item)
        heapq.heappush(heap, entry)
        if len(heap) > 2 * len(entries):
            self._drop_old()
        return self._heap[0] is entry

    def due_ns(self, item: T) -> int | None:
        """Return the instant of `item`, or None if it is not here."""
        entry = self._entries.get(item)
        return None if entry is None else entry[0]

    def first_due_ns(self) -> int | None:
        """Return the first instant, or None if the heap is empty."""
        while self._heap and self._entries.get(self._heap[0][2]) is not self._heap[0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop(self) -> T:
        """Remove and return the item whose turn is first. Raises IndexError if there is none."""
        entries, heap = self._entries, self._heap
        while True:
            entry = heapq.heappop(heap)
            item = entry[2]
            if entries.get(item) is entry:
                break
        del entries[item]
        if not entries:
            self.clear()
        return item

    def discard(self, item: T) -> bool:
        """Forget `item`; tell whether it was here."""
        entries = self._entries
        found = entries.pop(item, None) is not None
        if found and not entries:
            self.clear()
        elif len(self._heap) > 2 * len(entries):
            self._drop_old()
        return found

    def clear(self) -> None:
        """Forget all items; an emptied dict would keep the table of its largest size."""
        self._entries.clear()
        self._heap.clear()

    def __contains__(self, item: T) -> bool:
        return item in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def _drop_old(self) -> None:
        """Drop the entries that were replaced, when they are the majority."""
        self._heap = list(self._entries.values())
        heapq.heapify(self._heap)
