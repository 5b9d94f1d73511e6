"""The queues that an informer can run on; handlers get the same calls, in another order of objects.

``DELTA_FIFO`` keeps the changes of each object together. ``REAL_FIFO`` keeps all in order and
compares lists when they are processed, ``REAL_FIFO_SINGLE`` when they are queued.

Upstream: ``tools/cache`` newQueueFIFO and its feature gates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from clientgo.cache.queues.delta_fifo import DeltaFIFO
from clientgo.cache.queues.queue import Queue
from clientgo.cache.queues.real_fifo import RealFIFO
from clientgo.cache.store.indexer import Indexer


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """One kind of queue.

    ``make`` creates the queue for a store; its other arguments (``name``, ``clock``, ``metrics``)
    are keywords of the queues. ``keeps_order`` is True if changes come out in the order of their
    resource versions, so that the store always has a single version.
    """

    make: Callable[..., Queue]
    keeps_order: bool


def _delta_fifo(store: Indexer[Any], **options: Any) -> Queue:
    return DeltaFIFO(known_objects=store, **options)


def _real_fifo(_store: Indexer[Any], **options: Any) -> Queue:
    return RealFIFO(emit_bookmarks=True, **options)


def _real_fifo_single(store: Indexer[Any], **options: Any) -> Queue:
    return RealFIFO(known_objects=store, **options)


DELTA_FIFO: Final = QueueChoice(_delta_fifo, keeps_order=False)
REAL_FIFO: Final = QueueChoice(_real_fifo, keeps_order=True)
REAL_FIFO_SINGLE: Final = QueueChoice(_real_fifo_single, keeps_order=False)
