"""Items with priorities."""

from __future__ import annotations

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import (
    LOW_PRIORITY,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
)


def make_queue(ageing: float = 3.0) -> tuple[PriorityQueue[str], FakeClock]:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 1.0, clock=clock)
    return PriorityQueue(limiter, ageing=ageing, clock=clock), clock


def drain(queue: PriorityQueue[str]) -> list[str]:
    items = []
    while len(queue):
        items.append(queue.get()[0])
        queue.done(items[-1])
    return items


def test_higher_priorities_come_first_and_equal_ones_in_order() -> None:
    queue, _ = make_queue()
    for item, priority in (("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)):
        queue.add(item, priority=priority)

    assert drain(queue) == ["b", "d", "a", "e", "c"]


def test_live_changes_overtake_an_initial_list() -> None:
    """P-01."""
    queue, clock = make_queue()
    for number in range(3):
        queue.add(f"initial {number}", priority=LOW_PRIORITY)
    clock.step(60.0)

    queue.add("live")

    assert drain(queue)[0] == "live"


def test_an_item_of_the_initial_list_that_changes_is_as_urgent_as_any_change() -> None:
    """P-01."""
    queue, _ = make_queue()
    for number in range(3):
        queue.add(f"initial {number}", priority=LOW_PRIORITY)

    queue.add("initial 2")

    assert drain(queue) == ["initial 2", "initial 0", "initial 1"]


def test_a_lower_priority_does_not_lower_that_of_a_listed_item() -> None:
    queue, _ = make_queue()
    queue.add("a", priority=5)
    queue.add("b", priority=1)

    queue.add("a", priority=LOW_PRIORITY)

    assert drain(queue) == ["a", "b"]


def test_nothing_starves_however_many_important_items_keep_coming() -> None:
    """P-01: an item of priority p is overtaken for p times the ageing, and no longer."""
    queue, clock = make_queue(ageing=1.0)
    queue.add("low", priority=-10)
    taken_at = None
    for second in range(1000):
        queue.add(f"important {second}")
        item, _ = queue.get()
        queue.done(item)
        if item == "low":
            taken_at = second
            break
        clock.step(1.0)

    assert taken_at == 10


def test_background_work_that_has_waited_long_delays_a_change_by_no_turn() -> None:
    """P-01: however much of it there is, and however long it has waited."""
    queue, clock = make_queue()
    for number in range(100):
        queue.add(f"initial {number}", priority=LOW_PRIORITY)
    clock.step(100_000.0)
    for change in range(30):
        assert queue.get()[0] == f"initial {change}"
        queue.done(f"initial {change}")
        queue.add("live")
        assert queue.get()[0] == "live"
        queue.done("live")


def test_background_work_that_has_waited_gets_a_tenth_of_the_turns() -> None:
    """P-01: that is all that changes without an end leave it; and no turn while it is young."""
    queue, clock = make_queue(ageing=1.0)
    for number in range(10):
        queue.add(f"initial {number}", priority=LOW_PRIORITY)

    def turns_of_background() -> list[int]:
        found = []
        for turn in range(40):
            queue.add(f"live {turn}")
            item, _ = queue.get()
            queue.done(item)
            if item.startswith("initial"):
                found.append(turn)
        return found

    assert turns_of_background() == []
    clock.step(100.0)
    assert turns_of_background() == [0, 10, 20, 30]


def test_an_item_that_is_raised_from_the_background_keeps_its_arrival() -> None:
    queue, clock = make_queue()
    queue.add("old", priority=LOW_PRIORITY)
    clock.step(1.0)
    queue.add("new")
    queue.add("old")

    assert queue.depths() == {0: 2}
    assert drain(queue) == ["old", "new"]


def test_an_item_keeps_its_priority_when_it_is_retried() -> None:
    """P-01: keep the priority on requeue."""
    queue, clock = make_queue()
    with queue:
        queue.add("important", priority=5)
        queue.get()
        queue.add_rate_limited("important")
        queue.done("important")
        queue.add_after("ordinary", 1.0)
        clock.wait_for_waiters(1)
        clock.step(1.0)
        clock.wait_for(lambda: len(queue) == 2)

        assert drain(queue) == ["important", "ordinary"]


def test_a_plain_add_raises_the_priority_of_an_item_that_waits_for_its_delay() -> None:
    queue, _ = make_queue()
    with queue:
        queue.add_after("low", 1.0, priority=LOW_PRIORITY)
        queue.add("other", priority=-1)

        queue.add("low")

        assert queue.depths() == {0: 1, -1: 1}
        assert drain(queue) == ["low", "other"]


def test_what_was_added_with_a_priority_does_not_change_what_comes_after_it() -> None:
    """A queue in which nothing has a priority takes fewer steps."""
    queue, _ = make_queue()
    plain = queue._is_plain
    queue.add("a", priority=5)
    queue.add("b", priority=LOW_PRIORITY)
    assert drain(queue) == ["a", "b"]

    assert plain
    assert queue._is_plain
    queue.shut_down()
    assert not queue._is_plain


def test_a_retry_can_raise_the_priority() -> None:
    queue, clock = make_queue()
    with queue:
        queue.add_after("a", 1.0)
        queue.add_after("b", 1.0, priority=1)
        queue.add_rate_limited("c", priority=2)
        clock.wait_for_waiters(1)
        clock.step(1.0)
        clock.wait_for(lambda: len(queue) == 3)

        assert drain(queue) == ["c", "b", "a"]


def test_an_item_that_is_added_while_in_hand_counts_by_its_higher_priority() -> None:
    queue, _ = make_queue()
    queue.add("a")
    queue.add("b", priority=1)
    assert queue.get() == ("b", False)
    queue.add("b", priority=7)
    queue.add("c", priority=5)

    queue.done("b")

    assert drain(queue) == ["b", "c", "a"]


def test_a_finished_item_has_no_priority_any_more() -> None:
    queue, _ = make_queue()
    queue.add("a", priority=5)
    drain(queue)
    assert not queue._by_priority.priorities

    queue.add("b")
    queue.add("a")

    assert drain(queue) == ["b", "a"]


def test_a_queue_in_which_waiting_does_not_count_is_refused() -> None:
    with pytest.raises(ValueError, match="starve"):
        PriorityQueue(ageing=0.0)


def test_an_add_after_a_shutdown_leaves_nothing_behind() -> None:
    queue, _ = make_queue()
    queue.shut_down()

    queue.add("a", priority=5)

    assert len(queue) == 0
    assert not queue._by_priority.priorities


def test_an_add_can_end_a_wait_here_too() -> None:
    clock = FakeClock()
    with PriorityQueue[str](clock=clock, add_cancels_delay=True) as queue:
        queue.add_after("a", 60.0, priority=3)

        queue.add("a")

        assert queue.statistics().delayed == 0
        assert drain(queue) == ["a"]


def test_it_tells_how_many_items_of_each_priority_are_ready() -> None:
    """OP-MET-06: wherever they come from and go to."""
    queue: PriorityQueue[str] = PriorityQueue()
    queue.add("a", priority=5)
    queue.add("b")
    queue.add("c")
    queue.add("c", priority=5)
    assert queue.depths() == {5: 2, 0: 1}
    taken, _ = queue.get()
    queue.add(taken, priority=9)
    assert queue.depths() == {5: 1, 0: 1}
    queue.done(taken)
    assert queue.depths() == {9: 1, 5: 1, 0: 1}


def ready_after(queue: PriorityQueue[str], clock: FakeClock, seconds: float) -> list[str]:
    """What is ready after so many seconds."""
    clock.wait_for_waiters()
    clock.step(seconds)
    clock.wait_for(lambda: (queue.statistics().next_due or 1e9) > clock.monotonic())
    return drain(queue)


def test_a_schedule_replaces_the_delay_that_an_item_has() -> None:
    """By an earlier instant and by a later one, with its priority."""
    queue, clock = make_queue()
    for item, first, second in (("later", 1.0, 8.0), ("sooner", 8.0, 1.0)):
        queue.schedule(item, clock.monotonic() + first, priority=50)
        queue.schedule(item, clock.monotonic() + second, priority=-50)
    queue.schedule("ordinary", clock.monotonic() + 1.0)

    assert ready_after(queue, clock, 2.0) == ["ordinary", "sooner"]
    assert ready_after(queue, clock, 6.0) == ["later"]
    queue.shut_down()


def test_what_is_scheduled_for_now_is_ready() -> None:
    queue, clock = make_queue()
    queue.schedule("a", clock.monotonic() + 5.0)
    queue.schedule("a", clock.monotonic(), priority=3)

    assert queue.depths() == {3: 1}
    assert queue.statistics().delayed == 0
    queue.shut_down()


def test_what_is_scheduled_for_now_loses_the_priority_that_it_had_for_later() -> None:
    queue, clock = make_queue()
    queue.schedule("a", clock.monotonic() + 10.0, priority=5)

    queue.schedule("a", clock.monotonic(), priority=0)

    assert queue.depths() == {0: 1}
    queue.shut_down()


def test_what_is_ready_needs_no_instant() -> None:
    """Nor does what was added while a worker has it."""
    queue, clock = make_queue()
    queue.add("listed")
    queue.schedule("listed", clock.monotonic() + 5.0)
    assert queue.get() == ("listed", False)
    queue.add("listed")
    queue.schedule("listed", clock.monotonic() + 5.0, priority=2)
    queue.done("listed")

    assert queue.statistics().delayed == 0
    assert queue.depths() == {2: 1}


def test_an_item_that_is_being_processed_can_be_scheduled() -> None:
    queue, clock = make_queue()
    queue.add("a", priority=7)
    queue.get()
    queue.schedule("a", clock.monotonic() + 5.0, priority=LOW_PRIORITY)
    queue.done("a")
    clock.wait_for_waiters()
    clock.step(5.0)
    clock.wait_for(lambda: len(queue) == 1)

    assert queue.depths() == {LOW_PRIORITY: 1}
    queue.shut_down()


def test_an_item_that_is_unscheduled_does_not_come() -> None:
    queue, clock = make_queue()
    queue.schedule("a", clock.monotonic() + 5.0)
    queue.add("b")
    for item in ("a", "b", "never seen"):
        queue.unschedule(item)

    assert queue.statistics().delayed == 0
    assert drain(queue) == ["b"]
    queue.shut_down()


def test_a_schedule_after_a_shutdown_leaves_nothing_behind() -> None:
    queue, clock = make_queue()
    queue.shut_down()
    queue.schedule("a", clock.monotonic() + 5.0)

    assert queue.statistics().delayed == 0
