"""Constructors of client-go: an informer with one handler, and a reflector with its store.

The handler of :func:`new_informer` is called by the thread that writes the cache, after the store
has the change. A slow handler delays the cache, and what it raises ends the run. With a
:class:`~clientgo.cache.SharedIndexInformer` neither happens.

Upstream: ``tools/cache`` NewInformer, NewNamespaceKeyedIndexerAndReflector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from clientgo.cache.informer.controller import Controller
from clientgo.cache.informer.delta_processor import DeltaProcessor
from clientgo.cache.informer.handlers import ResourceEventHandler
from clientgo.cache.informer.notifications import Chunk, deliver
from clientgo.cache.informer.transforming_store import Transform, TransformingStore
from clientgo.cache.queues.queue_choice import DELTA_FIFO, QueueChoice
from clientgo.cache.reflector.list_watch import ListerWatcher
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.reflector.reflector import Reflector
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import NAMESPACE_INDEX, IndexFunc, meta_namespace_index
from clientgo.meta import GroupVersionKind
from clientgo.util.clock import REAL_CLOCK, Clock

T = TypeVar("T")


def new_informer(
    lister_watcher: ListerWatcher[T],
    handler: ResourceEventHandler[T],
    expected: type[T] | GroupVersionKind | None = None,
    *,
    name: str = "informer",
    resync_period: float = 0.0,
    indexers: Mapping[str, IndexFunc] | None = None,
    queue: QueueChoice = DELTA_FIFO,
    transform: Transform | None = None,
    clock: Clock = REAL_CLOCK,
    **reflector_options: Any,
) -> tuple[Indexer[T], Controller]:
    """Create a cache, and the controller that fills it and calls ``handler``; nothing runs yet.

    The options are those of a shared informer and of the reflector.
    """
    quarantine = QuarantineLog(name)
    store: Indexer[T] = Indexer(indexers=indexers, tracks_resource_version=queue.keeps_order)
    changes = queue.make(store, name=name, clock=clock)
    target: Any = changes
    if transform is not None:
        target = TransformingStore(changes, transform, quarantine)
    reflector = Reflector(
        lister_watcher,
        target,
        name=f"{name} reflector",
        expected=expected,
        resync_period=resync_period,
        quarantine=quarantine,
        clock=clock,
        **reflector_options,
    )

    def notify(chunk: Chunk) -> None:
        for notification in chunk.notifications:
            deliver(handler, notification)

    processor = DeltaProcessor(store, notify, quarantine=quarantine)
    return store, Controller(changes, reflector, processor.process, clock=clock)


def new_namespace_keyed_reflector(
    lister_watcher: ListerWatcher[Any],
    expected: type | GroupVersionKind | None = None,
    **options: Any,
) -> tuple[Indexer[Any], Reflector]:
    """Create a store indexed by namespace and the reflector that fills it; neither runs yet.

    Source: k8s.io/client-go/tools/cache, NewNamespaceKeyedIndexerAndReflector.
    """
    store: Indexer[Any] = Indexer(indexers={NAMESPACE_INDEX: meta_namespace_index})
    return store, Reflector(lister_watcher, store, expected=expected, **options)
