"""The workers of a run queue, where a run goes on without the thread that began it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from clientgo.meta import ObjectName
from clientgo.observe.trace import Recorder, tracing
from clientgo.operator import retry
from clientgo.operator.runs import Run, RunQueue, RunSettings
from clientgo.testing import FakeClock

KEYS = [ObjectName("default", name) for name in "abcd"]
A = KEYS[0]


class Elsewhere:
    """Work that begins runs and leaves them to the test."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.runs: list[Run] = []
        self.crashes: list[BaseException] = []
        self.clock = FakeClock()
        self.queue = RunQueue(
            "test",
            RunSettings(retry=retry.generic()),
            clock=self.clock,
            on_crash=self.crashes.append,
        )

    def start(self, workers: int, threads: int) -> None:
        self.queue.start(self._work, workers, threads=threads)

    def wait_for(self, count: int) -> list[str]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.runs) >= count, 30)
            return [run.key.name for run in self.runs]

    def end(self, number: int, failure: BaseException | None = None) -> None:
        self.runs[number].succeeded()
        self.runs[number].over(failure)

    def _work(self, run: Run) -> None:
        with self.changed:
            self.runs.append(run)
            self.changed.notify_all()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    made = Elsewhere()
    yield made
    made.queue.stop(0.0)


def test_one_thread_begins_as_many_runs_as_there_are_workers(elsewhere: Elsewhere) -> None:
    for key in KEYS:
        elsewhere.queue.trigger(key)
    elsewhere.start(3, threads=1)
    assert elsewhere.wait_for(3) == ["a", "b", "c"]
    assert elsewhere.queue.statistics().running == 3
    assert elsewhere.queue.statistics().ready == 1
    elsewhere.end(1)
    assert elsewhere.wait_for(4) == ["a", "b", "c", "d"]


def test_a_trigger_during_a_run_is_one_more_run_when_it_is_over(elsewhere: Elsewhere) -> None:
    elsewhere.queue.trigger(A)
    elsewhere.start(3, threads=1)
    elsewhere.wait_for(1)
    elsewhere.queue.trigger(A)
    elsewhere.queue.trigger(A)
    elsewhere.queue.trigger(KEYS[1])
    assert elsewhere.wait_for(2) == ["a", "b"]
    elsewhere.end(0)
    assert elsewhere.wait_for(3) == ["a", "b", "a"]


def test_an_object_that_is_forgotten_and_there_again_waits_for_its_old_run(
    elsewhere: Elsewhere,
) -> None:
    elsewhere.queue.trigger(A)
    elsewhere.start(3, threads=1)
    elsewhere.wait_for(1)
    elsewhere.queue.forget(A)
    elsewhere.queue.trigger(A)
    elsewhere.queue.trigger(KEYS[1])
    assert elsewhere.wait_for(2) == ["a", "b"]
    elsewhere.end(0)
    assert elsewhere.wait_for(3) == ["a", "b", "a"]


def test_the_stop_waits_for_the_end_and_names_what_does_not_end(elsewhere: Elsewhere) -> None:
    elsewhere.queue.trigger(A)
    elsewhere.start(3, threads=1)
    elsewhere.wait_for(1)
    assert elsewhere.queue.stop(0.01) == ["test default/a"]
    elsewhere.end(0)
    assert elsewhere.queue.stop(30.0) == []


def test_what_a_run_must_not_raise_stops_the_queue(elsewhere: Elsewhere) -> None:
    elsewhere.queue.trigger(A)
    elsewhere.start(3, threads=1)
    elsewhere.wait_for(1)
    failure = SystemExit()
    elsewhere.end(0, failure)
    assert elsewhere.crashes == [failure]
    assert elsewhere.queue.cancelled.is_set()


def test_a_trace_has_the_end_of_the_run_and_not_of_its_first_step(elsewhere: Elsewhere) -> None:
    with tracing(recorder := Recorder()):
        elsewhere = Elsewhere()
        elsewhere.queue.trigger(A)
        elsewhere.start(1, threads=1)
        elsewhere.wait_for(1)
        assert "sync.end" not in [hop.hop for hop in recorder.hops()]
        elsewhere.end(0)
        elsewhere.queue.stop()
    hops = [hop.hop for hop in recorder.hops() if hop.hop.startswith("sync")]
    assert hops == ["sync.start", "sync.end"]
