"""What the work queues are, in as few words as possible: no threads, no locks, no clock."""

from __future__ import annotations


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
