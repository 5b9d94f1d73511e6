"""Coroutines that take keys from a queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from clientgo.aio import get, keys, run_workers
from clientgo.util.wait import NotReadyError, StopEvent
from clientgo.workqueue import (
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
)
from tests.background import Background

LIMIT = 60.0


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, LIMIT))


async def until(condition: Callable[[], object]) -> None:
    """Let everything else in the loop run until a condition holds."""
    while not condition():
        await asyncio.sleep(0.001)


def retrying() -> RateLimitingQueue[str]:
    return RateLimitingQueue(ItemExponentialFailureRateLimiter(0.001, 0.001))


# One coroutine


@pytest.mark.parametrize("kind", [Queue, RateLimitingQueue, PriorityQueue])
def test_keys_come_in_their_order_until_the_queue_shuts_down(kind: type[Queue[str]]) -> None:
    """AIO-02."""
    queue = kind(name="q")

    async def main() -> list[str]:
        for key in "bac":
            queue.add(key)
        queue.shut_down()
        return [key async for key in keys(queue)]

    assert run(main()) == list("bac")
    assert queue.processing_items() == []


def test_an_add_by_a_thread_wakes_the_coroutine() -> None:
    queue: Queue[str] = Queue()

    async def main() -> None:
        waiting = asyncio.create_task(get(queue))
        await until(lambda: queue.statistics().idle_getters == 1)
        await asyncio.to_thread(queue.add, "a")
        assert await waiting == ("a", False)
        assert queue.statistics().idle_getters == 0
        queue.done("a")

    run(main())


def test_a_shutdown_by_a_thread_ends_all_that_wait() -> None:
    queue: Queue[str] = Queue()

    async def main() -> None:
        waiting = [asyncio.create_task(get(queue)) for _ in range(3)]
        await until(lambda: queue.statistics().idle_getters == 3)
        await asyncio.to_thread(queue.shut_down)
        assert await asyncio.gather(*waiting) == [(None, True)] * 3

    run(main())


def test_a_key_is_given_back_when_the_next_is_asked_for_and_when_the_loop_is_left() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b")

    async def main() -> None:
        async for key in keys(queue):
            assert queue.processing_items() == [key]
            if key == "b":
                break
        await until(lambda: not queue.processing_items())

    run(main())


def test_a_key_that_is_added_while_it_is_handled_comes_again() -> None:
    queue: Queue[str] = Queue()
    queue.add("a")
    seen: list[str] = []

    async def main() -> None:
        async for key in keys(queue):
            seen.append(key)
            if len(seen) == 1:
                queue.add(key)
                queue.add(key)
            else:
                queue.shut_down()

    run(main())
    assert seen == ["a", "a"]


def test_other_coroutines_run_between_two_keys() -> None:
    """AIO-09. Also if the body never waits."""
    queue: Queue[int] = Queue()
    for number in range(100):
        queue.add(number)
    queue.shut_down()

    async def main() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        beside = asyncio.create_task(other())
        async for _ in keys(queue):
            pass
        beside.cancel()
        return turns

    assert run(main()) >= 100


# Back-pressure and cancellation


def test_a_key_is_taken_only_when_a_coroutine_asks_for_it() -> None:
    """AIO-01. So the queue merges and orders what waits."""
    queue: Queue[str] = Queue()

    async def main() -> None:
        async with contextlib.aclosing(keys(queue)) as taken:
            queue.add("a")
            assert await anext(taken) == "a"
            for key in ("b", "b", "c"):
                queue.add(key)
            await asyncio.sleep(0)
            statistics = queue.statistics()
            assert (statistics.ready, statistics.processing) == (2, 1)

    run(main())


def test_a_coroutine_that_is_cancelled_while_it_waits_takes_nothing() -> None:
    """AIO-03."""
    queue: Queue[str] = Queue()

    async def main() -> None:
        waiting = asyncio.create_task(get(queue))
        await until(lambda: queue.statistics().idle_getters == 1)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert queue.statistics().idle_getters == 0
        queue.add("a")
        assert await get(queue) == ("a", False)

    run(main())


@pytest.mark.parametrize("next_is", ["coroutine", "thread"])
def test_a_wake_up_of_a_cancelled_coroutine_goes_to_the_next(next_is: str) -> None:
    """AIO-03. The key would wait for another add otherwise."""
    queue: Queue[str] = Queue()

    async def main() -> Any:
        first = asyncio.create_task(get(queue))
        await until(lambda: queue.statistics().idle_getters == 1)
        if next_is == "coroutine":
            second: Any = asyncio.create_task(get(queue))
        else:
            second = asyncio.create_task(asyncio.to_thread(queue.get))
        await until(lambda: queue.statistics().idle_getters == 2)
        queue.add("a")  # wakes the first
        assert queue.statistics().idle_getters == 1
        first.cancel()
        return await second

    assert run(main()) == ("a", False)


def test_a_loop_that_is_closed_does_not_keep_others_from_a_key() -> None:
    queue: Queue[str] = Queue()
    loop = asyncio.new_event_loop()
    left = get(queue)

    async def begin() -> None:
        begun = asyncio.ensure_future(left)
        await until(lambda: queue.statistics().idle_getters == 1)
        kept.append(begun)

    kept: list[object] = []
    loop.run_until_complete(begin())
    loop.close()
    waiting = Background(queue.get)
    deadline = time.monotonic() + LIMIT
    while queue.statistics().idle_getters < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    queue.add("a")
    assert waiting.result() == ("a", False)
    left.close()


def test_threads_and_loops_share_a_queue() -> None:
    """AIO-02. Every key is handled, by one at a time."""
    queue: Queue[int] = Queue()
    lock, running, handled = threading.Lock(), set[int](), dict[str, int]()

    def begin(key: int) -> None:
        with lock:
            assert key not in running
            running.add(key)

    def end(key: int, who: str) -> None:
        with lock:
            running.discard(key)
            handled[who] = handled.get(who, 0) + 1

    async def worker() -> None:
        async for key in keys(queue):
            begin(key)
            await asyncio.sleep(0)
            end(key, "coroutine")

    async def workers() -> None:
        await asyncio.gather(*(worker() for _ in range(10)))

    def thread() -> None:
        for key in queue.items():
            begin(key)
            end(key, "thread")

    parts = [Background(lambda: run(workers())) for _ in range(2)] + [
        Background(thread) for _ in range(2)
    ]
    for _ in range(20):
        for key in range(200):
            queue.add(key)
    while len(queue):
        time.sleep(0.001)
    queue.shut_down_with_drain(until_empty=True)
    for part in parts:
        part.result()
    assert sum(handled.values()) >= 200


# Workers


def test_so_many_keys_wait_at_a_time_in_one_thread() -> None:
    """AIO-01."""
    queue = retrying()
    most = 0

    async def main() -> None:
        nonlocal most
        stop, release = StopEvent(), asyncio.Event()
        waiting = 0

        async def handle(_key: int) -> None:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            await release.wait()
            waiting -= 1

        before = threading.active_count()
        workers = asyncio.create_task(run_workers(stop, queue, handle, workers=100))
        for number in range(150):
            queue.add(str(number))
        await until(lambda: waiting == 100)
        assert threading.active_count() <= before + 1
        release.set()
        await until(lambda: not queue.statistics().processing and not len(queue))
        stop.set()
        await workers

    run(main())
    assert most == 100


def test_a_key_that_fails_is_tried_again_and_then_forgotten(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """AIO-02."""
    queue = retrying()
    attempts: list[int] = []

    async def main() -> None:
        stop = StopEvent()

        async def handle(key: str) -> None:
            attempts.append(queue.num_requeues(key))
            await asyncio.sleep(0)
            if len(attempts) < 3:
                raise ValueError("not yet")
            stop.set()

        queue.add("a")
        await run_workers(stop, queue, handle)

    with caplog.at_level(logging.INFO, "clientgo.workqueue"):
        run(main())
    assert attempts == [0, 1, 2]
    assert queue.num_requeues("a") == 0
    assert [line.split(";")[0] for line in caplog.messages if "ValueError" in line] == [
        "a: ValueError: not yet"
    ]
    assert "a: handled after 2 failures" in caplog.messages


def test_a_key_that_is_not_ready_is_tried_again_without_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CST-04."""
    queue, stop, tries = retrying(), StopEvent(), 0
    queue.add("a")

    async def handle(_key: str) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise NotReadyError("the cache is behind")
        stop.set()

    with caplog.at_level(logging.INFO):
        run(run_workers(stop, queue, handle))

    assert tries == 3
    assert queue.num_requeues("a") == 0
    assert caplog.messages == []


