"""A local copy of objects on the API server, and how it is kept up to date.

::

    ListerWatcher ──► Reflector ──► DeltaFIFO ──► SharedIndexInformer ──► Indexer ◄── Lister
                                    (or RealFIFO)         │
                                                          ▼
                                                    event handlers

Data flows one way: a :class:`Reflector` reads the API server and writes a :class:`Queue`, whose
consumer writes the :class:`Indexer` and calls the event handlers. All other code reads.

Folders, each of which imports only those after it: ``client_go`` (parts of client-go's surface that
nothing here uses), ``informer``, ``reflector``, ``queues``, ``store``. ``hops.py`` is for tracers.
"""

from clientgo.cache.client_go.expiration_cache import ExpirationCache, ExpirationPolicy, ttl_policy
from clientgo.cache.client_go.helpers import (
    DeletedObject,
    new_informer,
    new_namespace_keyed_reflector,
    watch_list_options,
)
from clientgo.cache.informer.controller import DELTA_FIFO, REAL_FIFO, Controller, QueueChoice
from clientgo.cache.informer.handlers import (
    FilteringHandler,
    HandlerFuncs,
    ResourceEventHandler,
    last_known_state,
)
from clientgo.cache.informer.identity import InformerIdentity, InformerName
from clientgo.cache.informer.listener import HighWater, ListenerStatistics
from clientgo.cache.informer.mutation_detector import CacheMutatedError, MutationDetector
from clientgo.cache.informer.shared_informer import (
    InformerStateError,
    InformerStatistics,
    Registration,
    SharedIndexInformer,
)
from clientgo.cache.informer.transforming_store import CompactMetadata, Transform
from clientgo.cache.informer.wait_for_cache_sync import (
    CacheSyncError,
    SyncResult,
    wait_for_cache_sync,
)
from clientgo.cache.pager import ListPager
from clientgo.cache.queues.delta_fifo import DeltaFIFO
from clientgo.cache.queues.done_checker import AsyncTracker, DoneChecker, Latch, SingleFileTracker
from clientgo.cache.queues.queue import (
    ChangeError,
    Deltas,
    Queue,
    QueueClosedError,
    QueueMetrics,
    QueueStatistics,
    newest,
    oldest,
)
from clientgo.cache.queues.real_fifo import RealFIFO
from clientgo.cache.reflector.errors import NotServedError
from clientgo.cache.reflector.health import ReflectorStatistics
from clientgo.cache.reflector.list_watch import (
    ListerWatcher,
    ListWatch,
    ListWatchError,
    ServedCheck,
    WatchStream,
)
from clientgo.cache.reflector.options import ReflectorOptions
from clientgo.cache.reflector.reflector import Reflector
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType, Replacement
from clientgo.cache.store.consistency_store import (
    ConsistencyError,
    ConsistencyStore,
    VersionedStore,
)
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import (
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
from clientgo.cache.store.listers import Lister, list_all, list_by_namespace
from clientgo.cache.store.store import (
    IndexConflictError,
    IndexFuncError,
    Store,
    StoreStatistics,
    TransactionError,
    UnknownIndexError,
)
from clientgo.cache.store.thread_safe_store import ThreadSafeStore

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
    "ListWatchError",
    "WatchStream",
    "ServedCheck",
    "NotServedError",
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
    "Latch",
    "ChangeError",
    "QueueClosedError",
    "QueueStatistics",
    "QueueMetrics",
    # stores
    "Store",
    "Indexer",
    "ThreadSafeStore",
    "IndexConflictError",
    "IndexFuncError",
    "UnknownIndexError",
    "TransactionError",
    "StoreStatistics",
    "ConsistencyStore",
    "ConsistencyError",
    "VersionedStore",
    "ExpirationCache",
    "ExpirationPolicy",
    "ttl_policy",
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
    "CompactMetadata",
    "DELTA_FIFO",
    "REAL_FIFO",
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
    # what informers are made of
    "Reflector",
    "ReflectorOptions",
    "ReflectorStatistics",
    "Controller",
    "new_informer",
    "new_namespace_keyed_reflector",
    "MutationDetector",
    "CacheMutatedError",
]
