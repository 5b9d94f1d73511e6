"""Adding from code that the garbage collector or a signal runs while the queue is at work."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable

import pytest

from clientgo.workqueue import (
    FIFO,
    DelayingQueue,
    Ordering,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
)
from tests.background import Background


class Interrupting(FIFO[str]):
    """An ordering in whose calls something else runs, as if the collector had come."""

    def __init__(self) -> None:
        super().__init__()
        self.run: Callable[[], object] = lambda: None

    def push(self, item: str, /) -> None:
        super().append(item)
        self._interrupt()

    def pop(self) -> str:  # type: ignore[override]
        self._interrupt()
        return super().popleft()

    def touch(self, item: str, /) -> None:
        self._interrupt()

    def _interrupt(self) -> None:
        run, self.run = self.run, lambda: None
        run()


def all_of(queue: Queue[str]) -> list[str]:
    items = []
    while len(queue):
        items.append(queue.get()[0])
        queue.done(items[-1])
    return items


@pytest.mark.parametrize("item", ["a", "b"])
@pytest.mark.parametrize("interrupted", ["add", "add again", "get", "done"])
def test_an_add_inside_an_operation_of_the_same_thread_counts(interrupted: str, item: str) -> None:
    ordering = Interrupting()
    queue: Queue[str] = Queue(ordering=ordering)
    expected = {item, "a"}

    def work() -> list[str]:
        if interrupted == "add":
            ordering.run = lambda: queue.add(item)
        queue.add("a")
        if interrupted == "add again":
            ordering.run = lambda: queue.add(item)
            queue.add("a")
        if interrupted == "get":
            ordering.run = lambda: queue.add(item)
            queue.get()
            queue.done("a")
            expected.discard("a" if item == "b" else "")
        if interrupted == "done":
            queue.get()
            queue.add("a")
            ordering.run = lambda: queue.add(item)
            queue.done("a")
        return all_of(queue)

    assert set(Background(work).result(timeout=30)) == expected


@pytest.mark.parametrize(
    "add",
    [
        lambda queue: queue.add_after("b", -1.0),
        lambda queue: queue.add_after("b", -1.0, priority=3),
        lambda queue: queue.add("b", priority=3),
    ],
)
def test_every_way_to_add_may_be_re_entered(add: Callable[[PriorityQueue[str]], None]) -> None:
    queue: PriorityQueue[str] = PriorityQueue()
    with queue._lock:
        add(queue)
        queue.add("c")

    assert all_of(queue) == ["b", "c"]


def test_a_finalizer_that_the_collector_runs_inside_the_queue_may_add() -> None:
    """A `__del__` that enqueued its object's key deadlocked the thread that collected it."""
    queue: RateLimitingQueue[str] = RateLimitingQueue()
    finalized = []

    class Session:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            finalized.append(self)
            queue.add("finalized")

    def work() -> None:
        for number in range(300):
            Session()
            queue.add(f"a{number}")
            item, _ = queue.get()
            queue.done(item)

    thresholds = gc.get_threshold()
    gc.set_threshold(3)
    try:
        Background(work).result(timeout=60)
    finally:
        gc.set_threshold(*thresholds)
    assert len(finalized) > 100
    while len(queue):
        item, _ = queue.get()
        queue.done(item)
    assert queue.statistics().processing == 0


def test_a_signal_handler_may_add_while_the_main_thread_is_in_the_queue() -> None:
    queue: Queue[str] = Queue()
    before = signal.signal(signal.SIGALRM, lambda *_: queue.add("signal"))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    seen = 0
    try:
        while seen < 20:
            queue.add("a")
            item, _ = queue.get()
            seen += item == "signal"
            queue.done(item)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_an_add_while_the_lock_is_taken_does_not_block_and_wakes_a_getter() -> None:
    queue: Queue[str] = Queue()
    getter = Background(queue.get)
    with queue._lock:
        Background(lambda: queue.add("a")).result(timeout=30)

    assert getter.result(timeout=30) == ("a", False)


def test_what_was_added_while_the_lock_was_taken_comes_out_after_a_shutdown() -> None:
    queue: Queue[str] = Queue()
    queue._lock.acquire()
    queue.add("a")
    queue._lock.release()

    queue.shut_down()
    queue.add("late")

    assert queue.get() == ("a", False)
    queue.done("a")
    assert queue.get()[1]


def test_what_was_added_while_the_lock_was_taken_keeps_its_place() -> None:
    queue: Queue[str] = Queue()
    queue._lock.acquire()
    queue.add("a")
    queue._lock.release()
    queue.add("b")

    assert all_of(queue) == ["a", "b"]


def test_what_is_no_item_is_refused_to_the_caller_also_while_the_lock_is_taken() -> None:
    queue: DelayingQueue[list[str]] = DelayingQueue()  # type: ignore[type-var]
    with queue._lock, pytest.raises(TypeError, match="unhashable"):
        queue.add([])


def test_an_ordering_that_fails_for_what_was_left_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Picky(FIFO[str]):
        def push(self, item: str, /) -> None:
            raise ValueError(item)

    ordering: Ordering[str] = Picky()
    queue: Queue[str] = Queue(name="foos", ordering=ordering)
    with queue._lock:
        queue.add("bad")

    assert "work queue 'foos': the ordering failed for 'bad'" in caplog.text
