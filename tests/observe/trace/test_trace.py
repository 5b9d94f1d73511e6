"""The trace itself: order, failing tracers, boundaries, beginning and end."""

from __future__ import annotations

import logging
import os
import threading

import pytest

from clientgo.observe.trace import (
    HOPS,
    Hop,
    Recorder,
    Tracer,
    active_trace,
    hop_from_json,
    set_tracer,
    tracing,
)
from clientgo.observe.trace import trace as module
from clientgo.testing import FakeClock
from clientgo.workqueue import Queue
from tests.util.process.forking import in_child


def test_nothing_is_traced_without_a_tracer() -> None:
    assert active_trace() is None

    with tracing(Recorder()):
        assert active_trace() is not None

    assert active_trace() is None


def test_hops_are_numbered_in_the_order_of_what_happened() -> None:
    recorder = Recorder()
    with tracing(recorder):
        queue: Queue[str] = Queue(name="foos")
        for key in "abc":
            queue.add(key)
            queue.done(queue.get()[0])

    hops = recorder.hops()
    assert [hop.n for hop in hops] == list(range(1, 10))
    assert [(hop.hop, hop.key) for hop in hops] == [
        (name, key) for key in "abc" for name in ("queue.add", "queue.get", "queue.done")
    ]
    assert [hop.at for hop in hops] == sorted(hop.at for hop in hops)


def test_the_order_holds_for_any_number_of_threads() -> None:
    """A key is added before it is taken, and taken before it is given back."""
    recorder = Recorder()
    keys = [f"key-{number}" for number in range(200)]
    with tracing(recorder):
        queue: Queue[str] = Queue(name="foos")

        def work() -> None:
            for key in queue.items():
                assert key

        threads = [threading.Thread(target=work) for _ in range(4)]
        threads += [
            threading.Thread(target=lambda part: [queue.add(key) for key in part], args=(part,))
            for part in (keys[:100], keys[100:])
        ]
        for thread in threads:
            thread.start()
        for thread in threads[4:]:
            thread.join()
        queue.shut_down()
        for thread in threads[:4]:
            thread.join()

    for key in keys:
        names = [hop.hop for hop in recorder.hops(key=key)]
        assert names == ["queue.add", "queue.get", "queue.done"]


def test_a_component_keeps_the_trace_that_it_was_made_with() -> None:
    before: Queue[str] = Queue(name="before")
    recorder = Recorder()
    with tracing(recorder):
        inside: Queue[str] = Queue(name="inside")
        before.add("a")
        inside.add("a")
    inside.add("b")

    assert [(hop.of, hop.key) for hop in recorder.hops()] == [("inside", "a")]


def test_time_counts_from_the_moment_when_the_tracer_was_set() -> None:
    clock, recorder = FakeClock(start=100.0, wall=5000.0), Recorder()
    with tracing(recorder, clock=clock):
        queue: Queue[str] = Queue(name="foos")
        clock.step(1.5)
        queue.add("a")

    assert recorder.began_at == 5000.0
    assert [hop.at for hop in recorder.hops()] == [1.5]


def test_time_does_not_go_back() -> None:
    """Two threads may note their hops in another order than they looked at the clock."""

    class Clock(FakeClock):
        def monotonic(self) -> float:
            return readings.pop(0)

    recorder, readings = Recorder(), [1.0, 3.0, 2.0, 4.0]
    with tracing(recorder, clock=Clock()) as trace:
        for _ in range(3):
            trace.note("queue.forget", "foos", "a")

    assert [hop.at for hop in recorder.hops()] == [2.0, 2.0, 3.0]


class _Failing(Tracer):
    def hop(self, hop: Hop) -> None:
        raise ValueError(f"not {hop.key}")

    def before(self, boundary: str, of: str, key: str) -> None:
        raise ValueError(boundary)


def test_a_tracer_that_raises_loses_nothing_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder()
    with caplog.at_level(logging.ERROR), tracing(_Failing(), recorder) as trace:
        queue: Queue[str] = Queue(name="foos")
        for key in "abc":
            queue.add(key)
        assert [queue.get()[0] for _ in "abc"] == ["a", "b", "c"]
        trace.flush()
        failures = trace.failures

    assert [hop.key for hop in recorder.hops()] == ["a", "b", "c", "a", "b", "c"]
    assert failures == 9, "six hops and three boundaries"
    assert len(caplog.records) == 1
    assert "_Failing" in caplog.text


def test_not_even_an_exit_in_a_tracer_ends_the_trace() -> None:
    class Exiting(Tracer):
        def hop(self, hop: Hop) -> None:
            raise SystemExit

    recorder = Recorder()
    with tracing(Exiting(), recorder):
        queue: Queue[str] = Queue(name="foos")
        queue.add("a")
        queue.add("b")

    assert [hop.key for hop in recorder.hops()] == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_is_not_traced_and_does_not_wait_for_the_trace() -> None:
    """The thread of the trace is not in the child, so nothing is kept for it."""
    recorder = Recorder()

    def child() -> object:
        queue: Queue[str] = Queue(name="in the child")
        queue.add("a")
        seen = trace.flush(30.0)
        set_tracer()
        return seen, queue.get()[0], trace._notes.qsize()

    with tracing(recorder) as trace:
        assert in_child(child) == "(True, 'a', 0)"
        queue: Queue[str] = Queue(name="in the parent")
        queue.add("a")

    assert [hop.of for hop in recorder.hops()] == ["in the parent"]


