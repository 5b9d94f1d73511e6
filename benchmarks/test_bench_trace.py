"""What a tracer costs: the same work untraced, and with a recorder.

Both sides do the same load in turn, and what counts is the median of the rounds' differences. The
traced side includes telling the recorder everything, in its own thread: processor time is measured.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.rounds import rounds
from clientgo.cache import Delta, DeltaFIFO, DeltaType
from clientgo.meta import ObjectMeta, PartialObjectMetadata
from clientgo.observe.trace import Recorder, tracing
from clientgo.workqueue import RateLimitingQueue

ROUNDS = 15
ITEMS = 10_000
KEYS = [f"namespace-{number % 10}/object-{number}" for number in range(ITEMS)]
CHANGES = [
    Delta(
        DeltaType.ADDED,
        PartialObjectMetadata(metadata=ObjectMeta(name=f"object-{number}", resource_version="1")),
    )
    for number in range(ITEMS)
]


def through_a_queue() -> None:
    """Add each key, take it and give it back: three hops."""
    queue = RateLimitingQueue[str](name="foos")
    for key in KEYS:
        queue.add(key)
        queue.done(queue.get()[0])


def through_a_fifo() -> None:
    """Append each change by itself and take them in batches: two hops."""
    fifo = DeltaFIFO(name="foos")
    for change in CHANGES:
        fifo.apply([change])
        if fifo.statistics().pending == 100:
            fifo.pop_batch(lambda batch, is_in_initial_list: None)


def seconds(load: Callable[[], None]) -> float:
    gc.collect()
    started = time.process_time()
    load()
    return time.process_time() - started


def traced(load: Callable[[], None]) -> float:
    recorder = Recorder(limit=10 * ITEMS)
    gc.collect()
    started = time.process_time()
    with tracing(recorder):
        load()
    took = time.process_time() - started
    assert recorder.hops()
    return took


@pytest.mark.parametrize(("load", "hops"), [(through_a_queue, 3), (through_a_fifo, 2)])
def test_the_cost_of_a_hop(benchmark: Any, load: Callable[[], None], hops: int) -> None:
    """Target: under 2 µs a hop, the recorder's own work included."""
    pairs = [(seconds(load), traced(load)) for _ in rounds(ROUNDS)]
    benchmark.pedantic(load, rounds=1)
    costs = [(on - off) / ITEMS / hops * 1e6 for off, on in pairs]
    benchmark.extra_info["µs a hop"] = round(statistics.median(costs), 2)
    benchmark.extra_info["times the untraced time"] = round(
        statistics.median(on / off for off, on in pairs), 1
    )
