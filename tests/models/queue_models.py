"""What the work queues are, in as few words as possible: no threads, no locks, no clock."""

from __future__ import annotations

from collections.abc import Sequence


class QueueModel:
    """A list of items that need work, and who of them is in hand or needs work again."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self.in_hand: set[str] = set()
        self.again: set[str] = set()
        self.shutting_down = False

    def add(self, item: str) -> None:
        if self.shutting_down:
            return
        if item in self.in_hand:
            self.again.add(item)
        else:
            self.list(item)

    def get(self) -> tuple[str | None, bool]:
        if not self.listed:
            return None, True
        item = self.listed.pop(0)
        self.in_hand.add(item)
        return item, False

    def done(self, item: str) -> None:
        self.in_hand.discard(item)
        if item in self.again:
            self.again.discard(item)
            self.list(item)

    def shut_down(self) -> None:
        self.shutting_down = True

    def list(self, item: str) -> None:
        if item not in self.listed:
            self.listed.append(item)


class DelayingModel(QueueModel):
    """And the instants at which items will be added."""

    def __init__(self, *, add_cancels_delay: bool) -> None:
        super().__init__()
        self.now = 0.0
        self.due: dict[str, tuple[float, int]] = {}
        self._calls = 0
        self._add_cancels_delay = add_cancels_delay

    def add_after(self, item: str, delay: float) -> None:
        self._calls += 1
        if delay <= 0:
            self.add(item)
        elif not self.shutting_down:
            due = (self.now + delay, self._calls)
            if item not in self.due or due[0] < self.due[item][0]:
                self.due[item] = due

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for item in sorted(self.due, key=lambda item: self.due[item]):
            if self.due[item][0] <= self.now:
                del self.due[item]
                self.add(item)

    def shut_down(self) -> None:
        super().shut_down()
        self.due.clear()

    def list(self, item: str) -> None:
        if self._add_cancels_delay:
            self.due.pop(item, None)
        super().list(item)


class RateLimitingModel(DelayingModel):
    """And how often each item has failed."""

    def __init__(self, base: float, maximum: float, *, add_cancels_delay: bool) -> None:
        super().__init__(add_cancels_delay=add_cancels_delay)
        self._base = base
        self._maximum = maximum
        self.failures: dict[str, int] = {}

    def add_rate_limited(self, item: str) -> None:
        earlier = self.failures.get(item, 0)
        self.failures[item] = earlier + 1
        self.add_after(item, min(self._base * 2**earlier, self._maximum))

    def forget(self, item: str) -> None:
        self.failures.pop(item, None)


Lane = tuple[int, str]
"""A priority and a flow."""


class FairModel(DelayingModel):
    """And priorities, and flows that take turns. The flow of an item is its first letter."""

    def __init__(self, ageing: float) -> None:
        super().__init__(add_cancels_delay=False)
        self._ageing = ageing
        self.priorities: dict[str, int] = {}
        self._arrived: dict[str, tuple[float, int]] = {}
        self.turns: dict[Lane, tuple[float, int]] = {}
        self._others = 0
        """How many turns in a row other work had while background work was ready."""

    def lane(self, item: str) -> Lane:
        return self.priorities.get(item, 0), item[0]

    def lane_of_the_next_turn(self) -> Lane:
        return self._next()[0]

    def _next(self) -> tuple[Lane, int]:
        """The lane that is next, and what `_others` is after its turn."""
        others = [lane for lane in self.turns if lane[0] >= 0]
        background = [lane for lane in self.turns if lane[0] < 0]
        if not (others and background):
            return min(self.turns, key=self.turns.__getitem__), 0 if background else self._others
        longest = min(
            self._arrived[item][0] - lane[0] * self._ageing
            for lane in background
            for item in self._in_lane(lane)
        )
        first = min(others, key=self.turns.__getitem__)
        if self._others >= 9 and longest <= self.turns[first][0]:
            return min(background, key=self.turns.__getitem__), 0
        return first, self._others + 1

    def add_at(self, item: str, priority: int) -> None:
        if not self.shutting_down:
            self._raise(item, priority)
            self.add(item)

    def add_after_at(self, item: str, delay: float, priority: int | None) -> None:
        if not self.shutting_down:
            if priority is not None:
                self._raise(item, priority)
            self.add_after(item, delay)

    def schedule(self, item: str, due: float, priority: int) -> None:
        if self.shutting_down:
            return
        self.due.pop(item, None)
        if due <= self.now or item in self.listed or item in self.again:
            self.add_at(item, priority)
            return
        self.priorities[item] = priority
        self._calls += 1
        self.due[item] = (due, self._calls)

    def unschedule(self, item: str) -> None:
        self.due.pop(item, None)
        self._forget_unknown(item)

    def get(self) -> tuple[str | None, bool]:
        if not self.listed:
            return None, True
        lane, self._others = self._next()
        item = min(self._in_lane(lane), key=lambda each: self._arrived[each])
        self.listed.remove(item)
        self.in_hand.add(item)
        del self.turns[lane]
        self._begin_turn(lane)
        return item, False

    def done(self, item: str) -> None:
        super().done(item)
        self._forget_unknown(item)

    def list(self, item: str) -> None:
        if item not in self.listed:
            self.listed.append(item)
            self._calls += 1
            self._arrived[item] = (self.now, self._calls)
            self._begin_turn(self.lane(item))

    def _raise(self, item: str, priority: int) -> None:
        if self._knows(item) and priority <= self.priorities.get(item, 0):
            return
        before = self.lane(item)
        self.priorities[item] = priority
        if item in self.listed:
            if not self._in_lane(before):
                del self.turns[before]
            self._calls += 1
            self._arrived[item] = (self._arrived[item][0], self._calls)
            self._begin_turn(self.lane(item))

    def _begin_turn(self, lane: Lane) -> None:
        if lane not in self.turns and self._in_lane(lane):
            self._calls += 1
            self.turns[lane] = (self.now - lane[0] * self._ageing, self._calls)

    def _in_lane(self, lane: Lane) -> Sequence[str]:
        return [item for item in self.listed if self.lane(item) == lane]

    def _knows(self, item: str) -> bool:
        return item in self.listed or item in self.in_hand or item in self.due

    def _forget_unknown(self, item: str) -> None:
        if not self._knows(item):
            self.priorities.pop(item, None)
