"""A load ends when each item was taken after its last add, whatever the queue."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from dataclasses import replace
from typing import Any

import pytest

from clientgo.testing.bench import STANDARD
from clientgo.testing.bench.adapters import BenchError, operations_of
from clientgo.testing.bench.workload import StuckError, Workload, run

TIMEOUT = 20.0
BUSY = Workload(items=60, producers=2, workers=3, adds=3, readds=0.5, failures=0.25, compute=1e-6)


def taken(factory: Any, load: Workload, *, pairs: bool = False, rate: float = 0.0) -> int:
    return sum(
        run(operations_of(factory(), returns_pairs=pairs), load, timeout=TIMEOUT, rate=rate).taken
    )


@pytest.mark.parametrize("factory", [queue.Queue, queue.LifoQueue, asyncio.Queue])
def test_a_plain_queue_hands_out_every_add(factory: Any) -> None:
    assert taken(factory, Workload(items=60, workers=3)) == 60
    assert taken(factory, Workload(items=60, workers=1, readds=0.5, failures=0.25)) == 60 + 30 + 15
    assert 60 + 30 + 15 <= taken(factory, BUSY) <= 3 * 60 + 30 + 15


@pytest.mark.parametrize("name", ["Queue", "RateLimitingQueue", "textbook Condition queue"])
def test_a_work_queue_hands_out_every_item_as_often_as_it_changed_while_processed(
    name: str,
) -> None:
    load = Workload(items=60, workers=3, readds=0.5)

    assert taken(STANDARD[name], load, pairs=True) == 60 + 30


def test_delays_and_failures_go_through_the_queue() -> None:
    load = Workload(items=40, producers=2, workers=2, delays=0.5, failures=0.25)
    work = operations_of(STANDARD["RateLimitingQueue"](), returns_pairs=True)
    assert work.add_after is not None
    assert work.add_rate_limited is not None
    calls: list[str] = []
    noting = replace(
        work,
        add_after=lambda *args: (calls.append("after"), work.add_after(*args)),
        add_rate_limited=lambda item: (calls.append("rate limited"), work.add_rate_limited(item)),
    )

    assert sum(run(noting, load, timeout=TIMEOUT).taken) == 40 + 10
    assert (calls.count("after"), calls.count("rate limited")) == (20, 10)


@pytest.mark.parametrize("factory", [queue.Queue, asyncio.Queue])
def test_a_paced_load_takes_the_time_of_each_item(factory: Any) -> None:
    load = Workload(items=30, producers=2, workers=2, work=1e-6)

    found = run(operations_of(factory(), returns_pairs=False), load, timeout=TIMEOUT, rate=1e6)

    assert len(found.waits) == 30
    assert min(found.waits) > 0


def test_the_busiest_worker_is_counted_in_even_shares() -> None:
    found = run(
        operations_of(queue.Queue(), returns_pairs=False), Workload(items=9, workers=1), timeout=9
    )
    assert found.busiest == 1.0

    found.taken = [6, 2, 1]
    assert found.busiest == 2.0


@pytest.mark.parametrize("kind", [queue.Queue, asyncio.Queue])
def test_what_the_queue_raises_ends_the_load(kind: Any) -> None:
    def no_connection() -> None:
        raise RuntimeError("no connection")

    def factory() -> Any:
        work = kind()
        work.task_done = no_connection
        return work

    with pytest.raises(BenchError, match="the queue raised RuntimeError: no connection"):
        taken(factory, Workload(items=3))


@pytest.mark.parametrize("adds", [1, 2])
def test_a_queue_that_loses_the_last_add_of_an_item_is_given_up(adds: int) -> None:
    class Lossy(queue.Queue[str]):
        """Takes one item at a time: the worker has taken each before the next pass begins."""

        sevens = 0

        def put(self, item: str, *args: Any) -> None:  # type: ignore[override]
            self.sevens += item.endswith("-7")
            if not item.endswith("-7") or self.sevens < adds:
                super().put(item)

    work = Lossy(maxsize=1)
    load = Workload(items=10, workers=1, adds=adds)
    with pytest.raises(StuckError, match=r"1 of 10 items were not taken .* namespace-7/object-7"):
        run(operations_of(work, returns_pairs=False), load, timeout=0.2)
    # The load's threads end as if the item had come.
    queue.Queue.put(work, "namespace-7/object-7")


class HandsOutTwice(queue.PriorityQueue[str]):
    """Hands its only item out again while it is processed, to a worker that then meets the first.

    An end of the load, which is sorted behind the item, is handed out once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._meeting = threading.Barrier(2, timeout=TIMEOUT)
        self._calls = itertools.count()

    def get(self, *args: Any) -> str:
        item = super().get()
        if next(self._calls) == 0:
            super().put(item)
        return item

    def forget(self, _item: str) -> None:
        self._meeting.wait()


def test_an_item_that_two_workers_have_at_a_time_is_named() -> None:
    """BEN-02"""
    load = Workload(items=1, workers=2, failures=1.0)
    work = operations_of(HandsOutTwice(), returns_pairs=False)

    found = run(work, load, timeout=TIMEOUT, looks_for_twice=True)

    assert found.twice == "namespace-0/object-0"


def test_an_item_that_one_worker_has_after_the_other_is_not() -> None:
    load = Workload(items=40, workers=3, adds=2, readds=0.5)
    work = operations_of(STANDARD["Queue"](), returns_pairs=True)

    assert run(work, load, timeout=TIMEOUT, looks_for_twice=True).twice == ""
