"""Events spread to whoever watches, without anybody waiting."""

from __future__ import annotations

import logging
import threading

import pytest

from clientgo.api.core_v1 import Event
from clientgo.record import NORMAL, EventBroadcaster
from clientgo.testing import FakeClock
from tests.record.builders import ListSink, event, pod


class Gate:
    """Blocks a handler until it is opened; says that it has been reached."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, *_: object) -> None:
        self.reached.set()
        assert self._open.wait(30), "the gate stayed shut"

    def open(self) -> None:
        self._open.set()


def _event_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("event-")]


def test_every_watch_gets_every_event_in_order() -> None:
    """REC-04"""
    one: list[str | None] = []
    other: list[str | None] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(lambda e: one.append(e.message))
        broadcaster.start_event_watcher(lambda e: other.append(e.message))

        for number in range(100):
            broadcaster.publish(event(f"m{number}"))
        assert broadcaster.flush(60)

    assert one == other == [f"m{number}" for number in range(100)]


def test_a_new_watch_sees_only_later_events() -> None:
    """REC-04"""
    seen: list[str | None] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.publish(event("before"))
        broadcaster.start_event_watcher(lambda e: seen.append(e.message))
        broadcaster.publish(event("after"))
        assert broadcaster.flush(60)

    assert seen == ["after"]


def test_a_full_queue_drops_and_counts_without_blocking_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """REC-01, REC-04, P-24"""
    gate = Gate()
    seen: list[Event] = []
    with EventBroadcaster(queue_size=3) as broadcaster:
        broadcaster.start_event_watcher(gate, name="event-slow")
        broadcaster.publish(event())
        assert gate.reached.wait(30)
        for _ in range(10):
            broadcaster.publish(event())
        broadcaster.start_event_watcher(seen.append)
        broadcaster.publish(event())
        full = broadcaster.statistics()
        gate.open()

    assert full.dropped == 10 - 3 + 1
    assert len(seen) == 1
    assert [r.getMessage()[:27] for r in caplog.records] == ["event-slow: 3 events wait, "]


def test_a_warning_finds_room_in_a_queue_full_of_ordinary_events() -> None:
    """REC-04: the newest of these makes room; a queue full of warnings has none."""
    gate, seen = Gate(), list[str]()

    def handle(handled: Event) -> None:
        gate(handled)
        seen.append(handled.message or "")

    with EventBroadcaster(queue_size=3) as broadcaster:
        broadcaster.start_event_watcher(handle)
        broadcaster.publish(event("held"))
        assert gate.reached.wait(30)
        for message in ("a", "b", "c", "d"):
            broadcaster.publish(event(message))
        for message in ("no disk", "no network", "no luck", "no end"):
            warning = event(message)
            warning.type = "Warning"
            broadcaster.publish(warning)
        dropped = broadcaster.statistics().dropped
        gate.open()
        assert broadcaster.flush(30)

    assert dropped == 1 + 4
    assert seen == ["held", "no disk", "no network", "no luck"]


def test_a_queue_that_stays_nearly_full_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """P-24: and again when it fills up after it was empty."""
    reached, let_go = threading.Semaphore(0), threading.Semaphore(0)

    def handle(_: Event) -> None:
        reached.release()
        assert let_go.acquire(timeout=30)

    with EventBroadcaster(queue_size=3) as broadcaster:
        broadcaster.start_event_watcher(handle, name="event-slow")
        for expected in (1, 2):
            broadcaster.publish(event())
            assert reached.acquire(timeout=30)
            for _ in range(4):
                broadcaster.publish(event())
            for _ in range(5):
                let_go.release()
                assert reached.acquire(timeout=30)
                broadcaster.publish(event())
                broadcaster.publish(event())
            assert len(caplog.records) == expected
            let_go.release(100)
            assert broadcaster.flush(60)
            while reached.acquire(blocking=False):
                """Forget the events that were handled."""
            while let_go.acquire(blocking=False):
                """Let the next event wait again."""
    assert broadcaster.statistics().dropped == 2 * (1 + 5)


def test_each_sink_correlates_for_itself() -> None:
    """REC-05"""
    first, second = ListSink(), ListSink()
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(first)
        broadcaster.publish(event())
        broadcaster.start_recording_to_sink(second)
        broadcaster.publish(event())
        assert broadcaster.flush(60)

    assert (first.messages, len(first.patched)) == (["m"], 1)
    assert (second.messages, len(second.patched)) == (["m"], 0)


def test_a_recorder_reaches_the_sink() -> None:
    sink = ListSink()
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        broadcaster.new_recorder("comp").event(pod(), NORMAL, "R", "hello")
        assert broadcaster.flush(60)
        assert broadcaster.statistics().written == 1

    assert sink.messages == ["hello"]


def test_a_handler_that_raises_is_reported_and_gets_the_next_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str | None] = []

    def handle(one: Event) -> None:
        seen.append(one.message)
        raise SystemExit("handler bug")

    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(handle)
        broadcaster.publish(event("a"))
        broadcaster.publish(event("b"))
        assert broadcaster.flush(60)

    assert seen == ["a", "b"]
    assert "handler bug" in caplog.text


def test_flush_gives_up_at_its_timeout() -> None:
    """P-30"""
    gate = Gate()
    clock = FakeClock()
    with EventBroadcaster(clock=clock) as broadcaster:
        broadcaster.start_event_watcher(gate)
        broadcaster.publish(event())
        results: list[bool] = []
        flusher = threading.Thread(target=lambda: results.append(broadcaster.flush(10)))
        flusher.start()
        clock.wait_for_waiters()

        clock.step(10)
        flusher.join(30)
        gate.open()

    assert results == [False]


def test_shutdown_writes_what_waits_and_ends_the_threads() -> None:
    """REC-10, P-30"""
    sink = ListSink()
    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(sink)
    broadcaster.start_structured_logging()
    for number in range(9):
        broadcaster.publish(event(f"m{number}"))

    broadcaster.shutdown()
    broadcaster.shutdown()

    assert len(sink.created) == 9
    assert _event_threads() == []


def test_shutdown_ends_a_pause_between_tries_and_gives_each_event_one_try() -> None:
    """REC-10"""
    clock = FakeClock()

    def no_answer() -> None:
        raise ConnectionResetError

    sink = ListSink(no_answer)
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    for number in range(3):
        broadcaster.publish(event(f"m{number}"))
    clock.wait_for_waiters()

    broadcaster.shutdown()

    assert sink.tries == 1 + 3
    assert broadcaster.statistics().given_up == 3
    assert _event_threads() == []


def test_an_event_that_waits_for_its_next_try_is_written_at_the_shutdown() -> None:
    """REC-10: the server was lost for a moment, and the program ends."""
    clock = FakeClock()
    answers = iter([ConnectionResetError()])

    def lost_at_first() -> None:
        for error in answers:
            raise error

    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(ListSink(lost_at_first))
    broadcaster.publish(event("m"))
    clock.wait_for_waiters()

    broadcaster.shutdown()

    statistics = broadcaster.statistics()
    assert (statistics.written, statistics.given_up) == (1, 0)


def test_shutdown_does_not_wait_for_ever_for_a_sink_that_hangs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate = Gate()
    clock = FakeClock()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(ListSink(gate))
    for number in range(3):
        broadcaster.publish(event(f"m{number}"))
    assert gate.reached.wait(30)
    shutting_down = threading.Thread(target=broadcaster.shutdown)
    shutting_down.start()
    clock.wait_for_waiters()

    clock.step(5)
    shutting_down.join(30)

    assert not shutting_down.is_alive()
    assert broadcaster.statistics().dropped == 2
    assert "still unwritten after 5.0 s; dropped: 3" in caplog.text
    gate.open()
    assert broadcaster.flush(60)


def test_after_shutdown_events_are_dropped_and_counted() -> None:
    """REC-10"""
    sink = ListSink()
    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(sink)
    broadcaster.shutdown()

    broadcaster.new_recorder("c").event(pod(), NORMAL, "R", "m")

    assert sink.tries == 0
    assert broadcaster.statistics().dropped == 1


def test_the_stop_event_shuts_down() -> None:
    """REC-10"""
    stop = threading.Event()
    broadcaster = EventBroadcaster(stop=stop)
    watch = broadcaster.start_event_watcher(lambda _: None)

    stop.set()

    watch._threads[0].join(30)
    assert not watch._threads[0].is_alive()


def test_a_broadcaster_that_is_made_stopped_takes_nothing() -> None:
    stop = threading.Event()
    stop.set()

    broadcaster = EventBroadcaster(stop=stop)
    broadcaster.start_event_watcher(lambda _: pytest.fail("got an event"))
    broadcaster.publish(event())

    assert broadcaster.statistics().dropped == 1


def test_a_watch_that_is_stopped_gets_nothing_more() -> None:
    seen: list[Event] = []
    with EventBroadcaster() as broadcaster:
        watch = broadcaster.start_event_watcher(seen.append)
        watch.stop()

        broadcaster.publish(event())

    assert seen == []


def test_many_threads_may_record_while_it_shuts_down() -> None:
    sink = ListSink()
    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("c")
    barrier = threading.Barrier(21)

    def record(number: int) -> None:
        barrier.wait()
        for _ in range(10):
            recorder.event(pod(f"p{number}"), NORMAL, "R", "m")

    threads = [threading.Thread(target=record, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    barrier.wait()
    broadcaster.shutdown()
    for thread in threads:
        thread.join()

    statistics = broadcaster.statistics()
    assert statistics.written + statistics.dropped == 200
    assert _event_threads() == []


def test_nothing_is_lost_while_a_sink_fails_now_and_then() -> None:
    """Each of 200 events fails four times before it is written."""
    fails = iter(range(10**6))

    def fail_four_of_five() -> None:
        if next(fails) % 5 != 4:
            raise ConnectionResetError

    sink = ListSink(fail_four_of_five)
    with EventBroadcaster(retry_interval=0.0) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        for number in range(200):
            broadcaster.publish(event(name=f"p{number}"))
        assert broadcaster.flush(60)

    assert len(sink.created) == 200


def test_events_are_logged_with_their_object(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with EventBroadcaster() as broadcaster:
        broadcaster.start_structured_logging()
        broadcaster.publish(event("hello"))
        assert broadcaster.flush(60)

    record = caplog.records[0]
    assert record.getMessage() == "Event occurred: Normal R: hello"
    assert (record.object, record.kind, record.reason) == ("ns/p", "Pod", "R")  # type: ignore[attr-defined]
