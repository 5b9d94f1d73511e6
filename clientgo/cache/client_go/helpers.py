"""Small helpers of client-go; nothing in this library uses them.

Users are controllers that are carried over from Go: ``NewInformer`` and
``NewNamespaceKeyedIndexerAndReflector`` are what programs without a factory begin with,
``DeletedObject`` and ``util/watchlist`` what they call in handlers and list functions.

The handler of :func:`new_informer` is called by the thread that writes the cache, after the store
has the change. A slow handler delays the cache, and what it raises ends the run. With a
:class:`~clientgo.cache.SharedIndexInformer` neither happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack

import msgspec

from clientgo.cache.informer.controller import DELTA_FIFO, Controller, DeltaProcessor, QueueChoice
from clientgo.cache.informer.handlers import ResourceEventHandler
from clientgo.cache.informer.notifications import Chunk, deliver
from clientgo.cache.informer.transforming_store import Transform, TransformingStore
from clientgo.cache.reflector.list_watch import ListerWatcher
from clientgo.cache.reflector.options import ReflectorKeywords, options_of
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.reflector.reflector import Reflector, WatchErrorHandler
from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import NAMESPACE_INDEX, IndexFunc, meta_namespace_index
from clientgo.meta import GroupVersionKind, ListOptions, ObjectName, object_key

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
    on_error: WatchErrorHandler | None = None,
    **keywords: Unpack[ReflectorKeywords],
) -> tuple[Indexer[T], Controller]:
    """Create a cache, and the controller that fills it and calls ``handler``; nothing runs yet.

    The options are those of a shared informer and of the reflector.
    """
    options = options_of(None, keywords)
    quarantine = QuarantineLog(name)
    store: Indexer[T] = Indexer(indexers=indexers, tracks_resource_version=queue.keeps_order)
    changes = queue.make(store, name=name, clock=options.clock)
    target: Any = changes
    if transform is not None:
        target = TransformingStore(changes, transform, quarantine)
    reflector = Reflector(
        lister_watcher,
        target,
        name=f"{name} reflector",
        expected=expected,
        resync_period=resync_period,
        on_error=on_error,
        quarantine=quarantine,
        options=options,
    )

    def notify(chunk: Chunk) -> None:
        for notification in chunk.notifications:
            deliver(handler, notification)

    processor = DeltaProcessor(store, notify, quarantine=quarantine)
    return store, Controller(changes, reflector, processor.process, clock=options.clock)


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


NOT_OLDER_THAN = "NotOlderThan"


def watch_list_options(options: ListOptions) -> ListOptions | None:
    """Return options of a watch that starts with what a list with ``options`` would return.

    Returns ``None`` for what cannot be streamed: pages, an exact resource version, and options
    that the server would refuse for a list.
    """
    if options.continue_ or options.send_initial_events is not None:
        return None
    # The server's cache ignores a limit at resource version 0, so the answer is the whole list.
    if options.limit and options.resource_version != "0":
        return None
    match = options.resource_version_match
    if match and (match != NOT_OLDER_THAN or not options.resource_version):
        return None
    return msgspec.structs.replace(
        options,
        limit=0,
        resource_version_match=NOT_OLDER_THAN,
        allow_watch_bookmarks=True,
        send_initial_events=True,
    )


@dataclass(frozen=True, slots=True)
class DeletedObject(Generic[T]):
    """A deleted object: its last known state, if any, and its tombstone, if no watch saw more.

    With a ``tombstone``, ``obj`` may be older than the deletion.
    """

    obj: T | None = None
    tombstone: DeletedFinalStateUnknown | None = None

    @classmethod
    def of(cls, delivered: Any) -> DeletedObject[T]:
        """Wrap the argument of ``on_delete``: an object or a tombstone."""
        if isinstance(delivered, DeletedFinalStateUnknown):
            return cls(delivered.obj, delivered)
        return cls(delivered)

    @property
    def key(self) -> str:
        """The key of the tombstone, else of the object, else the empty string."""
        if self.tombstone is not None:
            return self.tombstone.key
        return "" if self.obj is None else object_key(self.obj)

    @property
    def object_name(self) -> ObjectName:
        """The key, split at its first slash; never fails."""
        namespace, slash, name = self.key.partition("/")
        return ObjectName(namespace, name) if slash else ObjectName("", namespace)

    @property
    def namespace(self) -> str:
        return self.object_name.namespace

    @property
    def name(self) -> str:
        return self.object_name.name
