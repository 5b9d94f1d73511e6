"""An event loop in a thread of its own, its watchdog and its threads."""

from __future__ import annotations

import asyncio
import inspect
import logging
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import NamedTuple

import pytest

from clientgo.aio import CallThreads, CoroutineCancelledError, EventLoop
from clientgo.aio.watchdog import (
    BLOCKED_AFTER,
    LOOKED_EVERY,
    REPORTED_EVERY,
    LoopWatchdog,
)
from clientgo.testing import FakeClock
from clientgo.util.wait import StopEvent
from tests.background import Background


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    loop = EventLoop("test", threads=2)
    yield loop
    assert loop.stop() == []


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


async def never(began: threading.Event) -> None:
    began.set()
    await asyncio.Event().wait()


def test_a_thread_may_wait_for_a_coroutine(loop: EventLoop) -> None:
    """AIO-10."""
    assert loop.run("answer", answer()) == 42


def test_a_coroutine_cannot_wait_for_its_own_loop(loop: EventLoop) -> None:
    async def deadlock() -> None:
        loop.run("answer", answer())

    with pytest.raises(RuntimeError, match="must await"):
        loop.run("deadlock", deadlock())


def test_a_stop_cancels_what_a_thread_waits_for(loop: EventLoop) -> None:
    began, stop = threading.Event(), StopEvent()
    waiting = Background(lambda: loop.run("never", never(began), stop))
    assert began.wait(30)
    stop.set()
    with pytest.raises(CoroutineCancelledError, match="never was cancelled"):
        waiting.result()


def test_a_coroutine_that_is_cancelled_before_its_first_step_has_ended(loop: EventLoop) -> None:
    began, stop = threading.Event(), StopEvent()
    stop.set()
    with pytest.raises(CoroutineCancelledError):
        loop.run("never", never(began), stop)
    assert not began.is_set()


def test_a_coroutine_may_have_a_time_limit(loop: EventLoop) -> None:
    with pytest.raises(TimeoutError):
        loop.run("never", never(threading.Event()), timeout=0.01)


def test_the_stop_cancels_what_is_left() -> None:
    loop, ended, began = EventLoop("test"), threading.Event(), threading.Event()

    async def left() -> None:
        try:
            await never(began)
        finally:
            ended.set()

    loop.start("left", left(), lambda _outcome: None)
    assert began.wait(30)
    assert loop.stop() == []
    assert ended.is_set()
    with pytest.raises(CoroutineCancelledError):
        loop.run("answer", coroutine := answer())
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED


def test_a_loop_without_a_coroutine_has_no_thread() -> None:
    before = set(threading.enumerate())
    loop = EventLoop("test")
    assert set(threading.enumerate()) <= before
    assert loop.stop() == []


def test_calls_share_a_bounded_number_of_threads(loop: EventLoop) -> None:
    both, seen = threading.Barrier(2), set[str]()

    def call(_stop: object) -> None:
        both.wait(30)
        seen.add(threading.current_thread().name)

    async def calls() -> None:
        await asyncio.gather(*(loop.calls.call(call) for _ in range(6)))

    loop.run("calls", calls())
    assert seen == {"test-call-1", "test-call-2"}


def test_calls_that_wait_are_cancelled_at_the_stop() -> None:
    threads, hold, busy = CallThreads("test", 1), threading.Event(), threading.Event()
    first: Future[object] = threads.submit(lambda: (busy.set(), hold.wait(30)))
    second = threads.submit(lambda: None)
    assert busy.wait(30)
    stopping = Background(threads.stop)
    while not second.cancelled():
        hold.wait(0.001)
    hold.set()
    assert stopping.result() == []
    assert first.done()
    assert threads.submit(lambda: None).cancelled()


def test_a_stop_waits_once_for_all_calls_that_do_not_end() -> None:
    threads, hold, busy = CallThreads("test", 8), threading.Event(), threading.Semaphore(0)
    for _ in range(8):
        threads.submit(lambda: (busy.release(), hold.wait(60)))
    for _ in range(8):
        assert busy.acquire(timeout=30)
    began = time.monotonic()
    assert len(threads.stop(0.2)) == 8
    assert time.monotonic() - began < 1.2
    hold.set()
    assert threads.stop() == []


class WatchedLoop(NamedTuple):
    """An event loop that runs in a thread, and its watchdog, which does not run yet."""

    clock: FakeClock
    loop: asyncio.AbstractEventLoop
    watchdog: LoopWatchdog


@pytest.fixture
def watched() -> Iterator[WatchedLoop]:
    clock, loop = FakeClock(), asyncio.new_event_loop()
    running = threading.Thread(target=loop.run_forever)
    running.start()
    assert running.ident is not None
    yield WatchedLoop(clock, loop, LoopWatchdog("test", loop, running.ident, clock))
    loop.call_soon_threadsafe(loop.stop)
    running.join(60)
    loop.close()


def test_a_coroutine_that_blocks_the_loop_is_reported_with_its_stack(
    watched: WatchedLoop, caplog: pytest.LogCaptureFixture
) -> None:
    """AIO-10. While it does: after a second, again every minute, and when the loop goes on."""
    clock, loop, watchdog = watched
    watching = Background(watchdog.run)
    go_on, blocked = threading.Event(), threading.Event()

    async def a_bad_idea() -> None:
        blocked.set()
        go_on.wait(30)

    task = asyncio.run_coroutine_threadsafe(a_bad_idea(), loop)
    assert blocked.wait(30)
    with caplog.at_level(logging.WARNING):
        watchdog.began()
        for looks in (BLOCKED_AFTER, REPORTED_EVERY):
            clock.run_for(looks * LOOKED_EVERY, clock.has_waiters)
        clock.wait_for(lambda: len(caplog.messages) == 2)
        go_on.set()
        clock.wait_for(lambda: len(caplog.messages) == 3)
    first, again, end = caplog.messages
    assert "has blocked the event loop for 1.0 s" in first
    assert "in a_bad_idea\n    go_on.wait(30)" in first
    assert "events.py" not in first
    assert "for 61.0 s" in again
    assert "goes on after 61.0 s" in end
    task.result(30)
    watchdog.stop()
    watching.result()


def test_a_loop_that_is_busy_with_many_coroutines_is_not_reported(
    watched: WatchedLoop, caplog: pytest.LogCaptureFixture
) -> None:
    """None of them blocks it, however long they take together."""
    clock, loop, watchdog = watched
    begun: queue.SimpleQueue[threading.Event] = queue.SimpleQueue()

    async def a_part_of_the_work() -> None:
        ends = threading.Event()
        begun.put(ends)
        ends.wait(60)

    async def much_to_do() -> None:
        await asyncio.gather(*(a_part_of_the_work() for _ in range(40)))

    work = asyncio.run_coroutine_threadsafe(much_to_do(), loop)
    first = begun.get(timeout=60)
    watchdog.began()
    watching = Background(watchdog.run)
    first.set()
    for _ in range(39):
        ends = begun.get(timeout=60)
        clock.wait_for_waiters()
        clock.step(LOOKED_EVERY)
        clock.wait_for_waiters()
        ends.set()
    work.result(60)
    watchdog.stop()
    watching.result()
    assert caplog.messages == []


def test_a_loop_that_answers_is_not_reported(
    watched: WatchedLoop, caplog: pytest.LogCaptureFixture
) -> None:
    clock, _, watchdog = watched
    watching = Background(watchdog.run)
    watchdog.began()
    for _ in range(5):
        clock.wait_for(lambda: watchdog._answered and clock.has_waiters())
        clock.step(0.4)
    watchdog.stop()
    watching.result()
    assert caplog.messages == []
