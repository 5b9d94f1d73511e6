"""A priority queue in which flows take turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.testing import FakeClock
from clientgo.workqueue import (
    LOW_PRIORITY,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
)
from clientgo.workqueue.metrics import MOST_FLOWS, OTHER_FLOWS
from tests.background import Background

BACKLOG = 10_000


def namespace(key: str) -> str:
    return key.partition("/")[0]


def make_queue(**settings: Any) -> tuple[PriorityQueue[str], FakeClock]:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 1.0, clock=clock)
    return PriorityQueue(limiter, fair_by=namespace, clock=clock, **settings), clock


def take(queue: PriorityQueue[str], count: int = 1) -> list[str]:
    items = []
    for _ in range(count):
        items.append(queue.get()[0])
        queue.done(items[-1])
    return items


def drain(queue: PriorityQueue[str]) -> list[str]:
    return take(queue, len(queue))


@pytest.mark.parametrize("before", [0, 1, 17])
def test_one_key_waits_for_one_key_of_a_namespace_that_has_ten_thousand(before: int) -> None:
    queue, _ = make_queue()
    for number in range(BACKLOG):
        queue.add(f"many/{number}")
    take(queue, before)

    queue.add("one/a")

    assert "one/a" in take(queue, 2)


def test_flows_take_turns_in_the_order_in_which_they_came() -> None:
    queue, _ = make_queue()
    for key in ("a/1", "a/2", "a/3", "b/1", "c/1", "c/2"):
        queue.add(key)

    assert drain(queue) == ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"]


def test_a_flow_that_comes_back_has_its_turn_after_those_that_wait() -> None:
    """It gains nothing by adding each key when the last one is done."""
    queue, _ = make_queue()
    for key in ("b/1", "b/2", "c/1", "c/2"):
        queue.add(key)
    order = []
    for number in range(3):
        queue.add(f"a/{number}")
        order += take(queue, 2)

    assert order == ["b/1", "c/1", "a/0", "b/2", "c/2", "a/1"]


def test_without_a_function_one_namespace_delays_the_others() -> None:
    """What the tests above compare with."""
    queue: PriorityQueue[str] = PriorityQueue()
    for number in range(100):
        queue.add(f"many/{number}")
    queue.add("one/a")

    assert drain(queue)[-1] == "one/a"
    assert queue.flow_depths() == {}


def test_a_higher_priority_comes_first_in_whatever_flow() -> None:
    queue, _ = make_queue()
    for number in range(3):
        queue.add(f"a/urgent-{number}", priority=5)
    queue.add("b/usual")
    queue.add("b/low", priority=LOW_PRIORITY)

    assert drain(queue) == ["a/urgent-0", "a/urgent-1", "a/urgent-2", "b/usual", "b/low"]


def test_a_higher_priority_is_overtaken_by_waiting_as_without_flows() -> None:
    """P-01."""
    queue, clock = make_queue(ageing=1.0)
    queue.add("a/low", priority=-10)
    taken_at = None
    for second in range(100):
        queue.add(f"b/{second}")
        if take(queue) == ["a/low"]:
            taken_at = second
            break
        clock.step(1.0)

    assert taken_at == 10


def test_an_old_backlog_of_low_priority_delays_a_live_change_by_one_key() -> None:
    """By waiting alone all of it would come first."""
    queue, clock = make_queue()
    for number in range(100):
        queue.add(f"many/{number}", priority=LOW_PRIORITY)
    clock.step(3600.0)

    queue.add("one/a")
    queue.add("many/live")

    assert set(take(queue, 3)) == {"many/0", "one/a", "many/live"}


def test_an_old_backlog_of_background_work_gets_a_tenth_of_the_turns() -> None:
    queue, clock = make_queue(ageing=1.0)
    for number in range(3):
        queue.add(f"a/{number}", priority=-25)
    turns = []
    for second in range(100):
        queue.add(f"b/{second}")
        turns += [second for key in take(queue) if key.startswith("a/")]
        clock.step(1.0)

    assert turns == [25, 35, 45]


def test_flows_share_the_turns_of_background_work() -> None:
    queue, clock = make_queue()
    for key in ("a/1", "a/2", "a/3", "b/1", "c/1"):
        queue.add(key, priority=LOW_PRIORITY)
    clock.step(3600.0)
    background = []
    for number in range(50):
        queue.add(f"live/{number}")
        background += [key for key in take(queue) if not key.startswith("live/")]

    assert background == ["a/1", "b/1", "c/1", "a/2", "a/3"]


def test_a_raised_key_goes_to_the_turns_of_its_new_priority_by_its_age() -> None:
    queue, clock = make_queue()
    queue.add("a/low", priority=LOW_PRIORITY)
    clock.step(1.0)
    for key in ("a/1", "a/2", "b/1"):
        queue.add(key)

    queue.add("a/low")

    assert queue.depths() == {0: 4}
    assert drain(queue) == ["a/low", "b/1", "a/1", "a/2"]


def test_a_key_that_was_added_while_it_was_processed_comes_again_in_its_turn() -> None:
    queue, _ = make_queue()
    for key in ("a/1", "a/2", "b/1"):
        queue.add(key)
    first, _ = queue.get()
    queue.add(first)
    assert queue.flow_depths() == {"a": 1, "b": 1}
    queue.done(first)

    assert queue.flow_depths() == {"a": 2, "b": 1}
    assert drain(queue) == ["b/1", "a/2", "a/1"]


def test_delayed_and_failed_keys_come_in_the_turns_of_their_flow() -> None:
    queue, clock = make_queue()
    with queue:
        for number in range(3):
            queue.add_after(f"a/{number}", 1.0)
        queue.add_after("b/later", 2.0, priority=3)
        queue.add_rate_limited("b/failed")
        queue.schedule("c/scheduled", clock.monotonic() + 1.0)
        assert queue.statistics().delayed == 6
        clock.wait_for_waiters(1)
        clock.step(1.0)
        clock.wait_for(lambda: len(queue) == 5)

        assert drain(queue) == ["a/0", "b/failed", "c/scheduled", "a/1", "a/2"]
        queue.unschedule("b/later")
        assert not queue._by_priority.priorities


def test_what_is_listed_comes_out_after_a_shutdown_and_nothing_is_added() -> None:
    queue, _ = make_queue()
    for key in ("a/1", "a/2", "b/1"):
        queue.add(key)
    queue.shut_down()
    queue.add("c/late")

    assert take(queue, 3) == ["a/1", "b/1", "a/2"]
    assert queue.get() == (None, True)
    assert queue._by_flow is not None
    assert not queue._by_flow.flows


def test_a_drain_waits_for_the_keys_of_all_flows() -> None:
    queue, clock = make_queue()
    for key in ("a/1", "a/2", "b/1"):
        queue.add(key)
    drained = Background(lambda: queue.shut_down_with_drain(until_empty=True))
    clock.wait_for(lambda: queue.statistics().drains == 1)

    assert take(queue, 2) == ["a/1", "b/1"]
    assert queue.statistics().drains == 1
    assert take(queue) == ["a/2"]
    drained.result(timeout=30)


def test_it_tells_what_is_ready_by_flow_and_by_priority() -> None:
    queue, _ = make_queue()
    queue.add("a/1")
    queue.add("a/2", priority=5)
    queue.add("b/1")

    assert queue.flow_depths() == {"a": 2, "b": 1}
    assert queue.depths() == {0: 2, 5: 1}
    assert queue.statistics().ready == 3


def test_it_explains_how_many_items_are_before_one_in_its_flow() -> None:
    queue, _ = make_queue()
    for key in ("a/1", "a/2", "a/3", "b/1"):
        queue.add(key)

    assert (
        str(queue.explain("a/3"))
        == "ready, one of 3 of flow 'a', of 4 in all; every worker is busy"
    )
    assert queue.explain("c/1").flow is None


def test_an_add_can_end_a_wait_in_a_fair_queue_too() -> None:
    queue, _ = make_queue(add_cancels_delay=True)
    with queue:
        queue.add_after("a/1", 60.0)
        queue.add("a/1")

        assert queue.statistics().delayed == 0
        assert drain(queue) == ["a/1"]


def test_an_empty_flow_is_forgotten() -> None:
    queue, clock = make_queue()
    for number in range(100):
        queue.add(f"{number}/a", priority=number % 3)
    drain(queue)

    ordering = queue._by_flow
    assert ordering is not None
    assert not ordering.flows
    assert not ordering.priorities
    assert not ordering._lanes
    assert len(ordering._turns) == 0
    worker = Background(queue.get)
    clock.wait_for(lambda: queue.statistics().idle_getters == 1)
    queue.shut_down()
    worker.result(timeout=30)


ADDS: dict[str, Callable[[PriorityQueue[str]], None]] = {
    "add": lambda queue: queue.add("bad"),
    "add with a priority": lambda queue: queue.add("bad", priority=2),
    "add_after": lambda queue: queue.add_after("bad", 1.0),
    "add_rate_limited": lambda queue: queue.add_rate_limited("bad"),
    "schedule": lambda queue: queue.schedule("bad", 1.0),
}


@pytest.mark.parametrize("add", ADDS)
def test_what_the_function_raises_is_raised_to_the_caller_and_nothing_is_added(add: str) -> None:
    def owner(key: str) -> str:
        return {"good": "a"}[key]

    queue: PriorityQueue[str] = PriorityQueue(fair_by=owner, clock=FakeClock())
    with pytest.raises(KeyError, match="bad"):
        ADDS[add](queue)
    queue.add("good")

    assert queue.statistics().delayed == 0
    assert drain(queue) == ["good"]


def test_a_flow_that_is_no_name_is_refused() -> None:
    queue: PriorityQueue[str] = PriorityQueue(fair_by=lambda _: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="the flow of 'a' is None; fair_by must return a name"):
        queue.add("a")

    assert len(queue) == 0


def test_the_function_is_called_once_an_add_without_the_lock() -> None:
    asked: list[tuple[str, bool]] = []

    def owner(key: str) -> str:
        asked.append((key, queue._lock.locked()))
        return key

    queue: PriorityQueue[str] = PriorityQueue(fair_by=owner, clock=FakeClock())
    queue.add("a")
    taken, _ = queue.get()
    queue.add(taken)
    queue.done(taken)
    drain(queue)

    assert asked == [("a", False), ("a", False)]


def test_a_key_keeps_its_flow_while_the_queue_knows_it() -> None:
    owners = {"x": "a"}
    queue: PriorityQueue[str] = PriorityQueue(fair_by=lambda key: owners.get(key, key))
    queue.add("x")
    owners["x"] = "b"
    queue.add("x")
    assert queue.flow_depths() == {"a": 1}
    drain(queue)

    queue.add("x")

    assert queue.flow_depths() == {"b": 1}


def test_an_add_while_another_thread_has_the_lock_is_in_its_flow() -> None:
    queue, _ = make_queue()
    queue.add("a/1")
    queue.add("a/2")
    with queue._lock:
        Background(lambda: queue.add("b/1")).result(timeout=30)

    assert drain(queue) == ["a/1", "b/1", "a/2"]


def test_turns_that_an_interrupt_has_torn_are_repaired() -> None:
    queue, _ = make_queue()
    for key in ("a/1", "a/2", "b/1"):
        queue.add(key)
    ordering = queue._by_flow
    assert ordering is not None
    ordering._turns.pop()  # a pop that went no further
    ordering._turns.put((0, "gone"), 0)
    ordering._listed = 7

    with queue._lock:
        queue._repair_locked()

    assert len(queue) == 3
    assert sorted(drain(queue)) == ["a/1", "a/2", "b/1"]


def test_a_key_that_is_added_again_each_time_has_every_other_turn() -> None:
    queue, _ = make_queue()
    for number in range(200):
        queue.add(f"many/{number}")
    queue.add("few/a")
    order: list[str] = []
    for _ in range(40):
        key, _shutdown = queue.get()
        order.append(key)
        if key == "few/a":
            queue.add(key)
        queue.done(key)

    assert order[1::2] == ["few/a"] * 20


class Rig:
    """A named fair queue and what it exports."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.clock = FakeClock()
        self.queue: PriorityQueue[str] = PriorityQueue(
            name="foos",
            metrics=PrometheusProvider(self._registry),
            clock=self.clock,
            fair_by=namespace,
        )
        self.clock.wait_for_waiters(1)
        self.queue.statistics()  # the thread that refreshes has given the lock back

    def value(self, series: str, flow: str) -> float | None:
        return self._registry.get_sample_value(series, {"name": "foos", "flow": flow})

    def flows(self) -> list[str]:
        return [
            sample.labels["flow"]
            for metric in self._registry.collect()
            for sample in metric.samples
            if sample.name == "workqueue_flow_depth"
        ]


def test_depth_and_waits_are_reported_by_flow() -> None:
    rig = Rig()
    for key in ("a/1", "a/2", "b/1"):
        rig.queue.add(key)
    assert rig.value("workqueue_flow_depth", "a") == 2

    rig.clock.step(0.25)
    take(rig.queue, 2)

    assert rig.value("workqueue_flow_depth", "a") == 1
    assert rig.value("workqueue_flow_depth", "b") == 0
    assert rig.value("workqueue_flow_queue_duration_seconds_sum", "b") == pytest.approx(0.25)
    rig.queue.shut_down()
    assert rig.flows() == ["a", "b"]
    take(rig.queue)
    assert rig.flows() == []


def test_the_flows_with_series_of_their_own_are_bounded() -> None:
    rig = Rig()
    for number in range(MOST_FLOWS + 50):
        rig.queue.add(f"{number}/a")

    assert rig.value("workqueue_flow_depth", "0") == 1
    assert rig.value("workqueue_flow_depth", OTHER_FLOWS) == 50
    assert len(rig.flows()) == MOST_FLOWS + 1
    drain(rig.queue)
    assert rig.value("workqueue_flow_depth", OTHER_FLOWS) == 0
    rig.queue.shut_down()
