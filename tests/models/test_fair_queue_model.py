"""A fair priority queue against a plain model, and its promise against both."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from clientgo.workqueue import PriorityQueue
from tests.models.queue_models import FairModel, Lane
from tests.models.test_queue_models import DELAYS, DelayingMachine

AGEING = 0.5
FLOWS = {"a": ["a1", "a2", "a3", "a4", "a5"], "b": ["b1", "b2", "b3"], "c": ["c1"]}
ITEMS = st.sampled_from([item for items in FLOWS.values() for item in items])
VERY_RARELY = st.integers(0, 30).map(lambda number: number == 0)
PRIORITIES = st.sampled_from([0, 0, 3, -4, -100])


class FairMachine(DelayingMachine):
    """All ways to add an item of some flow with some priority, while time passes."""

    queue: PriorityQueue[str]
    model: FairModel

    @initialize()
    def build(self) -> None:
        self.queue = PriorityQueue(ageing=AGEING, fair_by=lambda item: item[0], clock=self.clock)
        self.model = FairModel(AGEING)
        self.overtaken: dict[Lane, Counter[Lane]] = {}

    @rule(item=ITEMS, priority=PRIORITIES)
    def add(self, item: str, priority: int) -> None:
        self.queue.add(item, priority=priority)
        self.model.add_at(item, priority)

    @rule(flow=st.sampled_from(list(FLOWS)), priority=PRIORITIES)
    def add_all(self, flow: str, priority: int) -> None:
        for item in FLOWS[flow]:
            self.add(item, priority)

    @rule(item=ITEMS, delay=DELAYS, priority=st.none() | PRIORITIES)
    def add_after(self, item: str, delay: float, priority: int | None) -> None:
        self.queue.add_after(item, delay, priority=priority)
        self.model.add_after_at(item, delay, priority)

    @rule(item=ITEMS, delay=DELAYS, priority=PRIORITIES)
    def schedule(self, item: str, delay: float, priority: int) -> None:
        due = self.clock.monotonic() + delay
        self.queue.schedule(item, due, priority=priority)
        self.model.schedule(item, due, priority)

    @rule(item=ITEMS)
    def unschedule(self, item: str) -> None:
        self.queue.unschedule(item)
        self.model.unschedule(item)

    @precondition(lambda self: self.model.listed or self.model.shutting_down)
    @rule()
    def get(self) -> None:
        lane = self.model.lane_of_the_next_turn() if self.model.listed else None
        waiting = self.model.turns.keys() - {lane}
        assert self.queue.get() == self.model.get()
        if lane is None:
            return
        self.overtaken = {each: self.overtaken.get(each, Counter()) for each in waiting}
        for each, overtaking in self.overtaken.items():
            overtaking[lane] += 1
            is_promised = lane[0] <= each[0] and (lane[0] >= 0 or each[0] < 0)
            assert overtaking[lane] == 1 or not is_promised, f"{each} waits for two of {lane}"

    @rule(turns=st.sampled_from([2, 6, 12]), again=st.booleans())
    def take_turns(self, turns: int, again: bool) -> None:
        """Process items; with `again` each is added once more, as under a load without an end."""
        for _ in range(turns):
            if not self.model.listed:
                return
            before = self.model.in_hand.copy()
            lane = self.model.lane_of_the_next_turn()
            self.get()
            for item in self.model.in_hand - before:
                self.done(item)
                if again and lane[0] >= 0:
                    self.add(item, 0)

    @rule(item=ITEMS)
    def done(self, item: str) -> None:
        self.queue.done(item)
        self.model.done(item)

    @rule(really=VERY_RARELY)
    def shut_down(self, really: bool) -> None:
        if really:
            self.queue.shut_down()
            self.model.shut_down()

    @invariant()
    def both_list_the_same_in_each_flow_and_priority(self) -> None:
        lanes = [self.model.lane(item) for item in self.model.listed]
        assert self.queue.depths() == Counter(priority for priority, _ in lanes)
        assert self.queue.flow_depths() == Counter(flow for _, flow in lanes)

    @invariant()
    def what_is_not_known_is_forgotten(self) -> None:
        ordering = self.queue._by_flow
        assert ordering is not None
        assert ordering._lanes.keys() == self.model.turns.keys()
        assert ordering._turns.keys() | ordering._background.keys() == self.model.turns.keys()
        assert ordering._oldest.keys() == ordering._background.keys()
        if not self.model.shutting_down:
            assert all(self.model._knows(item) for item in ordering.flows)


TestFairQueue = FairMachine.TestCase
TestFairQueue.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
