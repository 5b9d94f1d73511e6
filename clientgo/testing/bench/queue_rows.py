"""Measures queues under one load, in turn: a row for each queue and number of workers."""

from __future__ import annotations

import gc
import statistics
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from clientgo.testing.bench.adapters import BenchError, Factory, Operations, made, operations_of
from clientgo.testing.bench.measure import MOST_ROUNDS, compare
from clientgo.testing.bench.promises import Promises, Script, check
from clientgo.testing.bench.workload import Round, Workload, keys, run

_LATENCY_ROUNDS: Final = 3
_LONGEST_LATENCY: Final = 3.0


@dataclass
class Row:
    """What was measured of one queue with so many workers; None: it was not."""

    queue: str
    workers: int
    broken: str = ""
    """The promise of a work queue that it breaks: it is not ranked."""
    problem: str = ""
    """Why it could not be measured."""
    merges: bool = False
    items_a_second: float | None = None
    least: float | None = None
    most: float | None = None
    beside_base: float | None = None
    """How often it is as fast as the base, in the same rounds."""
    p50: float | None = None
    """Seconds from add to get, within which half of the items are taken; then 99 and 99.9 %."""
    p99: float | None = None
    p999: float | None = None
    busiest: float | None = None
    """What the busiest worker took, in shares of an even distribution."""
    taken_an_item: float | None = None
    """How often an item was taken: what merging saves is missing here."""
    switches: float | None = None
    """How often a thread gave the processor away, or lost it, for an item."""
    cpu: float | None = None
    """Seconds of processor time for an item, with those of producers and syncs."""
    heap: float | None = None
    """Bytes for an item that waits."""


@dataclass(frozen=True)
class Settings:
    """How long is measured, and when a queue is given up; times are seconds."""

    seconds: float = 2.0
    """For the rounds of a row, of which there are 3 to 21; again for its latency, at most 3."""
    rate: float = 2_000.0
    """Items added a second while the latency is measured."""
    timeout: float = 10.0


Show = Callable[[int, int], object]


class QueueBench:
    """Measures queues under a load, for each number of workers::

        bench = QueueBench({"mine": MyQueue, **STANDARD}, Workload(), Settings())
        for row in bench.rows(workers=4):
            print(row.queue, row.items_a_second)

    The rates of the others are divided by that of ``base``. Raises BenchError if a factory raises,
    or what it makes is no queue.
    """

    def __init__(
        self,
        factories: Mapping[str, Factory],
        load: Workload,
        settings: Settings,
        *,
        base: str = "Queue",
    ) -> None:
        self._factories = factories
        self._base = base
        self._load = load
        self._settings = settings
        self._promises: dict[str, Promises] = {}
        for name, factory in factories.items():
            try:
                self._promises[name] = check(factory, timeout=settings.timeout)
            except BenchError as error:
                raise BenchError(f"{name}: {error}") from error
        self._heaps = {name: self._heap(name) for name in factories}

    def rows(
        self,
        workers: int,
        *,
        progress: Show = lambda _done, _total: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Row]:
        """Measure with so many workers; rows in the order of their rates.

        ``stop`` is asked before each round of each queue; what is returned then has no meaning.
        """
        load = replace(self._load, workers=workers)
        rows = {name: self._begun(name, load) for name in self._factories}
        able = [name for name, row in rows.items() if not row.problem]
        rounds: dict[str, list[Round]] = {name: [] for name in able}
        waits: dict[str, list[Round]] = {name: [] for name in able}
        compared = compare(
            load.items,
            {name: partial(self._round, rows[name], load, 0.0, rounds[name]) for name in able},
            rounds=MOST_ROUNDS,
            budget=self._settings.seconds * len(able),
            progress=progress,
            stop=stop,
        )
        paced = replace(load, adds=1, items=self._paced_items())
        compare(
            paced.items,
            {
                name: partial(self._round, rows[name], paced, self._settings.rate, waits[name])
                for name in able
            },
            rounds=_LATENCY_ROUNDS,
            budget=0.0,
            stop=stop,
        )
        if stop():
            return []
        for name in able:
            row = rows[name]
            if row.problem:
                continue
            self._note(row, load, rounds[name], waits[name])
            if not row.broken and self._base in able and not rows[self._base].problem:
                row.beside_base = compared.ratio(name, self._base)
        return sorted(rows.values(), key=_rank)

    def _begun(self, name: str, load: Workload) -> Row:
        found = self._promises[name]
        row = Row(name, load.workers, found.broken, found.problem, found.merges)
        if not row.problem and load.delays and self._operations(name).add_after is None:
            row.problem = "it has no add_after, for the items with a delay"
        return row

    def _operations(self, name: str) -> Operations:
        pairs = self._promises[name].returns_pairs
        return operations_of(made(self._factories[name]), returns_pairs=pairs)

    def _paced_items(self) -> int:
        seconds = min(self._settings.seconds, _LONGEST_LATENCY) / _LATENCY_ROUNDS
        return max(int(self._settings.rate * seconds), 10)

    def _round(self, row: Row, load: Workload, rate: float, found: list[Round]) -> float:
        """Run one round; after a problem there are no more."""
        if row.problem:
            return float("inf")
        try:
            queue = self._operations(row.queue)
            done = run(queue, load, timeout=self._settings.timeout, rate=rate)
        except BenchError as error:
            row.problem = str(error)
            return float("inf")
        found.append(done)
        return done.seconds

    def _note(self, row: Row, load: Workload, rounds: list[Round], paced: list[Round]) -> None:
        rates = [load.items / each.seconds for each in rounds]
        row.items_a_second, row.least, row.most = statistics.median(rates), min(rates), max(rates)
        row.busiest = statistics.median(each.busiest for each in rounds)
        row.taken_an_item = statistics.median(sum(each.taken) / load.items for each in rounds)
        row.switches = statistics.median(each.switches / load.items for each in rounds)
        row.cpu = statistics.median(each.cpu / load.items for each in rounds)
        waits = sorted(wait for each in paced for wait in each.waits)
        if waits:  # of items without a delay
            row.p50, row.p99, row.p999 = (
                waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99, 0.999)
            )
        row.heap = self._heaps[row.queue]

    def _heap(self, name: str) -> float | None:
        """Return the bytes for an item that waits; None if the queue takes only a few."""
        found = self._promises[name]
        if found.problem or self._operations(name).is_bounded:
            return None
        items = keys(self._load.items)
        kept = 0

        async def fill(queue: Script) -> None:
            nonlocal kept
            gc.collect()
            tracemalloc.start()
            await queue.add(*items)
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()

        Script(self._factories[name], found.returns_pairs, fill).run(self._settings.timeout * 10)
        return kept / len(items)


def ranked(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Return the rows in groups: what they have in common, if they are not ranked, and the rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault("cannot be measured" if row.problem else row.broken, []).append(row)
    yield from groups.items()


def _rank(row: Row) -> tuple[bool, str, float]:
    return bool(row.problem), row.broken, -(row.items_a_second or 0.0)
