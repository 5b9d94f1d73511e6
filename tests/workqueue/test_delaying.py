"""Adding later."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from clientgo.testing import FakeClock
from clientgo.util.process import ThreadStartError
from clientgo.workqueue import FIFO, DelayingQueue, PriorityQueue, RateLimitingQueue
from tests.background import Background
from tests.threads import refused_threads


class Rig:
    """A delaying queue on a fake clock."""

    used: ClassVar[list[Rig]] = []

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.queue: DelayingQueue[str] = DelayingQueue(clock=self.clock, **options)
        self.used.append(self)

    def settle(self) -> None:
        """Wait until the queue has done all that is due, and waits for what is next."""

        def is_at_rest() -> bool:
            due = self.queue.statistics().next_due
            deadline = self.clock.next_deadline()
            if due is None:
                return deadline is None
            return due > self.clock.monotonic() and deadline is not None and deadline <= due

        self.clock.wait_for(is_at_rest)

    def step(self, seconds: float) -> None:
        self.settle()
        self.clock.step(seconds)
        self.settle()

    def listed(self) -> list[str]:
        """Take and give back all that is listed."""
        items = []
        while len(self.queue):
            items.append(self.queue.get()[0])
            self.queue.done(items[-1])
        return items


@pytest.fixture(autouse=True)
def _queues_end() -> Iterator[None]:
    yield
    while Rig.used:
        Rig.used.pop().queue.shut_down()


@pytest.mark.parametrize("delay", [0.0, -1.0, -math.inf])
def test_a_delay_that_is_not_positive_adds_at_once(delay: float) -> None:
    """DLY-01."""
    rig = Rig()

    rig.queue.add_after("a", delay)

    assert rig.listed() == ["a"]


def test_an_item_is_added_when_its_delay_has_passed_and_not_before() -> None:
    """DLY-01: the instant is fixed by the call."""
    rig = Rig()
    rig.queue.add_after("a", 0.05)

    rig.step(0.049)
    assert len(rig.queue) == 0
    rig.step(0.001)

    assert rig.listed() == ["a"]
    rig.step(10.0)
    assert rig.listed() == []


def test_a_getter_that_waits_is_woken_by_a_delay_that_ends() -> None:
    """DLY-05."""
    rig = Rig()
    rig.queue.add_after("a", 1.0)
    getter = Background(rig.queue.get)
    rig.settle()

    rig.clock.step(1.0)

    assert getter.result() == ("a", False)


@pytest.mark.parametrize("delays", [(1.0, 2.0), (2.0, 1.0)])
def test_of_two_delays_of_an_item_the_earlier_counts(delays: tuple[float, float]) -> None:
    """DLY-04."""
    rig = Rig()
    for delay in delays:
        rig.queue.add_after("a", delay)
    assert rig.queue.statistics().delayed == 1

    rig.step(1.0)

    assert rig.listed() == ["a"]
    rig.step(5.0)
    assert rig.listed() == []


def test_a_short_delay_overtakes_a_long_one() -> None:
    """DLY-05."""
    rig = Rig()
    rig.queue.add_after("late", 1.0)
    rig.settle()
    rig.queue.add_after("early", 0.5)

    rig.step(0.5)

    assert rig.listed() == ["early"]


def test_of_many_new_delays_the_shortest_is_the_next_to_end() -> None:
    """DLY-07: however many came since the thread last looked."""
    rig = Rig()
    for number in range(2000, 0, -1):
        rig.queue.add_after(f"in {number} s", float(number))
    rig.settle()

    rig.step(2.0)

    assert rig.listed() == ["in 1 s", "in 2 s"]


def test_items_come_in_the_order_in_which_their_delays_end() -> None:
    """DLY-05."""
    rig = Rig()
    for item, delay in (("c", 1.5), ("a", 0.5), ("b", 1.0)):
        rig.queue.add_after(item, delay)

    rig.step(2.0)

    assert rig.listed() == ["a", "b", "c"]


def test_decimal_delays_end_at_decimal_instants() -> None:
    rig = Rig()
    rig.step(0.1)
    rig.queue.add_after("a", 0.2)

    rig.step(0.2)

    assert rig.listed() == ["a"]


def test_a_delay_may_be_longer_than_the_heartbeat() -> None:
    """DLY-06."""
    rig = Rig()
    rig.queue.add_after("a", 25.0)
    rig.settle()
    assert rig.clock.next_deadline() == 10.0

    for _ in range(4):
        rig.step(6.0)
    assert len(rig.queue) == 0
    rig.step(1.0)

    assert rig.listed() == ["a"]


def test_adding_later_never_blocks_however_many_items_wait() -> None:
    """DLY-03: client-go blocks its caller once 1000 entries are under way to the thread."""
    rig = Rig()
    for number in range(5000):
        rig.queue.add_after(str(number), 1.0)

    rig.step(1.0)

    assert len(rig.queue) == 5000


def test_an_item_that_is_added_while_it_waits_comes_out_twice() -> None:
    """DLY-08, DLY-09: as in client-go."""
    rig = Rig()
    rig.queue.add_after("a", 1.0)
    rig.queue.add("a")
    assert rig.listed() == ["a"]

    rig.step(1.0)

    assert rig.listed() == ["a"]


@pytest.mark.parametrize("how", ["add", "add_after", "add twice"])
def test_an_add_can_be_told_to_end_the_wait(how: str) -> None:
    """DLY-08, DLY-09: what P-03 asks for."""
    rig = Rig(add_cancels_delay=True)
    if how == "add twice":
        rig.queue.add("a")
    rig.queue.add_after("a", 1.0)
    if how == "add_after":
        rig.queue.add_after("a", 0.0)
    else:
        rig.queue.add("a")

    assert rig.queue.statistics().delayed == 0
    assert rig.listed() == ["a"]
    rig.clock.step(1.0)
    assert len(rig.queue) == 0


def test_a_retry_that_is_due_while_its_item_is_in_hand_is_listed_by_done() -> None:
    """RLQ-03."""
    rig = Rig()
    rig.queue.add("a")
    rig.queue.get()
    rig.queue.add_after("a", 1.0)
    rig.step(1.0)
    assert len(rig.queue) == 0

    rig.queue.done("a")

    assert len(rig.queue) == 1


# Bad input


def test_a_delay_that_is_no_number_is_refused() -> None:
    rig = Rig()

    with pytest.raises(ValueError, match=r"add_after\('a', nan\)"):
        rig.queue.add_after("a", math.nan)
    assert rig.queue.statistics().delayed == 0


@pytest.mark.parametrize("delay", [math.inf, 1e300, 1e12])
def test_a_delay_beyond_every_clock_never_ends(delay: float) -> None:
    rig = Rig()
    rig.queue.add_after("a", delay)

    rig.step(1e6)

    assert len(rig.queue) == 0
    rig.queue.shut_down()


# Shutting down


@pytest.mark.parametrize("drain", [False, True])
def test_every_kind_of_shutdown_discards_what_waits_and_ends_the_thread(drain: bool) -> None:
    """DLY-10, DLY-11: after a drain, client-go's thread stays behind (P-05)."""
    before = set(threading.enumerate())
    rig = Rig()
    rig.queue.add_after("a", 1.0)
    (thread,) = set(threading.enumerate()) - before
    assert thread.daemon
    assert thread.name.startswith("workqueue-delays")

    if drain:
        rig.queue.shut_down_with_drain()
    else:
        rig.queue.shut_down()

    assert not thread.is_alive()
    assert rig.queue.statistics().delayed == 0
    assert rig.queue.get() == (None, True)
    rig.queue.shut_down()


