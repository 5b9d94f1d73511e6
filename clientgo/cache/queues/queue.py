"""The queue of changes between a reflector and a controller: its interface and what it holds.

Promises: changes of one key keep their order. The lock is never held while a process function runs.
One consumer is served at a time. The initial list counts as synced when its last item has been
processed. There is no order among keys.

Upstream: ``tools/cache`` Queue, ReflectorStore, Delta, Deltas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, overload

from clientgo.cache.queues.done_checker import DoneChecker
from clientgo.cache.store.changes import Delta
from clientgo.observe.metrics import NO_METRICS, Gauge, Histogram, MetricsProvider
from clientgo.observe.metrics.names import INFORMER_PROCESSING_LATENCY, INFORMER_QUEUED_ITEMS
from clientgo.util.copies import CopyableError

Deltas: TypeAlias = list[Delta]
"""The pending changes of one key, oldest first."""


def oldest(deltas: Deltas) -> Delta | None:
    """Return the first change, or ``None`` if there is none."""
    return deltas[0] if deltas else None


def newest(deltas: Deltas) -> Delta | None:
    """Return the last change, or ``None`` if there is none."""
    return deltas[-1] if deltas else None


Waiting: TypeAlias = Delta | Deltas
"""The changes of a key as they wait: a single one, which most keys have, as itself."""


def as_deltas(waiting: Waiting) -> Deltas:
    """Return the changes of a key as a list."""
    return waiting if isinstance(waiting, list) else [waiting]


def newest_of(waiting: Waiting) -> Delta:
    """Return the last change of a key."""
    return waiting[-1] if isinstance(waiting, list) else waiting


class Batch(Sequence[Deltas]):
    """The changes of several keys, as a consumer gets them. Does not change.

    The list of a single change is made when the batch is read: see ``store/parts.py``.
    """

    __slots__ = ("_waiting",)

    def __init__(self, waiting: Iterable[Waiting]) -> None:
        self._waiting = tuple(waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Deltas]:
        return map(as_deltas, self._waiting)

    @overload
    def __getitem__(self, index: int) -> Deltas: ...

    @overload
    def __getitem__(self, index: slice) -> Batch: ...

    def __getitem__(self, index: int | slice) -> Deltas | Batch:
        if isinstance(index, slice):
            return Batch(self._waiting[index])
        return as_deltas(self._waiting[index])

    def __repr__(self) -> str:
        return repr([*self])


ProcessFunc: TypeAlias = Callable[[Deltas, bool], None]
"""Takes the changes of one key, and whether they belong to the initial list."""

ProcessBatchFunc: TypeAlias = Callable[[Sequence[Deltas], bool], None]
"""Takes the changes of several keys, and whether they belong to the initial list."""

DEFAULT_BATCH_SIZE: Final = 1000
"""Large enough to make the cost of a lock for each batch small, small enough to let readers in."""


class QueueClosedError(CopyableError):
    """The queue is closed and empty."""


class ChangeError(CopyableError):
    """One of several changes could not be queued; those before it are, the rest is not.

    ``index`` is its place among the changes, ``obj`` the object; the reason is the
    ``__cause__``.
    """

    def __init__(self, index: int, obj: object, cause: Exception) -> None:
        super().__init__(f"change {index} could not be queued ({obj!r:.120}): {cause}")
        self.index = index
        self.obj = obj


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """The metrics of a queue: how many entries wait, and how long each batch took.

    Upstream: ``tools/cache`` FIFOMetricsProvider.
    """

    queued_items: Gauge
    processing_latency: Histogram

    @classmethod
    def of(cls, provider: MetricsProvider, **labels: str) -> QueueMetrics:
        """Create the metrics of one queue.

        ``labels`` are the ``name`` of the informer, ``group``, ``version`` and ``resource``.
        """
        return cls(
            provider.gauge(INFORMER_QUEUED_ITEMS, **labels),
            provider.histogram(INFORMER_PROCESSING_LATENCY, **labels),
        )

    def remove(self) -> None:
        """Stop exporting the metrics."""
        self.queued_items.remove()
        self.processing_latency.remove()


NO_QUEUE_METRICS: Final = QueueMetrics.of(NO_METRICS)
"""Ignores what is reported."""


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A queue at one instant.

    ``pending`` and ``in_flight`` count entries that wait and that are being processed (keys in a
    DeltaFIFO, single changes in a RealFIFO); ``initial_remaining`` counts those of the initial
    list that have not been processed.
    """

    pending: int
    in_flight: int
    initial_remaining: int
    synced: bool
    closed: bool


class Queue(Protocol):
    """A queue of changes between producers and one consumer. All methods are thread-safe."""

    def add(self, obj: Any) -> None: ...

    def update(self, obj: Any) -> None: ...

    def delete(self, obj: Any) -> None: ...

    def apply(self, changes: Sequence[Delta]) -> None:
        """Queue several changes under one acquisition of the lock.

        Raises :class:`ChangeError` for the first that has no key; those before it are queued.
        """

    def replace(
        self, objs: Sequence[Any], resource_version: str, unknown: Collection[str] = ()
    ) -> None:
        """Queue the content of a list, and the deletion of everything that is not in it.

        ``unknown`` are keys of objects that the list has, in a state that could not be read: they
        are not deleted, and keep the state that is known.
        """

    def resync(self) -> None:
        """Queue every known object once more, except those that have changes pending."""

    def bookmark(self, resource_version: str) -> None:
        """Note that everything up to ``resource_version`` has been seen, if supported."""

    def pop(self, process: ProcessFunc) -> Deltas:
        """Block until there is an entry, process it and return it.

        Raises what ``process`` raises; the entry is gone anyway. Raises
        :class:`QueueClosedError` when the queue is closed and empty.
        """

    def pop_batch(
        self,
        process_batch: ProcessBatchFunc,
        process_single: ProcessFunc | None = None,
        limit: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Process up to ``limit`` entries together; otherwise like :meth:`pop`.

        ``process_single``, if given, gets a batch of one. Entries of the initial list and later
        ones never share a batch.
        """

    def close(self) -> None:
        """Wake all waiting threads. Producers may still add, and consumers take what is left."""

    def is_closed(self) -> bool: ...

    def has_synced(self) -> bool:
        """Return True if the first content, a list or a single change, has been processed."""

    def has_synced_checker(self) -> DoneChecker: ...

    def statistics(self) -> QueueStatistics: ...
