"""The work queue."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
import weakref
from collections import Counter

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import Queue
from tests.background import Background


def take(queue: Queue[str]) -> str:
    """Take an item that must be there."""
    assert len(queue) > 0, "a get would block"
    item, shutdown = queue.get()
    assert not shutdown
    return item


def idle_getters(queue: Queue[str], clock: FakeClock, count: int) -> None:
    """Wait until so many threads are blocked in get."""
    clock.wait_for(lambda: queue.statistics().idle_getters == count)


def draining(queue: Queue[str], clock: FakeClock, count: int = 1) -> None:
    """Wait until so many threads are blocked in shut_down_with_drain."""
    clock.wait_for(lambda: queue.statistics().drains == count)


# Adding, taking, giving back


def test_items_come_out_in_the_order_in_which_they_were_added() -> None:
    """WQ-04, WQ-05."""
    queue: Queue[str] = Queue()
    for item in "abc":
        queue.add(item)

    assert [take(queue) for _ in range(3)] == ["a", "b", "c"]


def test_an_item_that_is_listed_is_not_listed_again() -> None:
    """WQ-01, WQ-02."""
    queue: Queue[str] = Queue()
    for item in "aba":
        queue.add(item)

    assert len(queue) == 2
    assert [take(queue), take(queue)] == ["a", "b"]


def test_adds_of_an_item_in_hand_collapse_into_one_further_hand_out() -> None:
    """WQ-03, WQ-07, WQ-08."""
    queue: Queue[str] = Queue()
    queue.add("a")
    take(queue)
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 0

    queue.done("a")

    assert take(queue) == "a"
    queue.done("a")
    assert len(queue) == 0


def test_an_item_that_was_added_while_in_hand_goes_to_the_tail() -> None:
    """WQ-08: a hot key cannot starve the others."""
    queue: Queue[str] = Queue()
    queue.add("hot")
    take(queue)
    queue.add("b")
    queue.add("hot")

    queue.done("hot")

    assert [take(queue), take(queue)] == ["b", "hot"]


def test_a_second_worker_waits_for_an_item_that_is_in_hand() -> None:
    """WQ-07."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    queue.add("a")
    take(queue)
    queue.add("a")
    second = Background(queue.get)
    idle_getters(queue, clock, 1)

    queue.done("a")

    assert second.result() == ("a", False)


def test_an_add_wakes_a_getter_that_waits() -> None:
    """WQ-04, WQ-05."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    getter = Background(queue.get)
    idle_getters(queue, clock, 1)

    queue.add("a")

    assert getter.result() == ("a", False)


def test_a_burst_of_adds_wakes_as_many_getters_as_there_are_items() -> None:
    """WQ-04: each getter that leaves items behind wakes the next one."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    getters = [Background(queue.get) for _ in range(4)]
    idle_getters(queue, clock, 4)

    for item in "abc":
        queue.add(item)

    idle_getters(queue, clock, 1)
    queue.add("d")
    assert sorted(getter.result()[0] for getter in getters) == ["a", "b", "c", "d"]


def test_the_length_counts_listed_items_only() -> None:
    """WQ-13."""
    queue: Queue[str] = Queue()
    for item in "abc":
        queue.add(item)
    take(queue)
    queue.add("a")

    assert len(queue) == 2


def test_an_item_must_be_hashable() -> None:
    """WQ-15."""
    with pytest.raises(TypeError, match="unhashable"):
        Queue[list[str]]().add(["a"])  # type: ignore[type-var]


def test_equal_items_are_the_same_item() -> None:
    """WQ-15."""
    queue: Queue[tuple[str, str]] = Queue()
    queue.add(("default", "a"))
    queue.add(("default", "".join(["a"])))

    assert len(queue) == 1


def test_the_queue_keeps_no_reference_to_a_finished_item() -> None:
    """WQ-15."""

    class Item: ...

    queue: Queue[Item] = Queue()
    item = Item()
    gone = weakref.ref(item)
    queue.add(item)
    del item
    queue.done(queue.get()[0])
    gc.collect()

    assert gone() is None


# Misuse


@pytest.mark.parametrize("state", ["never seen", "listed", "done already"])
def test_a_done_for_an_item_that_nobody_holds_is_ignored_with_a_warning(
    state: str, caplog: pytest.LogCaptureFixture
) -> None:
    """WQ-09: client-go lists a listed item a second time (P-02)."""
    queue: Queue[str] = Queue(name="foos")
    if state != "never seen":
        queue.add("a")
    if state == "done already":
        queue.done(take(queue))
    before = queue.statistics()

    with caplog.at_level(logging.WARNING, "clientgo.workqueue"):
        queue.done("a")

    assert queue.statistics() == before
    (record,) = caplog.records
    assert "done('a') on work queue 'foos'" in record.getMessage()


