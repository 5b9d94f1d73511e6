"""Measure queues and informers beside what one would use without this library.

Promises: both sides of a ratio run in turn in one process, on the same input; what counts is the
median of the rounds. Does not promise figures that can be compared between machines: compare
ratios. ``clientgo bench`` prints a few of them, ``benchmarks/`` in the source has the whole grid.
"""

from clientgo.testing.bench.informers import (
    Foo,
    read_list,
    read_watch,
    sync_informer,
)
from clientgo.testing.bench.measure import Comparison, Stopwatch, compare
from clientgo.testing.bench.queues import (
    KEYED,
    PEERS,
    STANDARD,
    ConditionQueue,
    load_delayed,
    load_failures,
    load_one_by_one,
    load_readds,
    load_threads,
    names_of_queues,
    new_queue,
)
from clientgo.testing.bench.recorded_server import recorded_server
from clientgo.testing.bench.workload import keys

__all__ = [
    "compare",
    "Comparison",
    "KEYED",
    "PEERS",
    "STANDARD",
    "ConditionQueue",
    "names_of_queues",
    "new_queue",
    "keys",
    "load_one_by_one",
    "load_readds",
    "load_threads",
    "load_delayed",
    "load_failures",
    "recorded_server",
    "Foo",
    "Stopwatch",
    "sync_informer",
    "read_watch",
    "read_list",
]