def test_a_key_that_cannot_be_written_as_text_is_still_a_hop() -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("no text")

    recorder = Recorder()
    with tracing(recorder):
        queue: Queue[Odd] = Queue(name="foos")
        queue.add(Odd())

    assert [hop.key for hop in recorder.hops()] == ["<Odd: no text>"]


def test_a_slow_tracer_costs_hops_and_not_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    let_go = threading.Event()

    class Slow(Recorder):
        def hop(self, hop: Hop) -> None:
            let_go.wait(30.0)
            super().hop(hop)

    recorder = Slow()
    with tracing(recorder) as trace:
        queue: Queue[int] = Queue(name="foos")
        for turn in range(2):
            let_go.clear()
            for number in range(20):
                queue.add(100 * turn + number)
            let_go.set()
            trace.flush()
        queue.add(1000)

    names = [hop.hop for hop in recorder.hops()]
    assert names.count("trace.lost") == 2, "each time that some were lost"
    assert len(names) < 20
    assert recorder.hops()[-1].key == "1000", "later hops are seen again"


def test_a_hop_may_be_noted_by_the_tracer_itself() -> None:
    """A tracer that uses a traced component does not wait for itself."""

    class Adding(Recorder):
        def hop(self, hop: Hop) -> None:
            super().hop(hop)
            if hop.n == 1:
                queue.add("b")

    recorder = Adding()
    with tracing(recorder) as trace:
        queue: Queue[str] = Queue(name="foos")
        queue.add("a")
        trace.flush()

    assert [hop.key for hop in recorder.hops()] == ["a", "b"]


class _Gate(Recorder):
    """Holds every thread at the boundaries until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str, str]] = []
        self.arrived = threading.Semaphore(0)
        self.open = threading.Event()

    def before(self, boundary: str, of: str, key: str) -> None:
        self.asked.append((boundary, of, key))
        self.arrived.release()
        self.open.wait(30.0)


def test_a_tracer_holds_a_worker_before_it_takes_a_key_and_holds_no_lock() -> None:
    gate, taken = _Gate(), threading.Event()
    with tracing(gate):
        queue: Queue[str] = Queue(name="foos")

        def work() -> None:
            queue.get()
            taken.set()

        thread = threading.Thread(target=work)
        thread.start()
        queue.add("a")
        assert gate.arrived.acquire(timeout=30.0)

        queue.add("b")  # the queue's lock is free
        assert queue.statistics().ready == 2
        assert not taken.is_set()
        gate.open.set()
        thread.join(30.0)

    assert taken.is_set()
    assert gate.asked == [("queue.take", "foos", "")]
    assert [hop.hop for hop in gate.hops()] == ["queue.add", "queue.add", "queue.get"]


def test_a_worker_that_is_held_ends_when_the_tracer_lets_go_after_a_shutdown() -> None:
    gate = _Gate()
    with tracing(gate):
        queue: Queue[str] = Queue(name="foos")
        results = []
        thread = threading.Thread(target=lambda: results.append((queue.get(), queue.get())))
        thread.start()
        queue.add("a")
        assert gate.arrived.acquire(timeout=30.0)
        queue.shut_down()
        gate.open.set()
        thread.join(30.0)

    assert results == [(("a", False), (None, True))]


def test_a_hop_can_be_written_and_read_back() -> None:
    hop = Hop(3, 1.25, "worker", "queue.add", "foos", "default/x", "12", {"outcome": "new"})

    assert hop_from_json(hop.to_json()) == hop
    assert hop.to_json() == (
        '{"n": 3, "at": 1.25, "thread": "worker", "hop": "queue.add", "of": "foos", '
        '"key": "default/x", "version": "12", "outcome": "new"}'
    )
    with pytest.raises(ValueError, match="not a hop"):
        hop_from_json("[1, 2]")


def test_a_recorder_keeps_the_last_hops_and_finds_them() -> None:
    recorder = Recorder(limit=2)
    for number, name in enumerate(("queue.add", "queue.get", "sync.start"), start=1):
        recorder.hop(Hop(number, 0.0, "t", name, "foos", "a"))

    assert [hop.n for hop in recorder.hops()] == [2, 3]
    assert [hop.n for hop in recorder.hops("queue.")] == [2]
    assert [hop.n for hop in recorder.hops("sync.start", of="foos", key="a", after=2)] == [3]
    assert recorder.wait_for(lambda hop: hop.hop == "sync.start").n == 3
    with pytest.raises(TimeoutError, match=r"no such hop.*sync\.start"):
        recorder.wait_for(lambda hop: hop.hop == "queue.done", timeout=0.01)


def test_every_hop_has_a_meaning() -> None:
    assert all(meaning for meaning in HOPS.values())
