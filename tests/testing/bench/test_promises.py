"""A queue is checked before it is measured beside work queues (BEN-01, BEN-02)."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.testing.bench import STANDARD, ConditionQueue
from clientgo.testing.bench.adapters import BenchError
from clientgo.testing.bench.promises import TWICE, check
from clientgo.workqueue import PriorityQueue

TIMEOUT = 20.0
PLAIN = {
    "queue.Queue": queue.Queue,
    "queue.LifoQueue": queue.LifoQueue,
    "queue.PriorityQueue": queue.PriorityQueue,
    "queue.SimpleQueue": queue.SimpleQueue,
    "asyncio.Queue": asyncio.Queue,
}


class Forgetful(ConditionQueue):
    """Drops what is added while it is processed: it would wait in get for ever."""

    def done(self, item: Any) -> None:
        with self._condition:
            self._dirty.discard(item)
        super().done(item)

    def get(self) -> tuple[Any, bool]:
        if not self._order:
            raise LookupError("no item is left")
        return super().get()


class Repeats(Forgetful):
    """Hands the last item out again instead of what it has dropped."""

    def get(self) -> tuple[Any, bool]:
        return super().get() if self._order else ("b", False)


class OnlyMerges(ConditionQueue):
    """Merges what waits, and hands an item out that is being processed."""

    def get(self) -> tuple[Any, bool]:
        item, ended = super().get()
        self._processing.discard(item)
        return item, ended


class KeepsNothing:
    """Merges nothing; an item that is processed waits for its done."""

    def __init__(self) -> None:
        self._order: list[str] = []
        self._processing: set[str] = set()
        self._ready = asyncio.Condition()

    async def add(self, item: str) -> None:
        async with self._ready:
            self._order.append(item)
            self._ready.notify_all()

    async def get(self) -> str:
        async with self._ready:
            await self._ready.wait_for(lambda: set(self._order) - self._processing)
            item = next(each for each in self._order if each not in self._processing)
            self._order.remove(item)
            self._processing.add(item)
            return item

    async def done(self, item: str) -> None:
        async with self._ready:
            self._processing.discard(item)
            self._ready.notify_all()


@pytest.mark.parametrize("factory", [each for each in STANDARD if each not in PLAIN])
def test_the_work_queues_here_keep_their_promises(factory: str) -> None:
    """BEN-01"""
    found = check(STANDARD[factory], timeout=TIMEOUT)

    assert (found.broken, found.problem, found.merges) == ("", "", True)


def test_a_priority_queue_that_is_fair_keeps_its_promises() -> None:
    """BEN-01"""
    found = check(lambda: PriorityQueue(fair_by=lambda key: key[:11]), timeout=TIMEOUT)

    assert (found.broken, found.problem) == ("", "")


@pytest.mark.parametrize("factory", PLAIN.values(), ids=PLAIN)
def test_a_plain_queue_hands_an_item_to_two_workers_at_a_time(
    factory: Callable[[], object],
) -> None:
    """BEN-02: in each order of items."""
    found = check(factory, timeout=TIMEOUT)

    assert (found.broken, found.problem) == (TWICE, "")


def test_a_queue_that_merges_only_what_waits_is_found() -> None:
    """BEN-02"""
    assert check(OnlyMerges, timeout=TIMEOUT).broken == TWICE


def test_a_queue_of_coroutines_that_does_not_merge_keeps_the_promises() -> None:
    """BEN-01"""
    found = check(KeepsNothing, timeout=TIMEOUT)

    assert (found.broken, found.problem, found.merges) == ("", "", False)


def test_a_lost_item_is_named_with_the_calls_that_lost_it() -> None:
    """BEN-01"""
    assert check(Forgetful, timeout=TIMEOUT).problem == (
        "loses an item that is added while it is processed: get() after add('a'), add('b'), get(), "
        "done('b'), done('a') raised LookupError: no item is left"
    )


def test_another_item_instead_of_the_lost_one_is_named() -> None:
    """BEN-01"""
    assert check(Repeats, timeout=TIMEOUT).problem == (
        "loses an item that is added while it is processed: "
        "get() returned 'b', not 'a', which was added while processed"
    )


def test_what_is_no_queue_is_refused() -> None:
    with pytest.raises(BenchError, match="set has no method 'get'"):
        check(set, timeout=TIMEOUT)
    with pytest.raises(BenchError, match="the factory raised ZeroDivisionError"):
        check(lambda: 1 // 0, timeout=TIMEOUT)