def test_what_a_handler_awaits_may_be_cancelled_without_its_worker() -> None:
    queue = retrying()
    attempts: list[str] = []

    async def main() -> None:
        stop = StopEvent()

        async def handle(key: str) -> None:
            attempts.append(key)
            if len(attempts) == 2:
                stop.set()
                return
            inner = asyncio.create_task(asyncio.sleep(LIMIT))
            inner.cancel()
            await inner

        queue.add("a")
        await run_workers(stop, queue, handle)

    run(main())
    assert attempts == ["a", "a"]


def test_the_stop_waits_for_the_keys_that_are_handled_and_drops_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """AIO-04."""
    queue = retrying()
    ended: list[str] = []

    async def main() -> None:
        stop, release = StopEvent(), asyncio.Event()

        async def handle(key: str) -> None:
            await release.wait()
            ended.append(key)

        for key in "abc":
            queue.add(key)
        workers = asyncio.create_task(run_workers(stop, queue, handle, workers=2))
        await until(lambda: queue.statistics().processing == 2)
        await asyncio.to_thread(stop.set)
        await until(lambda: queue.shutting_down)
        assert not workers.done()
        release.set()
        await workers

    with caplog.at_level(logging.INFO, "clientgo.workqueue"):
        run(main())
    assert ended == ["a", "b"]
    assert "stopped before 1 listed keys were handled" in caplog.text


