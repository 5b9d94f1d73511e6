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
from clientgo.workqueue.orderings.due_heap import DueHeap
from clientgo.workqueue.orderings.ordering import NOTHING, T

DEFAULT_PRIORITY: Final = 0
"""The priority of an item that was given none."""

_TURNS: Final = 9
"""So many items in a row come out before background work that has waited longer than they have: a
few changes find none of it before them, and many changes leave it a tenth of the turns."""


class Priorities(dict[T, int]):
    """The priorities that differ from the default, of all items that the queue knows."""

    __slots__ = ()

    def of(self, item: T) -> int:
        return self.get(item, DEFAULT_PRIORITY)

    def put(self, item: T, priority: int) -> None:
        if priority == DEFAULT_PRIORITY:
            self.pop(item, None)
        else:
            self[item] = priority


class BackgroundTurns:
    """Counts the turns of other work while background work is ready, which gets one in ten."""

    __slots__ = ("_others",)

    def __init__(self) -> None:
        self._others = 0
        """How many items in a row came out while background work was ready."""

    def is_next(self, *, has_waited: bool) -> bool:
        """Return True if background work is next; `has_waited` longer than the other work."""
        is_next = has_waited and self._others >= _TURNS
        self._others = 0 if is_next else self._others + 1
        return is_next

    def had_one(self) -> None:
        """Note that background work came out because there was no other."""
        self._others = 0


class PriorityOrdering(DueHeap[T]):
    """Lists items by the instant of their arrival, moved by their priority."""

    __slots__ = ("_ageing_ns", "_background", "_background_turns", "_now_ns", "priorities")

    def __init__(self, ageing: float, clock: Clock) -> None:
        super().__init__()
        self._ageing_ns = nanoseconds(ageing)
        self._now_ns = monotonic_ns(clock)
        self._background: list[list[Any]] = []
        """The heap of items of negative priority."""
        self._background_turns = BackgroundTurns()
        self.priorities: Priorities[T] = Priorities()

    def push(self, item: T, /) -> None:
        turn_ns, heap = self._now_ns(), self._heap
        if self.priorities:
            priority = self.priorities.of(item)
            turn_ns -= priority * self._ageing_ns
            if priority < DEFAULT_PRIORITY:
                heap = self._background
        # `put`, for an item that is not listed: spelled out, and in the place of an old entry if
        # that is next. Both together save a fifth of what an item costs in the queue.
        self._created += 1
        entry = [turn_ns, self._created, item]
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

    def set_priority(self, item: T, priority: int) -> None:
        """Give `item` a priority, higher than before if it is listed."""
        before = self.get(item)
        if before is not None:
            levels = priority - self.priorities.of(item)
            self._created += 1
            entry = [before[0] - levels * self._ageing_ns, self._created, item]
            heap = self._heap if priority >= DEFAULT_PRIORITY else self._background
            self[item] = entry  # no call from here to the next line's, as in `put`
            heappush(heap, entry)
            before[2] = NOTHING
            self._drop_old()
        self.priorities.put(item, priority)

    def forget(self, item: T) -> None:
        """Forget the priority of an item that the queue does not know any more."""
        self.priorities.pop(item, None)

    def depths(self) -> dict[int, int]:
        """Return how many items are listed, by priority."""
        return dict(Counter(map(self.priorities.of, self)))

    def clear(self) -> None:
        super().clear()
        self._background = []

    def repair(self) -> None:
        background = set(map(id, self._background))  # what an item's hash raises must not end this
        super().repair()
        heaps: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        for entry in self._heap:
            heaps[id(entry) in background].append(entry)
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
        if not others:
            self._background_turns.had_one()
            return background
        if background and self._background_turns.is_next(has_waited=background[0] < others[0]):
            return background
        return others

    def release(self) -> None:
        """Give memory back: nothing is listed."""
        self.clear()
        if not self.priorities:
            self.priorities.clear()