def test_a_second_done_does_not_take_an_item_from_another_worker() -> None:
    """WQ-07, WQ-09."""
    queue: Queue[str] = Queue()
    queue.add("a")
    take(queue)
    queue.add("a")
    queue.done("a")
    queue.done("a")

    take(queue)

    assert len(queue) == 0


# Shutting down


def test_listed_items_are_still_handed_out_after_a_shutdown() -> None:
    """WQ-06."""
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.shut_down()

    assert queue.get() == ("a", False)
    assert queue.get() == (None, True)


def test_an_item_that_was_added_while_in_hand_is_listed_again_during_a_shutdown() -> None:
    """WQ-08."""
    queue: Queue[str] = Queue()
    queue.add("a")
    take(queue)
    queue.add("a")
    queue.shut_down()

    queue.done("a")

    assert queue.get() == ("a", False)


def test_an_add_after_a_shutdown_is_dropped() -> None:
    """WQ-10."""
    queue: Queue[str] = Queue()
    queue.add("in hand")
    take(queue)
    queue.shut_down()

    queue.add("a")
    queue.add("in hand")

    assert len(queue) == 0
    assert queue.statistics().dirty == 0


def test_a_shutdown_wakes_every_getter() -> None:
    """WQ-11."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    getters = [Background(queue.get) for _ in range(5)]
    idle_getters(queue, clock, 5)

    queue.shut_down()

    assert [getter.result() for getter in getters] == [(None, True)] * 5


def test_a_shutdown_does_not_wait_for_items_in_hand_and_may_be_repeated() -> None:
    """WQ-11."""
    queue: Queue[str] = Queue()
    queue.add("a")
    take(queue)

    queue.shut_down()
    queue.shut_down()

    assert queue.shutting_down


def test_leaving_a_with_block_shuts_the_queue_down() -> None:
    with Queue[str]() as queue:
        assert not queue.shutting_down

    assert queue.shutting_down


def test_a_drain_returns_when_the_last_item_in_hand_is_done() -> None:
    """WQ-12."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    for item in "ab":
        queue.add(item)
        take(queue)
    drain = Background(queue.shut_down_with_drain)
    draining(queue, clock)

    queue.done("a")
    draining(queue, clock)
    assert drain.is_running
    queue.done("b")

    drain.result()


def test_a_drain_of_an_idle_queue_returns_at_once() -> None:
    """WQ-12."""
    Queue[str]().shut_down_with_drain()


def test_a_shutdown_releases_every_running_drain() -> None:
    """WQ-12: the second signal."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    queue.add("a")
    take(queue)
    drains = [Background(queue.shut_down_with_drain) for _ in range(2)]
    draining(queue, clock, 2)

    queue.shut_down()

    for drain in drains:
        drain.result()


def test_several_drains_all_end_when_nothing_is_in_hand() -> None:
    """WQ-12: in client-go one of them can hang (P-02)."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    queue.add("a")
    take(queue)
    drains = [Background(queue.shut_down_with_drain) for _ in range(3)]
    draining(queue, clock, 3)

    queue.done("a")

    for drain in drains:
        drain.result()


def test_a_drain_does_not_wait_for_items_that_nobody_has_taken() -> None:
    """WQ-12."""
    queue: Queue[str] = Queue()
    queue.add("a")

    queue.shut_down_with_drain()

    assert len(queue) == 1


def test_a_drain_until_empty_also_waits_for_listed_items() -> None:
    """WQ-12: what P-02 asks for."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    queue.add("a")
    drain = Background(lambda: queue.shut_down_with_drain(until_empty=True))
    draining(queue, clock)

    queue.done(take(queue))

    drain.result()


def test_a_drain_lets_an_item_that_is_dirty_be_processed_once_more() -> None:
    """WQ-12."""
    clock = FakeClock()
    queue: Queue[str] = Queue(clock=clock)
    queue.add("a")
    take(queue)
    queue.add("a")
    drain = Background(queue.shut_down_with_drain)
    draining(queue, clock)

    queue.done("a")

    drain.result()
    assert queue.get() == ("a", False)


# Ordering, iteration, insight


class LastFirst:
    """A user's ordering."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.touched: list[str] = []

    def push(self, item: str) -> None:
        self.items.append(item)

    def pop(self) -> str:
        return self.items.pop()

    def touch(self, item: str) -> None:
        self.touched.append(item)

    def __len__(self) -> int:
        return len(self.items)


