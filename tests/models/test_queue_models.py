"""The work queues against plain models: any sequence of calls has the same outcome.

One thread calls, so that the outcome is certain. `test_queue_threads.py` has many threads.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from clientgo.testing import FakeClock
from clientgo.workqueue import (
    DelayingQueue,
    ItemExponentialFailureRateLimiter,
    Queue,
    RateLimitingQueue,
)
from tests.models.queue_models import DelayingModel, QueueModel, RateLimitingModel

ITEMS = st.sampled_from("abcd")
DELAYS = st.sampled_from([-1.0, 0.0, 0.5, 0.5, 1.0, 2.5, 30.0])
STEPS = st.sampled_from([0.25, 0.5, 1.0, 5.0])
RARELY = st.integers(0, 9).map(lambda number: number == 0)
BASE, MAXIMUM = 0.5, 3.0


class QueueMachine(RuleBasedStateMachine):
    """add, get, done, shut_down, shut_down_with_drain."""

    queue: Queue[str]
    model: QueueModel

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()

    @initialize()
    def build(self) -> None:
        self.queue, self.model = Queue(clock=self.clock), QueueModel()

    @rule(item=ITEMS)
    def add(self, item: str) -> None:
        self.queue.add(item)
        self.model.add(item)

    @precondition(lambda self: self.model.listed or self.model.shutting_down)
    @rule()
    def get(self) -> None:
        assert self.queue.get() == self.model.get()

    @rule(item=ITEMS)
    def done(self, item: str) -> None:
        self.queue.done(item)
        self.model.done(item)

    @rule(really=RARELY)
    def shut_down(self, really: bool) -> None:
        if really:
            self.queue.shut_down()
            self.model.shut_down()

    @precondition(lambda self: not self.model.in_hand)
    @rule(really=RARELY)
    def shut_down_with_drain(self, really: bool) -> None:
        if really:
            self.queue.shut_down_with_drain()
            self.model.shut_down()

    @invariant()
    def both_hold_the_same(self) -> None:
        statistics = self.queue.statistics()
        assert len(self.queue) == statistics.ready == len(self.model.listed)
        assert statistics.processing == len(self.model.in_hand)
        assert statistics.dirty == len(self.model.again)
        assert self.queue.shutting_down == self.model.shutting_down

    def teardown(self) -> None:
        self.queue.shut_down()


class DelayingMachine(QueueMachine):
    """And add_after, while time passes."""

    queue: DelayingQueue[str]
    model: DelayingModel

    @initialize(add_cancels_delay=st.booleans())
    def build(self, add_cancels_delay: bool) -> None:
        self.queue = DelayingQueue(clock=self.clock, add_cancels_delay=add_cancels_delay)
        self.model = DelayingModel(add_cancels_delay=add_cancels_delay)

    @rule(item=ITEMS, delay=DELAYS)
    def add_after(self, item: str, delay: float) -> None:
        self.queue.add_after(item, delay)
        self.model.add_after(item, delay)

    @rule(seconds=STEPS)
    def pass_time(self, seconds: float) -> None:
        self.clock.wait_for(self._is_at_rest)
        self.clock.step(seconds)
        self.clock.wait_for(self._is_at_rest)
        self.model.pass_time(seconds)

    @invariant()
    def the_same_items_wait(self) -> None:
        statistics = self.queue.statistics()
        assert statistics.delayed == len(self.model.due)
        first = min((due for due, _ in self.model.due.values()), default=None)
        assert statistics.next_due == first

    def _is_at_rest(self) -> bool:
        due = self.queue.statistics().next_due
        if due is None:
            return True
        wake_up = self.clock.next_deadline()
        return self.clock.monotonic() < due and wake_up is not None and wake_up <= due


class RateLimitingMachine(DelayingMachine):
    """And add_rate_limited, forget, num_requeues."""

    queue: RateLimitingQueue[str]
    model: RateLimitingModel

    @initialize(add_cancels_delay=st.booleans())
    def build(self, add_cancels_delay: bool) -> None:
        limiter = ItemExponentialFailureRateLimiter[str](BASE, MAXIMUM, clock=self.clock)
        self.queue = RateLimitingQueue(
            limiter, clock=self.clock, add_cancels_delay=add_cancels_delay
        )
        self.model = RateLimitingModel(BASE, MAXIMUM, add_cancels_delay=add_cancels_delay)

    @rule(item=ITEMS)
    def add_rate_limited(self, item: str) -> None:
        self.queue.add_rate_limited(item)
        self.model.add_rate_limited(item)

    @rule(item=ITEMS)
    def forget(self, item: str) -> None:
        self.queue.forget(item)
        self.model.forget(item)

    @invariant()
    def the_same_failures_count(self) -> None:
        for item in "abcd":
            assert self.queue.num_requeues(item) == self.model.failures.get(item, 0)


SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None)

TestQueue = QueueMachine.TestCase
TestQueue.settings = SETTINGS
TestDelayingQueue = DelayingMachine.TestCase
TestDelayingQueue.settings = SETTINGS
TestRateLimitingQueue = RateLimitingMachine.TestCase
TestRateLimitingQueue.settings = SETTINGS
