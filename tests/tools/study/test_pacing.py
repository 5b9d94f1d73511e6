"""Which thread may pass a boundary, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from clientgo.testing import FakeClock
from clientgo.tools.study.pacing import Held, Pacing


class Threads:
    """Threads that pass boundaries, and what the pacing reports."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.reported: list[tuple[bool, str]] = []
        self.pacing = Pacing(self._report, clock=self.clock)
        self._passed = threading.Condition()
        self.passed: list[str] = []
        self._threads: list[threading.Thread] = []

    def _report(self, held: Held, begins: bool) -> None:
        self.reported.append((begins, held.key))

    def begin(self, boundary: str, key: str) -> None:
        """Let a thread come to a boundary; return when it is held."""
        count = len(self.pacing.held())

        def run() -> None:
            self.pacing.before(boundary, "foos", key)
            with self._passed:
                self.passed.append(key)
                self._passed.notify_all()

        thread = threading.Thread(target=run, name=f"thread of {key}")
        self._threads.append(thread)
        thread.start()
        assert self.pacing.wait_until_held(count + 1)

    def wait_until_passed(self, *keys: str) -> None:
        with self._passed:
            assert self._passed.wait_for(lambda: sorted(self.passed) == sorted(keys), 30)

    def end(self) -> None:
        self.pacing.close()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads()
    yield made
    made.end()


def test_a_boundary_is_passed_without_a_wait_while_nothing_is_paused(threads: Threads) -> None:
    threads.pacing.before("sync", "foos", "default/a")

    assert threads.reported == []


def test_a_paused_thread_is_held_and_named(threads: Threads) -> None:
    threads.pacing.pause()
    threads.begin("queue.take", "default/a")

    (held,) = threads.pacing.held()
    assert held == Held(1, "thread of default/a", "queue.take", "foos", "default/a")
    assert threads.passed == []


def test_a_step_lets_exactly_one_thread_pass_the_one_that_waits_longest(threads: Threads) -> None:
    threads.pacing.pause()
    for key in ("a", "b", "c"):
        threads.begin("sync", key)

    stepped = threads.pacing.step()

    assert stepped is not None
    assert stepped.key == "a"
    threads.wait_until_passed("a")
    assert [held.key for held in threads.pacing.held()] == ["b", "c"]


def test_a_step_can_choose_its_thread(threads: Threads) -> None:
    threads.pacing.pause()
    threads.begin("sync", "a")
    threads.begin("sync", "b")

    threads.pacing.step(2)

    threads.wait_until_passed("b")


def test_an_event_steps_before_the_worker_that_would_overtake_it(threads: Threads) -> None:
    threads.pacing.pause()
    for boundary in ("sync", "queue.take", "fifo.take", "watch.read"):
        threads.begin(boundary, boundary)

    stepped = [threads.pacing.step() for _ in range(4)]

    assert [held and held.boundary for held in stepped] == [
        "watch.read",
        "fifo.take",
        "queue.take",
        "sync",
    ]


def test_a_step_without_a_held_thread_does_nothing(threads: Threads) -> None:
    threads.pacing.pause()

    assert threads.pacing.step() is None
    assert threads.pacing.step(7) is None
    threads.begin("sync", "a")
    assert threads.passed == []


def test_resume_lets_all_threads_go(threads: Threads) -> None:
    threads.pacing.pause()
    threads.begin("sync", "a")
    threads.begin("sync", "b")

    threads.pacing.resume()

    threads.wait_until_passed("a", "b")
    threads.pacing.before("sync", "foos", "c")


def test_slow_motion_holds_each_thread_for_its_delay(threads: Threads) -> None:
    threads.pacing.slow(0.5)
    threads.begin("sync", "a")
    threads.clock.wait_for_waiters()

    threads.clock.step(0.4)
    assert threads.passed == []
    threads.clock.step(0.1)

    threads.wait_until_passed("a")
    assert threads.reported == [(True, "a"), (False, "a")]


def test_pausing_in_slow_motion_holds_the_thread_beyond_its_delay(threads: Threads) -> None:
    threads.pacing.slow(0.5)
    threads.begin("sync", "a")
    threads.pacing.pause()
    threads.clock.wait_for_waiters()

    threads.clock.step(10)

    assert [held.key for held in threads.pacing.held()] == ["a"]


def test_after_close_no_thread_is_held_even_if_somebody_pauses_again(threads: Threads) -> None:
    threads.pacing.pause()
    threads.begin("sync", "a")

    threads.pacing.close()
    threads.pacing.pause()
    threads.pacing.slow(5)

    threads.wait_until_passed("a")
    threads.pacing.before("sync", "foos", "b")
    assert threads.pacing.mode == "running"
