"""A queue whose operations are interrupted: by exceptions, signal handlers, and keys that raise."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import FIFO, DelayingQueue, PriorityQueue, Queue, RateLimitingQueue
from tests.background import Background
from tests.observe.metrics.recording import RecordingProvider


def fair_queue() -> PriorityQueue[int]:
    return PriorityQueue(fair_by=lambda key: str(key % 3))


QUEUES = [Queue, DelayingQueue, RateLimitingQueue, PriorityQueue, fair_queue]
KEYS = range(7)


class Interrupt(BaseException):
    """What Ctrl-C raises, without ending the test run."""


class OddKey:
    """A key that raises at a given use of its hash or equality, counted from `arm`.

    Only in the thread that has armed it: another one may do what the queue left to it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.fuse = -1
        self.thread = 0
        self.raises: type[BaseException] = ValueError

    def arm(self, uses: int, raises: type[BaseException] = ValueError) -> None:
        self.fuse, self.raises, self.thread = uses, raises, threading.get_ident()

    def _use(self) -> None:
        if threading.get_ident() != self.thread:
            return
        self.fuse -= 1
        if self.fuse == -1:
            raise self.raises(f"{self.name} cannot be compared")

    def __hash__(self) -> int:
        self._use()
        return 1

    def __eq__(self, other: object) -> bool:
        self._use()
        return isinstance(other, OddKey) and other.name == self.name


def all_of(queue: Queue[OddKey]) -> list[str]:
    names = []
    while len(queue):
        item, _ = queue.get()
        names.append(item.name)
        queue.done(item)
    return names


@contextmanager
def alarm(handler: Callable[[], object], seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda *_: handler())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


OPERATIONS: dict[str, Callable[[PriorityQueue[OddKey], OddKey], object]] = {
    "add": lambda queue, key: queue.add(key),
    "add with a priority": lambda queue, key: queue.add(key, priority=3),
    "add_after": lambda queue, key: queue.add_after(key, 60.0),
    "add_after without a delay": lambda queue, key: queue.add_after(key, 0.0),
    "add_rate_limited": lambda queue, key: queue.add_rate_limited(key),
    "schedule": lambda queue, key: queue.schedule(key, 60.0),
    "unschedule": lambda queue, key: queue.unschedule(key),
    "done": lambda queue, key: queue.done(key),
    "forget": lambda queue, key: queue.forget(key),
    "explain": lambda queue, key: queue.explain(key),
    "get": lambda queue, _: queue.get(),
    "shut_down": lambda queue, _: queue.shut_down(),
    "statistics": lambda queue, _: queue.statistics(),
}
STATES: dict[str, Callable[[PriorityQueue[OddKey], OddKey], object]] = {
    "unknown": lambda queue, key: None,
    "ready": lambda queue, key: queue.add(key, priority=2),
    "delayed": lambda queue, key: queue.add_after(key, 30.0, priority=2),
    "processing": lambda queue, key: (queue.add(key), queue.get()),
    "dirty": lambda queue, key: (queue.add(key), queue.get(), queue.add(key)),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("raises", [ValueError, Interrupt])
@pytest.mark.parametrize("fair_by", [None, lambda key: key.name[-1]])
def test_a_key_that_raises_once_leaves_the_queue_usable(
    fair_by: Callable[[OddKey], str] | None,
    operation: str,
    state: str,
    raises: type[BaseException],
) -> None:
    """FIELD-73. At whatever use of the key's hash and equality it raises."""
    for uses in range(12):
        queue: PriorityQueue[OddKey] = PriorityQueue(clock=FakeClock(), fair_by=fair_by)
        odd, other = OddKey("odd"), OddKey("other")
        STATES[state](queue, odd)
        queue.add(other, priority=-5)
        odd.arm(uses, raises)
        with contextmanager(_no_matter)():
            OPERATIONS[operation](queue, odd)
        odd.fuse = -1

        processing = queue.processing_items()
        for item in processing:
            queue.done(item)
        names = all_of(queue)
        if operation == "shut_down":
            assert queue.shutting_down or names.count("other") == 1
            continue
        assert (names.count("other") == 1) is (other not in processing), uses
        assert names.count("odd") <= 1, uses
        queue.add(odd)
        assert all_of(queue) == ["odd"], uses
        assert queue.depths() == {}, uses
        queue.shut_down()


def _no_matter() -> Iterator[None]:
    try:
        yield
    except (ValueError, Interrupt):
        return


def test_a_key_that_raises_for_ever_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(OddKey):
        works = True

        def _use(self) -> None:
            if not self.works:
                raise ValueError(self.name)

        __hash__ = OddKey.__hash__

    queue: Queue[OddKey | str] = Queue(name="foos")
    broken = Broken("broken")
    queue.add(broken)
    queue.add("other")
    broken.works = False

    with pytest.raises(ValueError, match="broken"):
        Background(queue.get).result(timeout=30)

    assert "work queue 'foos': the item" in caplog.text
    assert Background(queue.get).result(timeout=30) == ("other", False)


@pytest.mark.parametrize("make", QUEUES)
def test_an_interrupt_anywhere_in_the_main_thread_leaves_the_queue_usable(
    make: Callable[[], Queue[int]],
) -> None:
    """FIELD-73: Ctrl-C in a main thread that works the queue left its lock taken for ever."""
    chance = random.Random(7)

    def interrupt() -> None:
        raise Interrupt

    def work(queue: Queue[int], number: int) -> None:
        queue.add(number % 7)
        if isinstance(queue, PriorityQueue):
            queue.schedule((number + 2) % 7, 0.0, priority=1)
        if isinstance(queue, DelayingQueue):
            queue.add_after((number + 1) % 7, 0.0)
        item, _ = queue.get()
        if number % 3 == 0:
            queue.add(item)
        queue.done(item)

    def finish(queue: Queue[int]) -> set[int]:
        for item in queue.processing_items():
            queue.done(item)  # the interrupt came between its get and its done
        for key in KEYS:
            queue.add(key)
        seen = set()
        while len(queue):
            item, _ = queue.get()
            seen.add(item)
            queue.done(item)
        queue.shut_down()
        return seen

    for _ in range(60):
        queue = make()
        try:
            with alarm(interrupt, chance.uniform(0.00002, 0.0004)):
                for number in range(100_000):
                    work(queue, number)
        except Interrupt:
            pass
        assert Background(lambda queue=queue: finish(queue)).result(timeout=30) == set(KEYS)


def test_an_interrupted_get_takes_no_item() -> None:
    class Interrupting(FIFO[str]):
        armed = True

        def pop(self) -> str:  # type: ignore[override]
            item = self.popleft()
            if self.armed:
                self.armed = False
                raise Interrupt
            return item

    queue: Queue[str] = Queue(ordering=Interrupting())
    queue.add("a")
    with pytest.raises(Interrupt):
        queue.get()

    assert queue.statistics().processing == 0
    assert queue.get() == ("a", False)


def test_a_get_that_is_interrupted_after_it_took_an_item_lists_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_: str) -> None:
        raise Interrupt

    with Queue[str](name="foos", metrics=RecordingProvider()) as queue:
        queue.add("a")
        with monkeypatch.context() as patch:
            patch.setattr(queue._observer, "taken", interrupt)
            with pytest.raises(Interrupt):
                queue.get()

        assert queue.processing_items() == []
        assert queue.get() == ("a", False)


