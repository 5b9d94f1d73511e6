"""The queues that an informer can run on.

``DELTA_FIFO`` gathers the changes of each object, ``REAL_FIFO`` keeps all changes in one line and
compares lists with the store when they are processed, ``REAL_FIFO_SINGLE`` compares them when they
are queued. What handlers are told is the same, up to the order among objects.

Upstream: ``tools/cache`` newQueueFIFO and the feature gates that it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from clientgo.cache.delta_fifo import DeltaFIFO
from clientgo.cache.indexer import Indexer
from clientgo.cache.queue import Queue
from clientgo.cache.real_fifo import RealFIFO


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """``make`` makes the queue for a store and a name.

    ``keeps_order`` says that changes come out in the order of their resource versions, so that the
    store is at every moment as of one version.
    """

    make: Callable[[Indexer[Any], str], Queue]
    keeps_order: bool


DELTA_FIFO: Final = QueueChoice(
    lambda store, name: DeltaFIFO(known_objects=store, name=name), keeps_order=False
)
REAL_FIFO: Final = QueueChoice(
    lambda _store, name: RealFIFO(emit_bookmarks=True, name=name), keeps_order=True
)
REAL_FIFO_SINGLE: Final = QueueChoice(
    lambda store, name: RealFIFO(known_objects=store, name=name), keeps_order=False
)
