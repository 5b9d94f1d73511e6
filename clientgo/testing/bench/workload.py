"""One load on one queue: producers add keys, workers sync them, until every key is settled.

A worker does what a controller's does: it takes a key, reads the state, and gives the key back. A
key is settled when a worker took it after its last add. So a queue that merges adds and one that
does not end with the same state. A queue that loses an add never ends: the load gives up when
nothing was taken for a while.

With a queue of threads each producer and worker is a thread, with one of asyncio a task.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from clientgo.testing.bench.adapters import BenchError, Operations
from clientgo.testing.bench.guard import Guard
from clientgo.util.copies import uncopyable

if sys.platform != "win32":
    import resource

DELAY: Final = 0.001
"""Seconds after which a delayed item is ready."""


class StuckError(BenchError):
    """Nothing was handed out for a while, and keys are not settled."""


@dataclass(frozen=True)
class Workload:
    """What producers and workers do. Shares are from 0 to 1, times are seconds."""

    items: int = 20_000
    producers: int = 1
    workers: int = 4
    adds: int = 1
    """How often each item is added: once in each pass over all items."""
    readds: float = 0.0
    """The share of items that a worker adds again while it processes them."""
    failures: float = 0.0
    """The share of items whose first sync fails."""
    delays: float = 0.0
    """The share of items that are added with a delay of a millisecond."""
    work: float = 0.0
    """The time for which a sync waits, as for a server."""
    compute: float = 0.0
    """The processor time that a sync needs."""


@dataclass
class Round:
    """What one run of a load took."""

    taken: list[int]
    """How many items each worker took."""
    seconds: float = 0.0
    """Until every item was taken after its last add, and no item waits."""
    cpu: float = 0.0
    switches: int = 0
    """How often a thread gave the processor away, or lost it."""
    waits: list[float] = field(default_factory=list)
    """Seconds from add to get, if they were asked for."""
    twice: str = ""
    """An item that two workers had at a time, if that was looked for."""

    @property
    def busiest(self) -> float:
        """Return what the busiest worker took, in shares of an even distribution."""
        return max(self.taken) * len(self.taken) / max(sum(self.taken), 1)


def keys(count: int) -> list[str]:
    """Return keys as controllers have them."""
    return [f"namespace-{number % 10}/object-{number}" for number in range(count)]


def run(
    queue: Operations,
    load: Workload,
    *,
    timeout: float,
    rate: float = 0.0,
    looks_for_twice: bool = False,
) -> Round:
    """Put a load on an empty queue, whose last load it is; return what it took.

    The waits of the load are real time, as what is measured: there is no clock to inject.
    With ``rate`` so many items are added a second, and the time of each from add to get is kept.
    Raises StuckError if no item was taken for ``timeout`` seconds, and BenchError if the queue
    raises. Then threads may be left that wait in the queue; they don't keep the program alive.
    """
    kind = _Tasks if queue.awaits else _Threads
    return kind(queue, load, rate, looks_for_twice).run(timeout)


@uncopyable("it has threads; make one for each run")
class _Run:
    """What threads and tasks share: the state that the syncs read, and what is settled.

    It changes by single operations of dicts and lists, which are atomic, also without the GIL.
    """

    def __init__(
        self, queue: Operations, load: Workload, rate: float, looks_for_twice: bool
    ) -> None:
        self._queue = queue
        self._load = load
        self._interval = load.producers / rate if rate else 0.0
        self._looks_for_twice = looks_for_twice
        items = keys(load.items)
        self._parts = [items[number :: load.producers] for number in range(load.producers)]
        # Strings that are sorted behind all keys: a priority queue takes the least first.
        self._ends = frozenset(f"\U0010ffff end {number}" for number in range(load.workers))
        self._passes = dict.fromkeys(items, 0)
        self._to_readd = _part(items, load.readds)
        self._to_fail = _part(items, load.failures)
        self._to_delay = _part(items, load.delays)
        self._unsettled = dict.fromkeys(items)
        self._added_at: dict[str, float] = {}
        self._held: dict[str, int] = {}
        self._adding = set(range(load.producers))
        self._round = Round([0] * load.workers)
        self._guard = Guard(lambda: "the queue")
        self._began, self._began_cpu, self._began_switches = 0.0, 0.0, 0
        plain = Workload(items=load.items, producers=load.producers, workers=load.workers)
        self._is_plain = load == plain and not rate and not looks_for_twice
        """True if a sync does nothing but settle its item."""

    def run(self, timeout: float) -> Round:
        """Run producers and workers while they make progress; return what they took."""
        self._guard.run(
            self._conduct,
            timeout,
            progress=lambda: sum(self._round.taken),
            stuck=lambda: StuckError(self._described(timeout)),
        )
        return self._round

    def _conduct(self) -> None:
        """Run everything to its end."""
        raise NotImplementedError

    def _all_settled(self) -> None:
        """Let ``_conduct`` end the load."""
        raise NotImplementedError

    def _described(self, timeout: float) -> str:
        """Say what makes no progress."""
        nothing = f"nothing was taken for {timeout:g} s"
        if not self._unsettled:
            return f"{nothing}: workers still wait, or shut_down does"
        left = f"{len(self._unsettled):,} of {self._load.items:,} items"
        example = next(iter(self._unsettled.copy()), "")
        if self._adding:
            return f"{nothing}, and an add has not returned; {left} are left, such as {example}"
        return f"{nothing}: {left} were not taken after their last add, such as {example}"

    def _begin(self) -> None:
        self._began_cpu, self._began_switches = time.process_time(), _switches()
        self._began = time.perf_counter()

    def _end(self) -> None:
        self._round.seconds = time.perf_counter() - self._began
        self._round.cpu = time.process_time() - self._began_cpu
        self._round.switches = _switches() - self._began_switches

    # What a producer does

    def _due(self, number: int) -> float:
        """Return the seconds until an item is to be added."""
        return self._began + number * self._interval - time.perf_counter()

    def _add(self, item: str, turn: int) -> Any:
        """Add an item; returns what the queue returns."""
        self._passes[item] = turn + 1
        if item in self._to_delay and self._queue.add_after is not None:
            return self._queue.add_after(item, DELAY)
        if self._interval:
            self._added_at[item] = time.perf_counter()
        return self._queue.add(item)

    # What a worker does

    def _begin_sync(self, item: str, worker: int) -> None:
        if (added := self._added_at.pop(item, None)) is not None:
            self._round.waits.append(time.perf_counter() - added)
        if self._looks_for_twice and self._held.setdefault(item, worker) != worker:
            self._round.twice = item
        if self._load.compute:
            until = time.thread_time() + self._load.compute
            while time.thread_time() < until:
                pass

    def _end_sync(self, item: str) -> Any:
        """Settle an item or add it again; returns what the queue returns."""
        result = None
        if self._to_readd.pop(item, False):
            result = self._queue.add(item)
        elif self._to_fail.pop(item, False):
            result = (self._queue.add_rate_limited or self._queue.add)(item)
        elif self._passes[item] == self._load.adds:
            if self._queue.forget is not None and self._load.failures:
                result = self._queue.forget(item)
            self._settle(item)
        if self._looks_for_twice:
            self._held.pop(item, None)
        return result

    def _settle(self, item: str) -> None:
        """Note that an item is up to date; the last one ends the round."""
        self._unsettled.pop(item, None)
        if not self._unsettled and not self._round.seconds:
            self._end()
            self._all_settled()


class _Threads(_Run):
    """Producers and workers are threads."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._settled = threading.Event()

    def _all_settled(self) -> None:
        self._settled.set()

    def _conduct(self) -> None:
        begin = threading.Event()
        workers = [self._guard.thread(self._work, each) for each in range(self._load.workers)]
        producers = [
            self._guard.thread(self._produce, each, begin) for each in range(len(self._parts))
        ]
        for thread in (*workers, *producers):
            thread.start()
        self._begin()
        begin.set()
        self._settled.wait()
        for thread in producers:
            thread.join()
        for end in self._ends:
            self._queue.add(end)
        for thread in workers:
            thread.join()
        if self._load.adds > 1:  # items were left that had been taken after their last add
            self._end()
        if self._queue.shut_down is not None:
            self._queue.shut_down()

    def _produce(self, number: int, begin: threading.Event) -> None:
        items = self._parts[number]
        begin.wait()
        if self._is_plain:
            add = self._queue.add
            for item in items:
                add(item)
        else:
            for turn in range(self._load.adds):
                for place, item in enumerate(items):
                    if self._interval:
                        time.sleep(max(self._due(place), 0))
                    self._add(item, turn)
        self._adding.discard(number)

    def _work(self, number: int) -> None:
        get, done, pairs = self._queue.get, self._queue.done, self._queue.returns_pairs
        taken, ends, sync = self._round.taken, self._ends, self._settle
        while (item := get()[0] if pairs else get()) not in ends:
            taken[number] += 1
            if self._is_plain:
                sync(item)
            else:
                self._begin_sync(item, number)
                if self._load.work or self._looks_for_twice:
                    time.sleep(self._load.work)  # 0: only let another worker run
                self._end_sync(item)
            if done is not None:
                done(item)
        if done is not None:
            done(item)