def test_adding_later_after_a_shutdown_does_nothing() -> None:
    """DLY-02."""
    rig = Rig()
    rig.queue.shut_down()

    rig.queue.add_after("a", 0.0)
    rig.queue.add_after("a", 1.0)

    assert rig.queue.statistics().delayed == 0
    assert len(rig.queue) == 0


class Picky(FIFO[str]):
    """An ordering with a bug."""

    def push(self, item: str, /) -> None:
        if item == "bad":
            raise ValueError(item)
        super().append(item)


def test_a_delayed_item_that_the_ordering_refuses_is_dropped_and_the_others_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(ordering=Picky())
    rig.queue.add_after("bad", 1.0)
    rig.queue.add_after("good", 1.0)

    rig.step(1.0)

    assert rig.listed() == ["good"]
    assert "the delayed item 'bad' is dropped" in caplog.text


@pytest.mark.thread_failure
def test_a_queue_whose_delays_cannot_end_shuts_down(caplog: pytest.LogCaptureFixture) -> None:
    """Workers end and the program notices; the items would wait for ever."""

    class Broken(FakeClock):
        def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
            raise OSError("no clock")

    queue: DelayingQueue[str] = DelayingQueue(name="foos", clock=Broken())
    queue.add_after("a", 1.0)

    assert Background(queue.get).result(timeout=30) == (None, True)
    queue.shut_down()
    assert "thread workqueue-delays-foos ended by OSError: no clock" in caplog.text


def test_a_queue_that_never_delays_anything_has_no_thread() -> None:
    before = set(threading.enumerate())

    with DelayingQueue[str]() as queue:
        queue.add("a")
        queue.add_after("b", 0.0)
        assert set(threading.enumerate()) <= before


def test_the_real_clock_serves_as_well() -> None:
    """DLY-12."""
    with DelayingQueue[str]() as queue:
        queue.add_after("in an hour", 3600.0)
        queue.add_after("soon", 0.001)

        assert Background(queue.get).result() == ("soon", False)


def test_statistics_show_what_waits_and_for_when() -> None:
    rig = Rig()
    assert rig.queue.statistics().next_due is None
    rig.step(5.0)
    rig.queue.add_after("a", 2.0)
    rig.queue.add_after("b", 1.0)

    statistics = rig.queue.statistics()

    assert (statistics.delayed, statistics.next_due) == (2, 6.0)


@pytest.mark.parametrize("make", [DelayingQueue, RateLimitingQueue, PriorityQueue])
def test_a_delay_whose_thread_cannot_be_started_is_refused_and_the_next_one_comes(
    make: Callable[..., DelayingQueue[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIELD-74: later keys were accepted and never came."""
    clock = FakeClock()
    queue = make(clock=clock)
    with refused_threads(monkeypatch, at=1), pytest.raises(ThreadStartError):
        queue.add_after("a", 1.0)
    assert queue.statistics().delayed == 0

    queue.add_after("b", 1.0)
    clock.wait_for_waiters(1)
    clock.step(1.0)
    assert queue.get() == ("b", False)
    queue.shut_down()


def test_a_queue_whose_thread_could_not_be_started_shuts_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    with refused_threads(monkeypatch, at=1), pytest.raises(ThreadStartError):
        queue.add_after("a", 1.0)
    queue.shut_down()
    assert queue.get()[1]


def test_a_delay_that_was_left_to_another_thread_ends_at_once_without_a_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue: PriorityQueue[str] = PriorityQueue()
    with refused_threads(monkeypatch, at=1), queue._lock:
        queue.add_after("a", 60.0)
    with refused_threads(monkeypatch, at=1), queue._lock:
        queue.schedule("b", 60.0 + 1e9)

    assert queue.statistics().ready == 2
    assert "'a' is added without its delay: thread workqueue-delays-" in caplog.text
    queue.shut_down()
