"""The local copy of what the API server holds, and how it is kept up to date.

::

    ListerWatcher ──► Reflector ──► DeltaFIFO ──► SharedIndexInformer ──► Indexer ◄── Lister
                                    (or RealFIFO)         │
                                                          ▼
                                                    event handlers

Data goes one way: a :class:`Queue` takes what the API server reports, its consumer writes the
:class:`Indexer` and tells the event handlers, everybody else reads.
"""

from clientgo.cache.controller import Controller
from clientgo.cache.deleted_object import DeletedObject
from clientgo.cache.delta_fifo import DeltaFIFO
from clientgo.cache.deltas import Delta, Deltas, DeltaType, Replacement, newest, oldest
from clientgo.cache.done_checker import DoneChecker
from clientgo.cache.expiration_cache import ExpirationCache, ExpirationPolicy, ttl_policy
from clientgo.cache.fifo import FIFO
from clientgo.cache.handlers import (
    FilteringHandler,
    HandlerFuncs,
    ResourceEventHandler,
    last_known_state,
)
from clientgo.cache.heap import Heap
from clientgo.cache.indexer import Indexer
from clientgo.cache.informer_name import InformerIdentity, InformerName
from clientgo.cache.keys import (
    NAMESPACE_INDEX,
    IndexFunc,
    KeyFunc,
    KeyFuncError,
    deletion_handling_meta_namespace_key,
    deletion_handling_object_name,
    index_func_as_key_func,
    meta_namespace_index,
    meta_namespace_key,
)
from clientgo.cache.lazy import Lazy
from clientgo.cache.list_watch import ListerWatcher, ListWatch, WatchStream
from clientgo.cache.listener import HighWater, ListenerStatistics
from clientgo.cache.listers import Lister, list_all, list_by_namespace
from clientgo.cache.mutation_cache import MutationCache
from clientgo.cache.mutation_detector import CacheMutatedError, MutationDetector
from clientgo.cache.pager import ListPager
from clientgo.cache.queue import (
    ChangeError,
    Queue,
    QueueClosedError,
    QueueMetrics,
    QueueStatistics,
)
from clientgo.cache.queue_choice import DELTA_FIFO, REAL_FIFO, REAL_FIFO_SINGLE, QueueChoice
from clientgo.cache.real_fifo import RealFIFO
from clientgo.cache.reflector import Reflector, new_namespace_keyed_reflector
from clientgo.cache.reflector_health import ReflectorStatistics
from clientgo.cache.shared_informer import (
    InformerStateError,
    InformerStatistics,
    Registration,
    SharedIndexInformer,
)
from clientgo.cache.store import (
    IndexConflictError,
    IndexFuncError,
    Store,
    StoreStatistics,
    TransactionError,
    UnknownIndexError,
)
from clientgo.cache.sync_tracker import AsyncTracker, SingleFileTracker
from clientgo.cache.thread_safe_store import ThreadSafeStore
from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.cache.transforming_store import Transform
from clientgo.cache.undelta_store import UndeltaStore
from clientgo.cache.unshared_informer import new_informer
from clientgo.cache.wait_for_cache_sync import CacheSyncError, SyncResult, wait_for_cache_sync
from clientgo.cache.watch_list_options import watch_list_options

__all__ = [
    # keys
    "KeyFunc",
    "IndexFunc",
    "KeyFuncError",
    "NAMESPACE_INDEX",
    "meta_namespace_key",
    "meta_namespace_index",
    "deletion_handling_meta_namespace_key",
    "deletion_handling_object_name",
    "index_func_as_key_func",
    # sources
    "ListerWatcher",
    "ListWatch",
    "WatchStream",
    "ListPager",
    "watch_list_options",
    # queues
    "Queue",
    "DeltaFIFO",
    "RealFIFO",
    "Delta",
    "Deltas",
    "DeltaType",
    "DeletedFinalStateUnknown",
    "DeletedObject",
    "Replacement",
    "oldest",
    "newest",
    "DoneChecker",
    "ChangeError",
    "QueueClosedError",
    "QueueStatistics",
    "QueueMetrics",
    "FIFO",
    "Heap",
    # stores
    "Store",
    "Indexer",
    "ThreadSafeStore",
    "IndexConflictError",
    "IndexFuncError",
    "UnknownIndexError",
    "TransactionError",
    "StoreStatistics",
    "ExpirationCache",
    "ExpirationPolicy",
    "ttl_policy",
    "UndeltaStore",
    "MutationCache",
    # reading
    "Lister",
    "list_all",
    "list_by_namespace",
    # informers
    "SharedIndexInformer",
    "Registration",
    "InformerStatistics",
    "InformerStateError",
    "InformerName",
    "InformerIdentity",
    "QueueChoice",
    "Transform",
    "DELTA_FIFO",
    "REAL_FIFO",
    "REAL_FIFO_SINGLE",
    "ResourceEventHandler",
    "HandlerFuncs",
    "FilteringHandler",
    "last_known_state",
    "HighWater",
    "ListenerStatistics",
    "wait_for_cache_sync",
    "SyncResult",
    "CacheSyncError",
    "SingleFileTracker",
    "AsyncTracker",
    "Lazy",
    # what informers are made of
    "Reflector",
    "ReflectorStatistics",
    "Controller",
    "new_informer",
    "new_namespace_keyed_reflector",
    "MutationDetector",
    "CacheMutatedError",
]
