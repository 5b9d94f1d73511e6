"""Rate limiters: what a failure costs, what is kept of it, and whether it is forgotten."""

from __future__ import annotations

import gc
import statistics
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from clientgo.testing.bench.adapters import BenchError, Factory, made, raised
from clientgo.testing.bench.measure import MOST_ROUNDS, Stopwatch, compare
from clientgo.testing.bench.workload import keys
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
)

FAILURES: Final = 3
"""How often each item fails before it succeeds."""


def _exponential() -> Any:
    return ItemExponentialFailureRateLimiter[str](0.005, 1000.0)


def _bucket() -> Any:
    return BucketRateLimiter[str](10.0, 100)


STANDARD: Final[Mapping[str, Factory]] = {
    "ItemExponentialFailureRateLimiter": _exponential,
    "ItemFastSlowRateLimiter": lambda: ItemFastSlowRateLimiter[str](0.005, 10.0, 5),
    "BucketRateLimiter": _bucket,
    "MaxOfRateLimiter of the first and a bucket": lambda: MaxOfRateLimiter(
        _exponential(), _bucket()
    ),
}


@dataclass
class LimiterRow:
    """What was measured of one limiter."""

    limiter: str
    problem: str = ""
    failures_a_second: float = 0.0
    cpu: float = 0.0
    """Seconds of processor time for an item that fails three times and succeeds."""
    heap: float = 0.0
    """Bytes for an item that has failed."""
    left: float = 0.0
    """Bytes for an item that has succeeded since."""
    delays: tuple[float, ...] = ()
    """Seconds to wait after the first, second and third failure of one item."""


def measure(
    factories: Mapping[str, Factory],
    items: int,
    *,
    seconds: float,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[LimiterRow]:
    """Measure limiters in turn. Raises BenchError if a factory raises."""
    rows = {name: LimiterRow(name) for name in factories}
    for name, row in rows.items():
        try:
            limiter = made(factories[name])
        except BenchError as error:
            raise BenchError(f"{name}: {error}") from error
        try:
            row.delays = _checked(limiter)
        except BenchError as error:
            row.problem = str(error)
    able = [name for name, row in rows.items() if not row.problem]
    names = keys(items)
    found = compare(
        items * FAILURES,
        {name: partial(_load, factories[name], names) for name in able},
        rounds=MOST_ROUNDS,
        budget=seconds * len(able),
        progress=progress,
        stop=stop,
    )
    if stop():
        return []
    for name in able:
        row = rows[name]
        row.failures_a_second = found.rate(name)
        row.cpu = statistics.median(found.cpu[name]) / items
        row.heap, row.left = _kept(made(factories[name]), names)
    return list(rows.values())


def _checked(limiter: Any) -> tuple[float, ...]:
    """Let an item fail and succeed. Raises BenchError for what is no limiter."""
    try:
        delays = tuple(limiter.when("a") for _ in range(FAILURES))
        counted = limiter.num_requeues("a")
        limiter.forget("a")
        after = limiter.num_requeues("a")
    except Exception as error:
        raise raised("it", error) from error
    if not all(isinstance(each, int | float) and each >= 0 for each in delays):
        raise BenchError(f"when() returned {delays!r}, which are no seconds")
    if after != 0:
        raise BenchError(f"num_requeues() is {after} after forget(), {counted} before")
    return delays


def _load(factory: Factory, items: Sequence[str]) -> Stopwatch:
    limiter = factory()
    when, forget = limiter.when, limiter.forget
    watch = Stopwatch()
    for item in items:
        for _ in range(FAILURES):
            when(item)
        forget(item)
    watch.stop()
    return watch


def _kept(limiter: Any, items: Sequence[str]) -> tuple[float, float]:
    """Return the bytes for an item that has failed, and for one that has succeeded since."""
    gc.collect()
    tracemalloc.start()
    for item in items:
        limiter.when(item)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    for item in items:
        limiter.forget(item)
    gc.collect()
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return kept / len(items), left / len(items)


def lines(rows: Sequence[LimiterRow]) -> Iterator[str]:
    """Return the table, line by line."""
    width = max(len(each.limiter) for each in rows) + 2
    yield f"{'':{width}}{'failures/s':>12}{'CPU us':>9}{'bytes':>8}{'left':>7}  waits (s)"
    for row in rows:
        if row.problem:
            yield f"{row.limiter:{width}}{row.problem}"
            continue
        waits = ", ".join(f"{each:.3g}" for each in row.delays)
        yield (
            f"{row.limiter:{width}}{row.failures_a_second:>12,.0f}{row.cpu * 1e6:>9.2f}"
            f"{row.heap:>8,.0f}{row.left:>7,.0f}  {waits}"
        )
