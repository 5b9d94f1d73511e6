"""What the garbage collector visits while changes are on their way to the handlers."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest

from clientgo.cache import DeltaFIFO, Deltas, Indexer, Queue, RealFIFO
from clientgo.cache.informer.controller import DeltaProcessor
from clientgo.cache.informer.notifications import Chunk
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.reflector.reading import read_events
from clientgo.cache.reflector.state import Apply, Expected
from clientgo.meta import WatchEvent
from tests.cache.builders import Foo, foo

CHANGES = 1000


def visited() -> int:
    """Return how many objects a full collection visits."""
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("make", [DeltaFIFO, RealFIFO])
def test_changes_cause_no_full_collection(make: type[DeltaFIFO | RealFIFO]) -> None:
    """CTL-09: the collector visits the whole program when enough that is new lives long enough."""
    store: Indexer[Foo] = Indexer()
    queue: Queue = make(known_objects=store)
    chunks: list[Chunk] = []
    processor = DeltaProcessor(store, chunks.append, quarantine=QuarantineLog("test"))
    events = [WatchEvent("MODIFIED", foo(f"a-{number}")) for number in range(CHANGES)]
    counts = {"before": visited()}
    (message,) = read_events(Expected(Foo), events).messages
    assert isinstance(message, Apply)
    counts["read"] = visited()
    queue.apply(message.changes)
    counts["queued"] = visited()

    def process(batch: Sequence[Deltas], initial: bool) -> None:
        counts["taken"] = visited()
        processor.process(batch, initial)
        counts["delivered"] = visited()

    queue.pop_batch(process)
    assert [len(chunk.notifications) for chunk in chunks] == [CHANGES]
    before = counts.pop("before")
    assert {step: count for step, count in counts.items() if count - before > CHANGES / 10} == {}