class _Tasks(_Run):
    """Producers and workers are tasks of one event loop, in a thread of its own."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._settled = asyncio.Event()

    def _all_settled(self) -> None:
        self._settled.set()

    def _conduct(self) -> None:
        asyncio.run(self._conduct_tasks())

    async def _conduct_tasks(self) -> None:
        self._begin()
        async with asyncio.TaskGroup() as group:
            for number in range(self._load.workers):
                group.create_task(self._work(number))
            async with asyncio.TaskGroup() as producers:
                for number in range(len(self._parts)):
                    producers.create_task(self._produce(number))
            await self._settled.wait()
            for end in self._ends:
                await returned(self._queue.add(end))
        if self._load.adds > 1:
            self._end()
        if self._queue.shut_down is not None:
            await returned(self._queue.shut_down())

    async def _produce(self, number: int) -> None:
        for turn in range(self._load.adds):
            for place, item in enumerate(self._parts[number]):
                if self._interval and (due := self._due(place)) > 0:
                    await asyncio.sleep(due)
                await returned(self._add(item, turn))
        self._adding.discard(number)

    async def _work(self, number: int) -> None:
        get, done, pairs = self._queue.get, self._queue.done, self._queue.returns_pairs
        while (item := (await get())[0] if pairs else await get()) not in self._ends:
            self._round.taken[number] += 1
            if self._is_plain:
                self._settle(item)
            else:
                self._begin_sync(item, number)
                if self._load.work or self._looks_for_twice:
                    await asyncio.sleep(self._load.work)
                await returned(self._end_sync(item))
            if done is not None:
                await returned(done(item))
        if done is not None:
            await returned(done(item))


def _switches() -> int:
    if sys.platform == "win32":
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nvcsw + used.ru_nivcsw


async def returned(result: Any) -> Any:
    """Return what a method returned, or what its coroutine returns."""
    return await result if inspect.isawaitable(result) else result


def _part(items: Sequence[str], share: float) -> dict[str, bool]:
    """Return a share of the items, evenly spread."""
    count = round(share * len(items))
    return {items[number * len(items) // count]: True for number in range(count)}
