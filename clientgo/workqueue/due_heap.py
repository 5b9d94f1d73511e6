"""Items, each with an instant, in the order of the instants.

Promises: an item keeps the earliest instant that it was given; equal instants keep their order; an
empty heap holds no memory; what an item's ``__hash__`` or ``__eq__`` raises changes nothing, and
`pop` and `first_due_ns` raise none of it. Not thread-safe: the queue's lock guards it.

Differs from client-go (util/workqueue, `waitForPriorityQueue`): a changed entry is added again, and
the old one, which holds no item any more, is dropped when it comes up, or when old ones are the
majority. So the heap moves and compares numbers only, inside one call of the interpreter.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Hashable, Iterator
from typing import Any, Final, Generic, TypeVar, cast

T = TypeVar("T", bound=Hashable)

_log = logging.getLogger("clientgo.workqueue")

_NOTHING: Final[Any] = object()
"""In the place of the item of an old entry."""


class DueHeap(Generic[T]):
    """Items and the instants, in nanoseconds, at which their turn comes."""

    __slots__ = ("_entries", "_heap", "_live", "_numbers")

    def __init__(self) -> None:
        self._heap: list[list[Any]] = []
        """Entries: the instant, a number in the order of their creation, the item."""
        self._entries: dict[T, list[Any]] = {}
        self._live = 0
        self._numbers = itertools.count()

    def put(self, item: T, due_ns: int) -> bool:
        """Set the instant of `item` unless it has an earlier one; tell whether it is first now."""
        heap = self._heap
        old = self._entries.get(item)
        entry = [due_ns, next(self._numbers), item]
        if old is not None and old[2] is not _NOTHING:
            if old[0] <= due_ns:
                return False
            self._entries[item] = entry
            old[2] = _NOTHING
        else:
            self._entries[item] = entry
            self._live += 1
        heapq.heappush(heap, entry)
        if len(heap) > 2 * self._live:
            self._drop_old()
        return self._heap[0] is entry

    def due_ns(self, item: T) -> int | None:
        """Return the instant of `item`, or None if it is not here."""
        entry = self._entries.get(item)
        return None if entry is None or entry[2] is _NOTHING else entry[0]

    def first_due_ns(self) -> int | None:
        """Return the first instant, or None if the heap is empty."""
        heap = self._heap
        while heap:
            if heap[0][2] is not _NOTHING:
                due_ns: int = heap[0][0]
                return due_ns
            heapq.heappop(heap)
        return None

    def pop(self) -> T:
        """Remove and return the item whose turn is first. Raises IndexError if there is none."""
        heap = self._heap
        while (item := heap[0][2]) is _NOTHING:
            heapq.heappop(heap)
        try:
            del self._entries[item]
        except Exception:  # noqa: BLE001 - an entry without an item is as good as none
            _log.warning("an item, of %s, cannot be compared", type(item).__name__, exc_info=True)
        # No call from here: an exception that it let in would lose the item.
        heap[0][2] = _NOTHING
        self._live -= 1
        if not self._live:
            self._entries = {}
            self._heap = []
        return cast("T", item)

    def discard(self, item: T) -> bool:
        """Forget `item`; tell whether it was here."""
        entry = self._entries.get(item)
        if entry is None or entry[2] is _NOTHING:
            return False
        del self._entries[item]
        entry[2] = _NOTHING
        self._live -= 1
        if not self._live:
            self.clear()
        elif len(self._heap) > 2 * self._live:
            self._drop_old()
        return True

    def clear(self) -> None:
        """Forget all items, and what the largest number of them needed."""
        self._entries = {}
        self._heap = []
        self._live = 0

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items, in no order."""
        return iter([entry[2] for entry in self._heap if entry[2] is not _NOTHING])

    def __contains__(self, item: T) -> bool:
        return self.due_ns(item) is not None

    def __len__(self) -> int:
        return self._live

    def _drop_old(self) -> None:
        """Drop the entries that were replaced, when they are the majority."""
        heap = [entry for entry in self._heap if entry[2] is not _NOTHING]
        heapq.heapify(heap)
        self._heap = heap
