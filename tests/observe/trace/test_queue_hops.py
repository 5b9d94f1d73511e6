"""The hops of work queues: what became of each add."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.observe.trace import Recorder, tracing
from clientgo.testing import FakeClock
from clientgo.util.wait import NotReadyError, StopEvent
from clientgo.workqueue import (
    DelayingQueue,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
    run_workers,
)


def seen(recorder: Recorder) -> list[tuple[str, dict[str, Any]]]:
    return [(hop.hop, hop.details) for hop in recorder.hops("queue.")]


@pytest.mark.parametrize("make", [Queue, DelayingQueue, RateLimitingQueue, PriorityQueue])
def test_an_add_says_what_it_did(make: type[Queue[str]]) -> None:
    recorder = Recorder()
    with tracing(recorder):
        queue = make(name="foos")
        queue.add("a")
        queue.add("a")
        queue.get()
        queue.add("a")
        queue.add("a")
        queue.done("a")
        queue.get()
        queue.done("a")
        queue.shut_down()
        queue.add("a")

    assert seen(recorder) == [
        ("queue.add", {"outcome": "new"}),
        ("queue.add", {"outcome": "known"}),
        ("queue.get", {}),
        ("queue.add", {"outcome": "while_processing"}),
        ("queue.add", {"outcome": "known"}),
        ("queue.done", {"again": True}),
        ("queue.get", {}),
        ("queue.done", {"again": False}),
    ]


def test_an_add_that_the_lock_s_holder_does_is_its_caller_s() -> None:
    """An add never waits for the lock: while another thread holds it, that thread does it."""
    recorder = Recorder()
    with tracing(recorder):
        queue: Queue[str] = Queue(name="foos")
        with queue._lock:
            thread = threading.Thread(target=queue.add, args=("a",), name="handler")
            thread.start()
            thread.join()
            assert not recorder.hops()
        queue.get()

    assert [(hop.hop, hop.thread) for hop in recorder.hops()] == [
        ("queue.add", "handler"),
        ("queue.get", threading.current_thread().name),
    ]


@pytest.mark.parametrize("make", [DelayingQueue, PriorityQueue])
def test_a_delayed_add_is_two_hops_the_delay_and_the_add(make: type[DelayingQueue[str]]) -> None:
    clock, recorder = FakeClock(), Recorder()
    with tracing(recorder, clock=clock):
        queue = make(name="foos", clock=clock)
        queue.add_after("a", 60.0)
        clock.wait_for_waiters(1)
        clock.step(60.0)
        queue.get()
        queue.shut_down()

    assert [(hop.hop, hop.at) for hop in recorder.hops()] == [
        ("queue.add_after", 0.0),
        ("queue.add", 60.0),
        ("queue.get", 60.0),
    ]
    assert recorder.hops("queue.add_after")[0].details == {"delay": 60.0}
    assert recorder.hops("queue.add")[0].thread == "workqueue-delays-foos"


@pytest.mark.parametrize("make", [RateLimitingQueue, PriorityQueue])
def test_a_retry_shows_its_back_off_and_its_failures(make: Any) -> None:
    recorder = Recorder()
    with tracing(recorder):
        queue = make(ItemExponentialFailureRateLimiter(10.0, 1000.0), name="foos")
        queue.add_rate_limited("a")
        queue.add_rate_limited("a")
        queue.forget("a")
        queue.shut_down()

    assert seen(recorder) == [
        ("queue.add_rate_limited", {"delay": 10.0, "failures": 1}),
        ("queue.add_after", {"delay": 10.0}),
        ("queue.add_rate_limited", {"delay": 20.0, "failures": 2}),
        ("queue.add_after", {"delay": 20.0}),
        ("queue.forget", {}),
    ]


def test_a_scheduled_item_shows_its_delay() -> None:
    clock, recorder = FakeClock(start=10.0), Recorder()
    with tracing(recorder, clock=clock):
        queue: PriorityQueue[str] = PriorityQueue(name="foos", clock=clock)
        queue.schedule("a", 15.0)
        queue.schedule("b", 10.0)
        queue.shut_down()

    assert seen(recorder) == [
        ("queue.add_after", {"delay": 5.0}),
        ("queue.add", {"outcome": "new"}),
    ]


def test_a_sync_that_must_wait_has_no_error() -> None:
    """CST-04."""
    recorder = Recorder()
    with tracing(recorder):
        queue = RateLimitingQueue[str](name="foos")
        with pytest.raises(NotReadyError), queue.syncing("a"):
            raise NotReadyError("the cache is behind")

    (end,) = recorder.hops("sync.end")
    assert (end.details["error"], end.details["not_ready"]) == ("", "the cache is behind")


def test_workers_show_each_sync_and_its_failure() -> None:
    recorder, stop = Recorder(), StopEvent()

    def sync(key: str) -> None:
        if key == "bad":
            raise ValueError("no")
        stop.set()

    with tracing(recorder):
        queue = RateLimitingQueue[str](
            ItemExponentialFailureRateLimiter(1000.0, 1000.0), name="foos"
        )
        queue.add("bad")
        queue.add("good")
        run_workers(stop, queue, sync)

    assert [hop.hop for hop in recorder.hops(key="bad")] == [
        "queue.add",
        "queue.get",
        "sync.start",
        "sync.end",
        "queue.add_rate_limited",
        "queue.add_after",
        "queue.done",
    ]
    ends = {hop.key: hop.details["error"] for hop in recorder.hops("sync.end")}
    assert ends == {"bad": "ValueError: no", "good": ""}
    assert [hop.hop for hop in recorder.hops(key="good")][-3:] == [
        "sync.end",
        "queue.forget",
        "queue.done",
    ]


def test_what_a_thread_sends_after_an_item_is_not_of_the_item() -> None:
    recorder = Recorder()
    with tracing(recorder) as trace:
        queue: Queue[str] = Queue(name="foos")
        queue.add("a")
        queue.get()
        trace.note_request("request.sent", method="GET", path="/during")
        queue.done("a")
        trace.note_request("request.sent", method="GET", path="/after")
        recorder.wait_for(lambda hop: hop.details.get("path") == "/after")
        queue.shut_down()

    assert [hop.key for hop in recorder.hops("request.sent")] == ["a", ""]
