"""The ready-made worker loop."""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue

import pytest

from clientgo.leaderelection import LeadershipLostError
from clientgo.testing import FakeClock
from clientgo.util.process import ThreadStartError
from clientgo.util.wait import NotReadyError, StopEvent
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue, run_workers
from tests.background import Background
from tests.threads import refused_threads


def make_queue() -> tuple[RateLimitingQueue[str], FakeClock]:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 10.0, clock=clock)
    return RateLimitingQueue(limiter, clock=clock), clock


def test_workers_handle_keys_until_they_are_stopped() -> None:
    queue, _ = make_queue()
    stop, handled = threading.Event(), SimpleQueue[str]()
    running = Background(lambda: run_workers(stop, queue, handled.put, workers=3))
    for key in "abc":
        queue.add(key)
    assert sorted(handled.get(timeout=30) for _ in range(3)) == ["a", "b", "c"]

    stop.set()

    running.result()
    assert queue.shutting_down
    assert queue.statistics().processing == 0


def test_keys_that_are_listed_when_the_stop_comes_are_dropped_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue, _ = make_queue()
    stop, handled = threading.Event(), []
    for key in "abc":
        queue.add(key)

    def handle(key: str) -> None:
        handled.append(key)
        stop.set()

    with caplog.at_level(logging.INFO, "clientgo.workqueue"):
        run_workers(stop, queue, handle, name="foo-worker")

    assert handled == ["a"]
    assert queue.statistics().ready == 0, "dropped keys are given back, so that the queue can end"
    assert caplog.messages == [
        "foo-worker: stopped before 2 listed keys were handled; the next start lists them again"
    ]


def test_a_handler_that_a_stop_waits_for_is_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clientgo.workqueue.workers.PATIENCE", 0.01)
    queue, _ = make_queue()
    stop, taken, logged = threading.Event(), SimpleQueue[str](), threading.Event()
    monkeypatch.setattr(caplog.handler, "flush", logged.set)  # called after each record

    def handle(key: str) -> None:
        taken.put(key)
        logged.wait(30)

    running = Background(lambda: run_workers(stop, queue, handle, workers=3, name="foo-worker"))
    for key in "ba":
        queue.add(key)
    assert sorted(taken.get(timeout=30) for _ in range(2)) == ["a", "b"]
    assert sorted(queue.processing_items()) == ["a", "b"]

    stop.set()

    running.result()
    assert caplog.messages[0] == "foo-worker: still handling a, b; the stop waits for it"


def test_a_drain_handles_the_keys_that_are_listed_when_the_stop_comes() -> None:
    queue, _ = make_queue()
    stop, handled = threading.Event(), []
    for key in "abc":
        queue.add(key)
    stop.set()

    run_workers(stop, queue, handled.append, drain=True)

    assert handled == ["a", "b", "c"]


@pytest.mark.parametrize("drain", [False, True])
def test_a_guard_is_checked_before_each_key_and_ends_the_workers(drain: bool) -> None:
    queue, _ = make_queue()
    handled: list[str] = []
    for key in "abc":
        queue.add(key)

    def guard() -> None:
        if handled:
            raise LeadershipLostError("another leads")

    with pytest.raises(LeadershipLostError, match="another leads"):
        run_workers(threading.Event(), queue, handled.append, guard=guard, drain=drain)

    assert handled == ["a"]
    assert queue.shutting_down


def test_a_guard_that_refuses_because_of_the_stop_is_no_failure() -> None:
    queue, _ = make_queue()
    stop, handled = threading.Event(), []
    queue.add("a")
    stop.set()

    def guard() -> None:
        raise LeadershipLostError("given up")

    run_workers(stop, queue, handled.append, guard=guard, drain=True)

    assert handled == []


