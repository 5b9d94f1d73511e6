"""Delivery to one handler."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.cache import HandlerFuncs, HighWater
from clientgo.cache.informer.listener import Listener, SlowCallLog
from clientgo.cache.informer.notifications import Chunk, Kind
from clientgo.testing import FakeClock
from clientgo.util.clock import REAL_CLOCK
from tests.cache.builders import Foo, foo
from tests.cache.running import TIMEOUT, Notes, RecordingHandler


@pytest.fixture
def listeners() -> Iterator[list[Listener]]:
    """Those that are closed and joined in the end."""
    made: list[Listener] = []
    yield made
    for listener in made:
        listener.close()
        listener.join()


def adds(*names: str, initial: bool = False) -> Chunk:
    notifications = [(Kind.ADD, foo(name), initial) for name in names]
    return Chunk(notifications, initial=len(names) if initial else 0)


def started(listeners: list[Listener], handler: Any, **options: Any) -> Listener:
    listener = Listener(handler, **({"name": "test", "clock": REAL_CLOCK} | options))
    listeners.append(listener)
    listener.start()
    return listener


class Slow:
    """A handler that begins and waits to be released, object by object."""

    def __init__(self) -> None:
        self.began = Notes()
        self.released = threading.Semaphore(0)

    def on_add(self, obj: Foo) -> None:
        self.began(obj.metadata.name)
        assert self.released.acquire(timeout=TIMEOUT)


def test_it_delivers_in_order_in_a_thread_of_its_own(listeners: list[Listener]) -> None:
    """LIS-01, INF-15."""
    recorder = RecordingHandler()
    listener = started(listeners, recorder, name="handler of test")
    listener.hand_over(adds("a", "b", initial=True))
    listener.hand_over(Chunk([(Kind.UPDATE, foo("a"), foo("a", 2)), (Kind.DELETE, foo("b"), None)]))
    assert listener.wait_until_idle(TIMEOUT)
    assert recorder.notes == ["+a@1!", "+b@1!", "a@1→a@2", "-b@1"]
    assert "handler of test" in [thread.name for thread in threading.enumerate()]


def test_what_was_handed_over_before_the_start_is_delivered(listeners: list[Listener]) -> None:
    """INF-19."""
    recorder = RecordingHandler()
    listener = Listener(recorder, name="test", clock=REAL_CLOCK)
    listeners.append(listener)
    listener.hand_over(adds("a"))
    listener.start()
    recorder.calls.wait_for_count(1)


class TestInitialItems:
    def test_count_as_handled_when_the_handler_has_returned(
        self, listeners: list[Listener]
    ) -> None:
        """LIS-02, INF-10."""
        slow = Slow()
        listener = started(listeners, HandlerFuncs(on_add=slow.on_add))
        listener.hand_over(adds("a", initial=True))
        listener.tracker.upstream_has_synced()
        slow.began.wait_for_count(1)
        assert not listener.tracker.has_synced()
        slow.released.release()
        assert listener.tracker.checker.done.wait(TIMEOUT)

    def test_count_as_handled_when_the_handler_failed(self, listeners: list[Listener]) -> None:
        """LIS-04, FIELD-34."""

        def fail(obj: Foo) -> None:
            raise SystemExit(3)

        listener = started(listeners, HandlerFuncs(on_add=fail))
        listener.hand_over(adds("a", "b", initial=True))
        listener.tracker.upstream_has_synced()
        assert listener.tracker.checker.done.wait(TIMEOUT)
        assert listener.statistics().failed == 2


class TestFailures:
    def test_cost_only_their_object(self, listeners: list[Listener]) -> None:
        """LIS-03."""
        recorder = Notes()

        def fail_on_b(obj: Foo) -> None:
            recorder(obj.metadata.name)
            if obj.metadata.name == "b":
                raise ValueError("b")

        listener = started(listeners, HandlerFuncs(on_add=fail_on_b))
        listener.hand_over(adds("a", "b", "c"))
        recorder.wait_for_count(3)
        assert listener.wait_until_idle(TIMEOUT)
        statistics = listener.statistics()
        assert (statistics.delivered, statistics.failed) == (3, 1)
        assert isinstance(statistics.last_error, ValueError)

    def test_are_logged_with_their_object_but_not_all_of_them(
        self, listeners: list[Listener], caplog: pytest.LogCaptureFixture
    ) -> None:
        """LIS-03."""
        clock = FakeClock()

        def fail(obj: Foo) -> None:
            raise ValueError("no")

        listener = started(listeners, HandlerFuncs(on_add=fail), clock=clock)
        listener.hand_over(adds("a", "b", "c"))
        assert listener.wait_until_idle(TIMEOUT)
        clock.step(1.0)
        listener.hand_over(adds("d"))
        assert listener.wait_until_idle(TIMEOUT)
        first, second = [record.getMessage() for record in caplog.records]
        assert first.endswith("the add of ns/a: no; continuing with the next object")
        assert "the add of ns/d: no" in second
        assert "2 failures before this one were not logged" in second


class TestClosing:
    def test_ends_the_call_in_progress_and_drops_what_waits(
        self, listeners: list[Listener]
    ) -> None:
        """LIS-05, INF-13."""
        slow = Slow()
        listener = started(listeners, HandlerFuncs(on_add=slow.on_add))
        listener.hand_over(adds("a", "b"))
        slow.began.wait_for_count(1)
        listener.close()
        listener.hand_over(adds("c"))
        slow.released.release(3)
        listener.join()
        assert slow.began.notes == ["a"]
        assert listener.statistics().backlog == 0

    def test_is_legal_in_the_handler_and_joining_too(self, listeners: list[Listener]) -> None:
        """FIELD-35."""
        recorder = Notes()

        def close_itself(obj: Foo) -> None:
            listeners[0].close()
            listeners[0].join()
            recorder(obj.metadata.name)

        listener = started(listeners, HandlerFuncs(on_add=close_itself))
        listener.hand_over(adds("a", "b"))
        recorder.wait_for_count(1)
        listener.join()
        assert recorder.notes == ["a"]

    def test_before_the_start_starts_nothing(self, listeners: list[Listener]) -> None:
        """INF-13."""
        listener = Listener(RecordingHandler(), name="test", clock=REAL_CLOCK)
        listener.close()
        before = set(threading.enumerate())
        listener.start()
        assert set(threading.enumerate()) <= before
        listener.join()


class TestTheBacklog:
    def test_can_be_read_while_the_handler_is_busy(self, listeners: list[Listener]) -> None:
        """LIS-01, FIELD-36."""
        slow = Slow()
        listener = started(listeners, HandlerFuncs(on_add=slow.on_add))
        listener.hand_over(adds("a", "b", "c"))
        slow.began.wait_for_count(1)
        listener.hand_over(adds("d"))
        assert listener.statistics().backlog == 4
        slow.released.release(2)
        slow.began.wait_for_count(3)
        assert listener.statistics().backlog == 2
        slow.released.release(2)
        assert listener.wait_until_idle(TIMEOUT)

    def test_passes_its_high_water_mark_once_until_it_was_empty(
        self, listeners: list[Listener]
    ) -> None:
        """LIS-01, FIELD-36."""
        slow = Slow()
        listener = started(
            listeners, HandlerFuncs(on_add=slow.on_add), high_water=HighWater(3, Notes())
        )
        assert not listener.hand_over(adds("a", "b"))
        assert listener.hand_over(adds("c"))
        assert not listener.hand_over(adds("d"))
        slow.released.release(4)
        assert listener.wait_until_idle(TIMEOUT)
        assert listener.hand_over(adds("e", "f", "g"))
        slow.released.release(3)

    def test_a_failing_high_water_callback_disturbs_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(backlog: int) -> None:
            raise ValueError("no")

        Listener(
            RecordingHandler(), name="test", clock=REAL_CLOCK, high_water=HighWater(1, fail)
        ).report_high_water()
        assert "high-water callback failed" in caplog.text

    def test_waiting_for_it_gives_up_after_its_time(self, listeners: list[Listener]) -> None:
        slow = Slow()
        listener = started(listeners, HandlerFuncs(on_add=slow.on_add))
        listener.hand_over(adds("a"))
        assert not listener.wait_until_idle(0.0)
        slow.released.release()

    def test_coalesced_it_holds_one_change_per_object(self, listeners: list[Listener]) -> None:
        """FIELD-36."""
        slow = Slow()
        recorder = RecordingHandler()
        recorder.on_add = lambda obj, flag: slow.on_add(obj)  # type: ignore[method-assign]
        listener = started(listeners, recorder, coalesce=True)
        listener.hand_over(adds("a"))
        slow.began.wait_for_count(1)
        for rv in range(2, 100):
            listener.hand_over(Chunk([(Kind.UPDATE, foo("a", rv - 1), foo("a", rv))]))
        assert listener.statistics().backlog == 2
        slow.released.release()
        assert listener.wait_until_idle(TIMEOUT)
        assert recorder.notes == ["a@1→a@99"]


@pytest.mark.parametrize("waiting", [1024, 1025])
def test_slow_calls_are_logged_while_many_notifications_wait(
    listeners: list[Listener], waiting: int, caplog: pytest.LogCaptureFixture
) -> None:
    """LIS-06."""
    caplog.set_level(logging.INFO)
    clock, gate = FakeClock(), threading.Event()

    def on_add(obj: Foo) -> None:
        match obj.metadata.name:
            case "gate":
                assert gate.wait(TIMEOUT)
            case "slow":
                clock.step(0.2)
            case "slow enough":
                clock.step(0.1)

    listener = started(listeners, HandlerFuncs(on_add=on_add), clock=clock)
    for chunk in (adds("gate"), adds("slow", "slow enough"), adds(*["quick"] * waiting)):
        listener.hand_over(chunk)
    gate.set()
    assert listener.wait_until_idle(TIMEOUT)

    logged = ["test: the handler took 0.2 s for the add of ns/slow while others wait"]
    assert caplog.messages == (logged if waiting > 1024 else [])


class TestASlowCall:
    @staticmethod
    def test_calls_go_through() -> None:
        """LIS-06."""
        recorder = RecordingHandler()
        handler = SlowCallLog(recorder, "test", FakeClock())
        handler.on_add(foo("a"), True)
        handler.on_update(foo("a"), foo("a", 2))
        handler.on_resync(foo("a", 2), foo("a", 2))
        handler.on_delete(foo("a", 2))
        assert recorder.notes == ["+a@1!", "a@1→a@2", "a@2→a@2", "-a@2"]

    @staticmethod
    def test_is_logged_with_its_object_even_if_it_fails(
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """LIS-06."""
        caplog.set_level(logging.INFO)
        clock = FakeClock()

        def fail(*_: Foo) -> None:
            clock.step(3.0)
            raise ZeroDivisionError

        handler = SlowCallLog(HandlerFuncs(on_update=fail), "test", clock)
        with pytest.raises(ZeroDivisionError):
            handler.on_update(foo("a"), foo("a", 2))
        assert caplog.messages == [
            "test: the handler took 3.0 s for the update of ns/a while others wait"
        ]
