"""Queues and the loads that are put on them.

The keyed queues merge equal items and never give an item to two workers at a time. The plain ones
of the standard library do neither: they are the price of a lock and a wake-up in Python.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread
from clientgo.workqueue import (
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    Queue,
    RateLimitingQueue,
)


def _thread(target: Callable[..., object], *args: object) -> SupervisedThread:
    return SupervisedThread(target, args=args, name="load", then="the measurement is not complete")


@uncopyable("it has locks; make one in each process")
class ConditionQueue:
    """A work queue as a textbook has it: one lock, one condition, a list and two sets."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._order: list[Any] = []
        self._dirty: set[Any] = set()
        self._processing: set[Any] = set()
        self._ended = False

    def add(self, item: Any) -> None:
        """Queue an item, unless it waits already; later, if it is being processed."""
        with self._condition:
            if item in self._dirty or self._ended:
                return
            self._dirty.add(item)
            if item not in self._processing:
                self._order.append(item)
                self._condition.notify()

    def get(self) -> tuple[Any, bool]:
        """Wait for an item; return it and False, or None and True at the end."""
        with self._condition:
            while not self._order and not self._ended:
                self._condition.wait()
            if not self._order:
                return None, True
            item = self._order.pop(0)
            self._dirty.discard(item)
            self._processing.add(item)
            return item, False

    def done(self, item: Any) -> None:
        """End the processing of an item."""
        with self._condition:
            self._processing.discard(item)
            if item in self._dirty:
                self._order.append(item)
                self._condition.notify()

    def shut_down(self) -> None:
        """Let getters end when nothing is left."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()


def _rate_limiting_queue() -> RateLimitingQueue[str]:
    """Return one whose failures come after milliseconds, and are not limited all together."""
    return RateLimitingQueue(ItemExponentialFailureRateLimiter(0.001, 1.0))


def _fair_queue() -> PriorityQueue[str]:
    return PriorityQueue(fair_by=lambda key: key.partition("/")[0])


KEYED: Final[Mapping[str, Callable[[], Any]]] = {
    "Queue": Queue,
    "RateLimitingQueue": RateLimitingQueue,
    "PriorityQueue": PriorityQueue,
    "PriorityQueue, fair": _fair_queue,
    "textbook Condition queue": ConditionQueue,
}
PEERS: Final[Mapping[str, Callable[[], Any]]] = {
    "queue.Queue": queue.Queue,
    "queue.SimpleQueue": queue.SimpleQueue,
}
STANDARD: Final[Mapping[str, Callable[[], Any]]] = {
    "Queue": Queue,
    "PriorityQueue": PriorityQueue,
    "RateLimitingQueue": _rate_limiting_queue,
    "textbook Condition queue": ConditionQueue,
    **PEERS,
    "asyncio.Queue": asyncio.Queue,
}
"""What a queue of a user's is measured beside."""


def names_of_queues() -> list[str]:
    """Return the names of all queues."""
    return [*KEYED, *PEERS]


def new_queue(name: str) -> Any:
    """Return an empty queue."""
    return (KEYED | PEERS)[name]()  # type: ignore[operator]


def load_one_by_one(work: Any, items: Sequence[str]) -> float:
    """Add an item, take it, give it back; return the seconds."""
    started = time.perf_counter()
    if isinstance(work, queue.SimpleQueue):
        for item in items:
            work.put(item)
            work.get()
    elif isinstance(work, queue.Queue):
        for item in items:
            work.put(item)
            work.get()
            work.task_done()
    else:
        for item in items:
            work.add(item)
            taken, _ = work.get()
            work.done(taken)
    return time.perf_counter() - started


def load_readds(work: Any, items: Sequence[str]) -> float:
    """Add each item again while it is processed; return the seconds. For keyed queues."""
    started = time.perf_counter()
    for item in items:
        work.add(item)
        taken, _ = work.get()
        work.add(taken)
        work.add(taken)
        work.done(taken)
        taken, _ = work.get()
        work.done(taken)
    return time.perf_counter() - started


def load_threads(work: Any, items: Sequence[str], *, producers: int, workers: int) -> float:
    """Let producers add all items and workers take them; return the seconds.

    Without those that it takes to start the threads.
    """
    is_plain = not hasattr(work, "shut_down") or isinstance(work, queue.Queue)
    add = work.put if is_plain else work.add
    loop = _plain_loop if is_plain else _keyed_loop
    parts = [items[number::producers] for number in range(producers)]
    takers = [_thread(loop, work) for _ in range(workers)]
    begin = threading.Event()
    givers = [_thread(_add_all, begin, add, part) for part in parts]
    for thread in (*takers, *givers):
        thread.start()
    started = time.perf_counter()
    begin.set()
    for thread in givers:
        thread.join()
    if is_plain:
        for _ in takers:
            work.put(None)
    else:
        work.shut_down()
    for thread in takers:
        thread.join()
    return time.perf_counter() - started


def _add_all(begin: threading.Event, add: Callable[[str], object], items: Sequence[str]) -> None:
    begin.wait()
    for item in items:
        add(item)


def _keyed_loop(work: Any) -> None:
    while True:
        item, ended = work.get()
        if ended:
            return
        work.done(item)


def _plain_loop(work: Any) -> None:
    if isinstance(work, queue.SimpleQueue):
        while work.get() is not None:
            pass
        return
    while work.get() is not None:
        work.task_done()


def load_delayed(items: Sequence[str]) -> float:
    """Add items after a millisecond, and take them all; return the seconds."""
    work = RateLimitingQueue[str]()
    started = time.perf_counter()
    for item in items:
        work.add_after(item, 0.001)
    return _drained(work, len(items), started)


def load_failures(items: Sequence[str]) -> float:
    """Add items as failed, and take them all; return the seconds."""
    work = RateLimitingQueue(ItemExponentialFailureRateLimiter[str](0.001, 1.0))
    started = time.perf_counter()
    for item in items:
        work.add_rate_limited(item)
    return _drained(work, len(items), started)


def _drained(work: RateLimitingQueue[str], count: int, started: float) -> float:
    for _ in range(count):
        item, _ended = work.get()
        work.forget(item)
        work.done(item)
    seconds = time.perf_counter() - started
    work.shut_down()
    return seconds
