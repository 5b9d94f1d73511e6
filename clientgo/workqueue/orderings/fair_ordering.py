"""The order of a priority queue in which flows take turns.

A flow is a set of items that share a name: those of one namespace, tenant or owner. The items of
one flow and one priority are a *lane*: first in, first out. A turn is one item of one lane.

Promises: until a lane has its turn, no other lane of the same or a lower priority has two. So one
item waits for at most one item of each other flow and priority, however many these flows have.
Background work is as in `PriorityOrdering`: once some of it has waited, one turn in ten.

Waiting counts as priority, as there, but a lane's waiting begins again with each of its turns: if
that of each item counted, 10,000 items that had waited long enough would all come before the next
of a higher priority.

Does not promise shares of the workers' time: a turn is an item, however long its work takes.

controller-runtime has no such order; its proposal (pull request 3261) ranks flows within a
priority too, by how many of their items were returned.

Not thread-safe: a queue calls its ordering under its lock.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from clientgo.util.clock import Clock, monotonic_ns, nanoseconds
from clientgo.workqueue.orderings.due_heap import DueHeap
from clientgo.workqueue.orderings.ordering import Ordering, T
from clientgo.workqueue.orderings.priority_ordering import (
    DEFAULT_PRIORITY,
    BackgroundTurns,
    Priorities,
)

Lane: TypeAlias = tuple[int, str]
"""A priority and a flow."""


class FairOrdering(Ordering[T]):
    """Lists items in lanes, and lanes by the instants at which their turns come."""

    def __init__(self, ageing: float, clock: Clock) -> None:
        self._ageing_ns = nanoseconds(ageing)
        self._now_ns = monotonic_ns(clock)
        self.priorities: Priorities[T] = Priorities()
        self.flows: dict[T, str] = {}
        """The flows of all items that the queue knows."""
        self._lanes: dict[Lane, DueHeap[T]] = {}
        """The lanes that have items, which are ordered by their arrival."""
        self._turns: DueHeap[Lane] = DueHeap()
        self._background: DueHeap[Lane] = DueHeap()
        """The turns of the lanes of negative priority."""
        self._oldest: DueHeap[Lane] = DueHeap()
        """The same lanes, by how long their next item has waited."""
        self._background_turns = BackgroundTurns()
        self._listed = 0

    def push(self, item: T, /) -> None:
        now_ns = self._now_ns()
        self._list(item, now_ns, now_ns)
        self._listed += 1

    def pop(self) -> T:
        lane = self._next_turns().pop()
        items = self._lanes[lane]
        item = items.pop()
        self._listed -= 1
        if items:
            self._begin_waiting(lane, self._now_ns())
        else:
            self._end(lane)
        return item

    def touch(self, item: T, /) -> None:
        """Leave the item where it is: `set_priority` has moved it if need be."""

    def __len__(self) -> int:
        return self._listed

    def flow(self, item: T) -> str:
        return self.flows.get(item, "")

    def set_priority(self, item: T, priority: int) -> None:
        """Give `item` a priority; one that is listed goes to its new lane, by its arrival."""
        lane = (self.priorities.of(item), self.flow(item))
        items = self._lanes.get(lane)
        arrival_ns = None if items is None else items.due_ns(item)
        self.priorities.put(item, priority)
        if items is None or arrival_ns is None:
            return
        items.discard(item)
        if not items:
            self._end(lane)
        self._list(item, arrival_ns, self._now_ns())

    def forget(self, item: T) -> None:
        """Forget priority and flow of an item that the queue does not know any more."""
        self.priorities.pop(item, None)
        self.flows.pop(item, None)

    def depths(self) -> dict[int, int]:
        """Return how many items are listed, by priority."""
        return self._depths(0)

    def flow_depths(self) -> dict[str, int]:
        """Return how many items are listed, by flow."""
        return self._depths(1)

    def release(self) -> None:
        """Give memory back: nothing is listed."""
        self._lanes.clear()
        for turns in (self._turns, self._background, self._oldest):
            turns.clear()
        for known in (self.priorities, self.flows):
            if not known:
                known.clear()

    def repair(self) -> None:
        """Make turns and lanes agree again, after an operation that was interrupted."""
        self._lanes = {lane: items for lane, items in self._lanes.items() if items}
        self._listed = sum(map(len, self._lanes.values()))
        waiting = self._turns.keys() | self._background.keys() | self._oldest.keys()
        for lane in waiting - self._lanes.keys():
            self._end(lane)
        for lane in self._lanes:
            self._begin_waiting(lane, self._now_ns())

    def _list(self, item: T, arrival_ns: int, now_ns: int) -> None:
        lane = (self.priorities.of(item), self.flow(item))
        items = self._lanes.get(lane)
        if items is None:
            items = self._lanes[lane] = DueHeap()
        is_first = items.put(item, arrival_ns)
        if is_first:
            self._begin_waiting(lane, now_ns)

    def _begin_waiting(self, lane: Lane, now_ns: int) -> None:
        """Let a lane wait for its turn from now on, unless it waits already."""
        priority, _ = lane
        gained_ns = priority * self._ageing_ns
        if priority >= DEFAULT_PRIORITY:
            self._turns.put(lane, now_ns - gained_ns)
            return
        self._background.put(lane, now_ns - gained_ns)
        arrival_ns = self._lanes[lane].first_due_ns()
        if arrival_ns is not None:
            self._oldest.discard(lane)
            self._oldest.put(lane, arrival_ns - gained_ns)

    def _end(self, lane: Lane) -> None:
        """Forget a lane that has no items any more."""
        self._lanes.pop(lane, None)
        priority, _ = lane
        if priority >= DEFAULT_PRIORITY:
            self._turns.discard(lane)
        else:
            self._background.discard(lane)
            self._oldest.discard(lane)

    def _next_turns(self) -> DueHeap[Lane]:
        """Return the turns of which the first is next."""
        if not self._background:
            return self._turns
        others_ns, oldest_ns = self._turns.first_due_ns(), self._oldest.first_due_ns()
        if others_ns is None:
            self._background_turns.had_one()
            return self._background
        has_waited = oldest_ns is not None and oldest_ns <= others_ns
        is_next = self._background_turns.is_next(has_waited=has_waited)
        return self._background if is_next else self._turns

    def _depths(self, part: int) -> dict[Any, int]:
        counts: Counter[Any] = Counter()
        for lane, items in self._lanes.items():
            counts[lane[part]] += len(items)
        return dict(counts)