@pytest.mark.parametrize("failure", [SystemExit(3), KeyboardInterrupt()])
def test_what_is_no_exception_ends_all_workers_and_is_raised(
    failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """`sys.exit()` in a handler ends the program; it does not end one worker silently."""
    queue, _ = make_queue()
    for key in "ab":
        queue.add(key)

    def handle(key: str) -> None:
        raise failure

    with pytest.raises(type(failure)) as raised:
        run_workers(threading.Event(), queue, handle)

    assert raised.value is failure
    assert queue.num_requeues("a") == 1, "the key was to be tried again"
    errors = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    assert errors == [f"a: the handler raised {failure!r}; all workers stop"]


def test_workers_end_when_the_queue_is_shut_down_by_another() -> None:
    queue, _ = make_queue()
    running = Background(lambda: run_workers(threading.Event(), queue, print))

    queue.shut_down()

    running.result(timeout=30)


def test_a_key_that_fails_is_tried_again_later_and_forgotten_when_it_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue, clock = make_queue()
    stop, attempts = threading.Event(), SimpleQueue[str]()
    failures = iter(["not yet", "not yet", "not now", ""])

    def handle(key: str) -> None:
        attempts.put(key)
        if failure := next(failures):
            raise RuntimeError(failure)

    with caplog.at_level(logging.INFO, "clientgo.workqueue"):
        running = Background(lambda: run_workers(stop, queue, handle))
        queue.add("default/a")
        for failed in (1, 2, 3):
            attempts.get(timeout=30)
            clock.wait_for_waiters(1)
            assert queue.num_requeues("default/a") == failed
            clock.step(10.0)
        attempts.get(timeout=30)
        stop.set()
        running.result()

    assert queue.num_requeues("default/a") == 0
    assert caplog.messages == [
        "default/a: RuntimeError: not yet; trying again later (failure 1)",
        "default/a: RuntimeError: not now; trying again later (failure 3)",
        "default/a: handled after 3 failures",
    ], "a failure that repeats is logged once"
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False]


def test_no_workers_are_refused() -> None:
    queue, _ = make_queue()

    with pytest.raises(ValueError, match="at least 1"):
        run_workers(threading.Event(), queue, print, workers=0)


def test_an_expected_failure_is_retried_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue()
    stop = threading.Event()
    answers = iter([KeyError("behind"), None])

    def handle(key: str) -> None:
        answer = next(answers)
        if answer is not None:
            raise answer
        stop.set()

    queue.add("a")
    with caplog.at_level(logging.INFO):
        run_workers(stop, queue, handle, expected=(KeyError,))

    [record] = [record for record in caplog.records if "behind" in record.message]
    assert record.levelno == logging.INFO
    assert not record.exc_info


def test_workers_that_cannot_all_be_started_handle_nothing_and_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """FIELD-74: the first worker went on after the error."""
    queue: RateLimitingQueue[str] = RateLimitingQueue()
    queue.add("a")
    handled: list[str] = []
    stop = StopEvent()

    def handle(key: str) -> None:
        handled.append(key)
        stop.set()

    with refused_threads(monkeypatch, at=2), pytest.raises(ThreadStartError):
        run_workers(stop, queue, handle, workers=2, name="refused")
    assert handled == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("refused")]

    run_workers(stop, queue, handle, workers=2)
    assert handled == ["a"]


def test_a_key_is_tried_again_without_a_delay_if_the_thread_for_delays_is_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue()
    queue.add("a")
    handled: list[str] = []
    stop = StopEvent()

    def handle(key: str) -> None:
        handled.append(key)
        if len(handled) == 1:
            raise OSError("not now")
        stop.set()

    with refused_threads(monkeypatch, at=2):
        run_workers(stop, queue, handle)

    assert handled == ["a", "a"]
    assert "a: tried again without a delay: thread workqueue-delays-" in caplog.text


def test_a_key_that_is_not_ready_is_tried_again_later_and_has_not_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CST-04: with the back-off of the queue; only a long wait is logged."""
    queue, clock = make_queue()
    stop, attempts = threading.Event(), SimpleQueue[str]()
    tries = iter(range(1, 22))

    def handle(key: str) -> None:
        attempts.put(key)
        number = next(tries)
        if number == 12:
            raise RuntimeError("no")
        if number < 21:
            raise NotReadyError("the cache is behind")

    with caplog.at_level(logging.INFO, "clientgo.workqueue"):
        running = Background(lambda: run_workers(stop, queue, handle))
        queue.add("default/a")
        for tried in range(1, 21):
            attempts.get(timeout=30)
            clock.wait_for_waiters(1)
            assert queue.num_requeues("default/a") == tried
            clock.step(10.0)
        attempts.get(timeout=30)
        stop.set()
        running.result()

    assert queue.num_requeues("default/a") == 0
    wait = "default/a: not ready: the cache is behind; trying again later (try {})"
    assert caplog.messages == [
        wait.format(10),
        "default/a: RuntimeError: no; trying again later (failure 12)",
        wait.format(20),
        "default/a: handled after 20 failures",
    ]
    assert [bool(record.exc_info) for record in caplog.records] == [False, True, False, False]
