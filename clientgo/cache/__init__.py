"""The local copy of what the API server holds, and how it is kept up to date.

::

    ListerWatcher ──► Reflector ──► DeltaFIFO ──► SharedIndexInformer ──► Indexer ◄── Lister
                                    (or RealFIFO)         │
                                                          ▼
                                                    event handlers

Data goes one way: a :class:`Queue` takes what the API server reports, its consumer writes the
:class:`Indexer` and tells the event handlers, everybody else reads.
"""

from clientgo.cache.delta_fifo import DeltaFIFO
from clientgo.cache.deltas import Delta, Deltas, DeltaType, Replacement, newest, oldest
from clientgo.cache.done_checker import DoneChecker
from clientgo.cache.indexer import Indexer
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
from clientgo.cache.list_watch import ListerWatcher, ListWatch, WatchStream
from clientgo.cache.queue import ChangeError, Queue, QueueClosedError, QueueStatistics
from clientgo.cache.real_fifo import RealFIFO
from clientgo.cache.store import (
    IndexConflictError,
    IndexFuncError,
    Store,
    StoreStatistics,
    TransactionError,
    UnknownIndexError,
)
from clientgo.cache.thread_safe_store import ThreadSafeStore
from clientgo.cache.tombstone import DeletedFinalStateUnknown

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
    # queues
    "Queue",
    "DeltaFIFO",
    "RealFIFO",
    "Delta",
    "Deltas",
    "DeltaType",
    "DeletedFinalStateUnknown",
    "Replacement",
    "oldest",
    "newest",
    "DoneChecker",
    "ChangeError",
    "QueueClosedError",
    "QueueStatistics",
    # stores
    "Store",
    "Indexer",
    "ThreadSafeStore",
    "IndexConflictError",
    "IndexFuncError",
    "UnknownIndexError",
    "TransactionError",
    "StoreStatistics",
]