def test_the_order_is_the_users_if_the_user_gives_one() -> None:
    """WQ-14."""
    queue: Queue[str] = Queue(ordering=LastFirst())
    for item in "abc":
        queue.add(item)

    assert [take(queue) for _ in range(3)] == ["c", "b", "a"]


def test_an_ordering_hears_of_adds_of_listed_items_but_not_of_those_in_hand() -> None:
    """WQ-02, WQ-14."""
    ordering = LastFirst()
    queue: Queue[str] = Queue(ordering=ordering)
    queue.add("a")
    queue.add("a")
    take(queue)

    queue.add("a")
    queue.add("a")

    assert ordering.touched == ["a"]


def test_an_ordering_that_raises_leaves_the_queue_usable() -> None:
    class Picky(LastFirst):
        def push(self, item: str) -> None:
            if item == "bad":
                raise ValueError(item)
            super().push(item)

    queue: Queue[str] = Queue(ordering=Picky())
    with pytest.raises(ValueError, match="bad"):
        queue.add("bad")

    queue.add("good")

    assert take(queue) == "good"
    assert len(queue) == 0


@pytest.mark.parametrize("is_left", [False, True])
def test_an_item_that_the_ordering_refuses_when_it_is_done_may_be_added_again(
    is_left: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Picky(LastFirst):
        refuses = False

        def push(self, item: str) -> None:
            if self.refuses:
                raise ValueError(item)
            super().push(item)

    ordering = Picky()
    queue: Queue[str] = Queue(name="foos", ordering=ordering)
    queue.add("a")
    take(queue)
    queue.add("a")
    ordering.refuses = True
    if is_left:
        with queue._lock:
            queue.done("a")
    else:
        with pytest.raises(ValueError, match="a"):
            queue.done("a")
    assert "work queue 'foos': the item 'a' is dropped" in caplog.text
    ordering.refuses = False

    queue.add("a")

    assert take(queue) == "a"


def test_iterating_takes_items_and_gives_them_back() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b")
    queue.shut_down()
    seen = []

    for item in queue.items():
        seen.append(item)
        assert queue.statistics().processing == 1

    assert seen == ["a", "b"]
    assert queue.statistics().processing == 0


def test_statistics_show_the_queue_at_one_instant() -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue(name="", clock=clock)
    for item in "abcd":
        queue.add(item)
    take(queue)
    take(queue)
    queue.add("a")

    statistics = queue.statistics()

    assert (statistics.ready, statistics.processing, statistics.dirty) == (2, 2, 1)
    assert not statistics.shutting_down
    with pytest.raises(AttributeError):
        statistics.ready = 5  # type: ignore[misc]


def test_the_queue_loads_quickly_and_without_the_kubernetes_package() -> None:
    """AIO-12."""
    script = "import sys, clientgo.workqueue; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()

    foreign = {"kubernetes", "urllib3", "msgspec", "prometheus_client", "asyncio", "http"}
    assert foreign.isdisjoint(loaded)
    assert not [name for name in loaded if name.startswith(("clientgo.meta", "clientgo.rest"))]


# Many threads


@pytest.mark.parametrize("drain", [False, True])
def test_fifty_producers_and_ten_workers_come_to_an_end(drain: bool) -> None:
    """WQ-07, WQ-10, WQ-11, WQ-12."""
    queue: Queue[str] = Queue()
    in_hand: set[str] = set()
    lock = threading.Lock()
    handled: Counter[str] = Counter()

    def produce(producer: int) -> None:
        for number in range(50):
            queue.add(f"{producer}-{number}")

    def work() -> None:
        while True:
            item, shutdown = queue.get()
            if shutdown:
                return
            with lock:
                assert item not in in_hand
                in_hand.add(item)
                handled[item] += 1
            if handled[item] == 1:
                queue.add(item)
            with lock:
                in_hand.discard(item)
            queue.done(item)

    producers = [Background(lambda n=n: produce(n)) for n in range(50)]
    workers = [Background(work) for _ in range(10)]
    for producer in producers:
        producer.result()

    if drain:
        queue.shut_down_with_drain()
    else:
        queue.shut_down()
    queue.add("too late")

    for worker in workers:
        worker.result()
    assert len(queue) == 0
    assert len(handled) == 2500
    assert set(handled.values()) <= {1, 2}
    assert "too late" not in handled
