"""What every queue does for its consumers: waiting, turns, closing, saying how it is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import (
    Delta,
    DeltaFIFO,
    DeltaType,
    Queue,
    QueueClosedError,
    QueueMetrics,
    RealFIFO,
)
from clientgo.cache.queues.handover import HIGH_WATER
from clientgo.testing import FakeClock
from tests.cache.builders import foo
from tests.cache.recorder import Recorder


@pytest.fixture(params=[DeltaFIFO, RealFIFO])
def queue(request: pytest.FixtureRequest) -> Any:
    return request.param()


def ignore(entry: Any, initial: bool) -> None:
    pass


def start(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_a_pop_waits_for_an_entry(queue: Any) -> None:
    """DFI-12, RFI-10."""
    popped = threading.Event()
    consumer = start(lambda: (queue.pop(ignore), popped.set()))
    queue.add(foo("a"))
    assert popped.wait(30)
    consumer.join(30)


def test_closing_wakes_every_waiting_consumer(queue: Any) -> None:
    """DFI-18, RFI-10."""
    outcomes: list[type] = []

    def consume() -> None:
        try:
            queue.pop(ignore)
        except QueueClosedError as error:
            outcomes.append(type(error))

    consumers = [start(consume) for _ in range(10)]
    queue.close()
    for consumer in consumers:
        consumer.join(30)
    assert outcomes == [QueueClosedError] * 10


def test_a_closed_queue_is_emptied_first_and_still_takes_changes(queue: Any) -> None:
    """DFI-18."""
    queue.add(foo("a"))
    assert not queue.is_closed()
    queue.close()
    queue.add(foo("b"))
    assert queue.is_closed()

    queue.pop(ignore)
    queue.pop(ignore)
    with pytest.raises(QueueClosedError):
        queue.pop(ignore)


def test_entries_are_processed_one_at_a_time(queue: Any) -> None:
    """RFI-13: a second consumer waits for the first to finish."""
    queue.add(foo("a"))
    queue.add(foo("b"))
    first_is_in, first_may_go = threading.Event(), threading.Event()
    order: list[str] = []

    def slow(entry: Any, initial: bool) -> None:
        first_is_in.set()
        first_may_go.wait(30)
        order.append("first")

    first = start(lambda: queue.pop(slow))
    assert first_is_in.wait(30)
    second = start(lambda: queue.pop(lambda entry, initial: order.append("second")))
    assert queue.statistics().in_flight == 1
    first_may_go.set()
    first.join(30)
    second.join(30)
    assert order == ["first", "second"]
    assert queue.statistics().in_flight == 0


def test_a_process_function_that_pops_gets_an_error(queue: Any) -> None:
    queue.add(foo("a"))
    queue.add(foo("b"))
    with pytest.raises(RuntimeError, match="process function"):
        queue.pop(lambda entry, initial: queue.pop(ignore))
    queue.pop(ignore)


@pytest.mark.parametrize("make", [DeltaFIFO, RealFIFO])
class TestABacklog:
    def test_producers_let_a_consumer_that_is_far_behind_finish_its_batch(self, make: Any) -> None:
        """RFI-13."""
        queue = make()
        queue.apply(changes(HIGH_WATER + 2))
        waiting = announce_waits(queue)
        order: list[str] = []

        def process(entry: Any, initial: bool) -> None:
            nonlocal producer
            producer = start(lambda: (queue.add(foo("late")), order.append("queued")))
            assert waiting.wait(30)
            order.append("processed")

        producer: threading.Thread
        queue.pop(process)
        producer.join(30)
        assert order == ["processed", "queued"]

    def test_a_process_function_may_queue_changes_all_the_same(self, make: Any) -> None:
        """RFI-13."""
        queue = make()
        queue.apply(changes(HIGH_WATER + 2))
        queue.pop(lambda entry, initial: queue.add(foo("late")))
        assert queue.statistics().pending == HIGH_WATER + 2

    def test_closing_lets_producers_go(self, make: Any) -> None:
        """DFI-18, RFI-13."""
        queue = make()
        queue.apply(changes(HIGH_WATER + 2))
        waiting = announce_waits(queue)

        def process(entry: Any, initial: bool) -> None:
            producer = start(lambda: queue.add(foo("late")))
            assert waiting.wait(30)
            queue.close()
            producer.join(30)
            assert not producer.is_alive()

        queue.pop(process)


@pytest.mark.parametrize("make", [DeltaFIFO, RealFIFO])
class TestInsight:
    def test_slow_processing_with_a_backlog_is_logged(
        self, make: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """DFI-19, RFI-16."""
        clock = FakeClock()
        queue: Queue = make(name="foos", clock=clock)
        queue.apply(changes(20))
        with caplog.at_level(logging.WARNING, "clientgo.cache"):
            queue.pop(lambda entry, initial: clock.step(0.1))
            assert not caplog.records
            queue.pop(lambda entry, initial: clock.step(0.101))
            queue.pop_batch(lambda batch, initial: clock.step(0.9))
        assert [record.args[:2] for record in caplog.records] == [(1, "foos")]

    def test_metrics_tell_what_waits_and_how_long_batches_take(self, make: Any) -> None:
        """RFI-17."""
        clock, queued, latency = FakeClock(), Recorder(), Recorder()
        queue: Queue = make(clock=clock, metrics=QueueMetrics(queued, latency))
        queue.apply(changes(2))
        queue.pop(lambda entry, initial: clock.step(0.5))
        assert queued.values == [2, 1]
        assert latency.values == [0.5]

    def test_statistics_tell_the_state(self, make: Any) -> None:
        queue: Queue = make()
        queue.replace([foo("a")], "1")
        before = queue.statistics()
        assert (before.pending, before.initial_remaining, before.synced) == (1, 1, False)
        queue.pop(ignore)
        queue.close()
        after = queue.statistics()
        assert (after.pending, after.synced, after.closed) == (0, True, True)


def changes(count: int) -> list[Delta]:
    return [Delta(DeltaType.ADDED, foo(f"a-{number}")) for number in range(count)]


def announce_waits(queue: Any) -> threading.Event:
    """An event that is set when a producer is about to wait, with the lock held."""
    waiting = threading.Event()
    wait = queue._batch_done.wait

    def announced() -> bool:
        waiting.set()
        result: bool = wait()
        return result

    queue._batch_done.wait = announced
    return waiting