@pytest.mark.parametrize("make", QUEUES)
def test_a_signal_handler_may_shut_down_while_the_main_thread_works_the_queue(
    make: Callable[[], Queue[int]],
) -> None:
    """FIELD-72: it waited for the operation that it had interrupted."""
    chance = random.Random(3)
    for _ in range(60):
        queue = make()
        with alarm(queue.shut_down, chance.uniform(0.00002, 0.0004)):
            number, shutdown = 0, False
            while not shutdown:
                number += 1
                queue.add(number % 7)
                item, shutdown = queue.get()
                if not shutdown:
                    queue.done(item)
        assert queue.shutting_down
        queue.shut_down()


class Interrupted(FIFO[str]):
    """An ordering in which something interrupts the operation, as a signal handler would."""

    def __init__(self, handler: Callable[[], object]) -> None:
        super().__init__()
        self._handler = handler

    def push(self, item: str, /) -> None:
        super().append(item)
        handler, self._handler = self._handler, lambda: None
        handler()


@pytest.mark.parametrize(
    "use",
    [
        lambda queue: queue.shut_down(),
        lambda queue: queue.statistics(),
        lambda queue: queue.explain("a"),
        lambda queue: queue.processing_items(),
        lambda queue: queue.add_after("b", 1.0),
        lambda queue: queue.add_rate_limited("b"),
        lambda queue: queue.done("b"),
        lambda queue: queue.num_requeues("b"),
        lambda queue: len(queue),
    ],
)
def test_what_a_handler_may_call_does_not_wait_for_what_it_interrupts(
    use: Callable[[RateLimitingQueue[str]], object],
) -> None:
    used = threading.Event()
    ordering = Interrupted(lambda: (use(queue), used.set()))
    queue: RateLimitingQueue[str] = RateLimitingQueue(ordering=ordering, clock=FakeClock())

    Background(lambda: queue.add("a")).result(timeout=30)

    assert used.is_set()
    queue.shut_down()


def test_a_shutdown_that_interrupts_an_operation_comes_after_it() -> None:
    ordering = Interrupted(lambda: (queue.shut_down(), queue.add("late")))
    queue: Queue[str] = Queue(ordering=ordering)
    queue.add("a")

    assert queue.shutting_down
    assert queue.get() == ("a", False)
    queue.done("a")
    assert queue.get()[1]


def test_priorities_are_scheduled_without_waiting_for_the_lock() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    with queue._lock:
        Background(lambda: queue.schedule("a", 0.0, priority=2)).result(timeout=30)
        Background(lambda: queue.schedule("b", 60.0)).result(timeout=30)
        Background(lambda: queue.unschedule("b")).result(timeout=30)

    assert queue.depths() == {2: 1}
    assert queue.statistics().delayed == 0
    queue.shut_down()


def test_a_drain_that_interrupts_an_operation_is_refused_with_advice() -> None:
    errors: list[str] = []

    def drain() -> None:
        with pytest.raises(RuntimeError) as refusal:
            queue.shut_down_with_drain()
        errors.append(str(refusal.value))

    queue: Queue[str] = Queue(name="foos", ordering=Interrupted(drain))
    queue.add("a")

    assert errors == [
        "shut_down_with_drain of work queue 'foos' interrupts an operation of the same queue, "
        "which cannot end before it; in a signal handler call shut_down, or set an event that "
        "another thread waits for"
    ]


def test_a_get_in_a_handler_that_interrupts_an_operation_is_refused_with_advice() -> None:
    script = """
        from clientgo.workqueue import FIFO, Queue

        class Interrupted(FIFO):
            def push(self, item):
                try:
                    handler()
                except RuntimeError as error:
                    print(error)

        handler = lambda: queue.get()
        queue = Queue(name="foos", ordering=Interrupted())
        queue.add("a")
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "a signal handler uses work queue 'foos' while it interrupts" in result.stdout, result
