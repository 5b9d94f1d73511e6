"""Items, each with an instant, in the order of the instants.

Promises: an item keeps the earliest instant that it was given; equal instants keep their order; an
empty heap gives its memory back when `first_due_ns` is asked; what an item's ``__hash__`` or
``__eq__`` raises changes nothing, and `pop` and `first_due_ns` raise none of it. Not thread-safe:
the queue's lock guards it.

Differs from client-go (util/workqueue, `waitForPriorityQueue`): a changed entry is added again, and
the old one, which holds no item any more, is dropped when it comes up, or when old ones are the
majority. So the heap moves and compares numbers only, inside one call of the interpreter.
"""

from __future__ import annotations

import logging
from heapq import heapify, heappop, heappush
from typing import Any

from clientgo.workqueue.orderings.ordering import NOTHING, T

_log = logging.getLogger("clientgo.workqueue")


class DueHeap(dict[T, list[Any]]):
    """Items and the instants, in nanoseconds, at which their turn comes.

    Of `dict` it has what reads: `len` and ``in`` cost no call of a Python function. What changes it
    are `put`, `pop`, `discard` and `clear`.
    """

    # The dict has the entry of each item: the instant, a number in the order of creation, the item.
    # The heap has these entries in their order, and old ones, which have no item any more.

    __slots__ = ("_created", "_heap")

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[list[Any]] = []
        self._created = 0
        """How many entries there were; CPython 3.14 cannot copy an `itertools.count`."""

    def put(self, item: T, due_ns: int) -> bool:
        """Set the instant of `item` unless it has an earlier one; tell whether it is first now."""
        self._created += 1
        entry = [due_ns, self._created, item]
        old = self.get(item)
        if old is not None and old[0] <= due_ns:
            return False
        self[item] = entry  # no call from here to the next line's, which an interrupt could part
        heappush(self._heap, entry)
        if old is not None:
            old[2] = NOTHING
            self._drop_old()
        return self._heap[0] is entry

    def due_ns(self, item: T) -> int | None:
        """Return the instant of `item`, or None if it is not here."""
        entry = self.get(item)
        return None if entry is None else entry[0]

    def first_due_ns(self) -> int | None:
        """Return the first instant, or None if the heap is empty."""
        heap = self._heap
        while heap:
            if heap[0][2] is not NOTHING:
                due_ns: int = heap[0][0]
                return due_ns
            heappop(heap)
        self.clear()
        return None

    def pop(self) -> T:  # type: ignore[override]
        """Remove and return the item whose turn is first. Raises IndexError if there is none."""
        return self._pop(self._heap)

    def _pop(self, heap: list[list[Any]]) -> T:
        item: T
        while (item := heap[0][2]) is NOTHING:
            heappop(heap)
        try:
            del self[item]
        except Exception:  # noqa: BLE001 - it comes out, whatever its `__eq__` raises
            self._remove_unequal(heap[0])
        # No call from here: an exception that it let in would lose the item.
        heap[0][2] = NOTHING
        return item

    def discard(self, item: T) -> bool:
        """Forget `item`; tell whether it was here."""
        entry = self.get(item)
        if entry is None:
            return False
        del self[item]
        entry[2] = NOTHING
        self._drop_old()
        return True

    def clear(self) -> None:
        """Forget all items, and what the largest number of them needed."""
        super().clear()
        self._heap = []

    def repair(self) -> None:
        """Make the heap agree with the dict again, after an operation that was interrupted."""
        heap = list(self.values())
        heapify(heap)
        self._heap = heap

    def _drop_old(self) -> None:
        """Drop the entries that were replaced, when they are the majority."""
        if len(self._heap) > 2 * len(self):
            self.repair()

    def _remove_unequal(self, entry: list[Any]) -> None:
        """Remove an entry whose item cannot be found, because it raises."""
        item = entry[2]
        _log.warning("an item, of %s, cannot be compared", type(item).__name__, exc_info=True)
        others = [other for other in self.values() if other is not entry]
        super().clear()
        for other in others:
            try:
                self[other[2]] = other
            except Exception:  # noqa: BLE001 - one like it; the rest must stay
                other[2] = NOTHING
