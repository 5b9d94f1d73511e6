"""The order in which a priority queue returns the items that are ready.

An item of priority p is ordered as if it had been added p times `ageing` seconds earlier. So
nothing has to be moved as time passes. Background work, which has negative priorities, is listed
apart, so that much of it which has waited does not get all turns.

Not thread-safe: a queue calls its ordering under its lock.
"""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final

from clientgo.util.clock import Clock, monotonic_ns, nanoseconds
from clientgo.workqueue.due_heap import DueHeap
from clientgo.workqueue.ordering import T
from clientgo.workqueue.states import NOTHING

DEFAULT_PRIORITY: Final = 0
"""The priority of an item that was given none."""

_TURNS: Final = 9
"""So many items in a row come out before background work that has waited longer than they have: a
few changes find none of it before them, and many changes leave it a tenth of the turns."""


class PriorityOrdering(DueHeap[T]):
    """Lists items by the instant of their arrival, moved by their priority."""

    __slots__ = ("_ageing_ns", "_background", "_before_background", "_now_ns", "priorities")

    def __init__(self, ageing: float, clock: Clock) -> None:
        super().__init__()
        self._ageing_ns = nanoseconds(ageing)
        self._now_ns = monotonic_ns(clock)
        self._background: list[list[Any]] = []
        """The heap of items of negative priority."""
        self._before_background = 0
        """How many items in a row came out while background work was ready."""
        self.priorities: dict[T, int] = {}
        """The priorities that differ from the default, of all items that the queue knows."""

    def push(self, item: T, /) -> None:
        turn_ns, heap = self._now_ns(), self._heap
        if self.priorities:
            priority = self.priority(item)
            turn_ns -= priority * self._ageing_ns
            if priority < DEFAULT_PRIORITY:
                heap = self._background
        # `put`, for an item that is not listed: spelled out, and in the place of an old entry if
        # that is next. Both together save a fifth of what an item costs in the queue.
        entry = [turn_ns, next(self._numbers), item]
        self[item] = entry
        if heap and heap[0][2] is NOTHING:
            heapreplace(heap, entry)
        else:
            heappush(heap, entry)

    def pop(self) -> T:  # type: ignore[override]
        if not self._background:
            return self._pop(self._heap)
        return self._pop(self._next_heap() if self._heap else self._background)

    def touch(self, item: T, /) -> None:
        """Leave the item where it is: `set_priority` has moved it if need be."""

    def priority(self, item: T) -> int:
        return self.priorities.get(item, DEFAULT_PRIORITY)

    def set_priority(self, item: T, priority: int) -> None:
        """Give `item` a priority, higher than before if it is listed."""
        before = self.get(item)
        if before is not None:
            turn_ns = before[0] - (priority - self.priority(item)) * self._ageing_ns
            entry = [turn_ns, next(self._numbers), item]
            heap = self._heap if priority >= DEFAULT_PRIORITY else self._background
            self[item] = entry  # no call from here to the next line's, as in `put`
            heappush(heap, entry)
            before[2] = NOTHING
            self._drop_old()
        if priority == DEFAULT_PRIORITY:
            self.priorities.pop(item, None)
        else:
            self.priorities[item] = priority

    def forget(self, item: T) -> None:
        self.priorities.pop(item, None)

    def depths(self) -> dict[int, int]:
        """Return how many items are listed, by priority."""
        return dict(Counter(map(self.priority, self)))

    def clear(self) -> None:
        super().clear()
        self._background = []

    def repair(self) -> None:
        super().repair()
        heaps: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        for entry in self._heap:
            heaps[self.priority(entry[2]) < DEFAULT_PRIORITY].append(entry)
        self._heap, self._background = heaps
        heapify(self._background)
        heapify(self._heap)

    def _drop_old(self) -> None:
        if len(self._heap) + len(self._background) > 2 * len(self):
            self.repair()

    def _next_heap(self) -> list[list[Any]]:
        """Return the heap that has the next item, where some may be background work."""
        background, others = self._background, self._heap
        for heap in (background, others):
            while heap and heap[0][2] is NOTHING:
                heappop(heap)
        has_its_turn = self._before_background >= _TURNS
        if background and (not others or (has_its_turn and background[0] < others[0])):
            self._before_background = 0
            return background
        self._before_background += 1
        return others

    def release(self) -> None:
        """Give memory back: nothing is listed."""
        self.clear()
        if not self.priorities:
            self.priorities.clear()