def test_with_drain_the_stop_handles_what_is_listed() -> None:
    queue = retrying()
    handled: list[str] = []

    async def main() -> None:
        stop = StopEvent()

        async def handle(key: str) -> None:
            stop.set()
            handled.append(key)

        for key in "abc":
            queue.add(key)
        await run_workers(stop, queue, handle, drain=True)

    run(main())
    assert handled == ["a", "b", "c"]


def test_a_cancellation_cancels_the_handlers_and_waits_for_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """AIO-04."""
    queue = retrying()
    ended: list[str] = []

    async def main() -> None:
        async def handle(key: str) -> None:
            try:
                await asyncio.sleep(LIMIT)
            finally:
                await asyncio.sleep(0)
                ended.append(key)

        queue.add("a")
        workers = asyncio.create_task(run_workers(StopEvent(), queue, handle, workers=3))
        await until(lambda: queue.statistics().processing == 1)
        workers.cancel()
        await asyncio.wait([workers])
        assert workers.cancelled()

    run(main())
    assert ended == ["a"]
    assert queue.processing_items() == []
    assert queue.shutting_down
    assert queue.num_requeues("a") == 0
    assert caplog.messages == [], "a cancelled sync has not failed"


@pytest.mark.parametrize("raised_by", ["guard", "handler"])
def test_what_ends_all_workers_is_raised(raised_by: str) -> None:
    """A guard's refusal, and SystemExit of a handler; the other workers finish their key first."""
    queue = retrying()
    finished: list[str] = []

    class Lost(Exception):
        pass

    async def main() -> None:
        release = asyncio.Event()

        def guard() -> None:
            if raised_by == "guard" and queue.processing_items() == ["b"]:
                raise Lost

        async def handle(key: str) -> None:
            if key == "b":
                raise SystemExit(3)
            await release.wait()
            finished.append(key)

        queue.add("a")
        workers = asyncio.create_task(
            run_workers(StopEvent(), queue, handle, workers=2, guard=guard)
        )
        await until(lambda: queue.processing_items() == ["a"])
        if raised_by == "handler":
            queue.add("b")
        else:
            release.set()
            await until(lambda: finished)
            queue.add("b")
        release.set()
        await workers

    with pytest.raises(SystemExit if raised_by == "handler" else Lost):
        run(main())
    assert finished == ["a"]


def test_at_least_one_worker() -> None:
    async def handle(_key: str) -> None: ...

    with pytest.raises(ValueError, match="at least 1"):
        run(run_workers(StopEvent(), retrying(), handle, workers=0))
