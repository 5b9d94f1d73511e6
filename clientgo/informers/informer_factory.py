"""What every informer factory does: one informer for each kind, started and stopped together.

Promises: callers that ask for the same kind share an informer; `start` may be called again for
later informers; `shutdown` returns when every thread has ended. An informer that is only held by
handles ends with the last of them; one that was asked for without a handle is kept. Thread-safe.

Differs from client-go (`informers`, `dynamicinformer`, `metadatainformer`): three factories share
one set of options, waiting does not poll, and `shutdown` stops the informers itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from clientgo.cache import (
    DELTA_FIFO,
    NAMESPACE_INDEX,
    InformerIdentity,
    InformerName,
    Lister,
    ListerWatcher,
    QueueChoice,
    SharedIndexInformer,
    Transform,
    meta_namespace_index,
    wait_for_cache_sync,
)
from clientgo.client import Client, Tweak
from clientgo.informers.informer_handle import InformerHandle
from clientgo.meta import APIResource
from clientgo.util.copies import uncopyable
from clientgo.util.process import (
    ForkAwareContext,
    SupervisedThread,
    refuse_in_child,
    run_with_threads,
    start_threads,
)
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.informers")

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class ResourceInformer(NamedTuple, Generic[T]):
    """An informer, and the lister that reads its cache."""

    informer: SharedIndexInformer[T]
    lister: Lister[T]


@dataclass(frozen=True, slots=True)
class Wanted(Generic[T]):
    """What an informer is made of; ``source`` is given the namespace, or ``""`` for all."""

    resource: APIResource
    expected: type[Any]
    source: Callable[[str], ListerWatcher[Any]]
    name: str
    view: Callable[[Any], T] | None = None


@dataclass(slots=True)
class _Entry:
    """An informer of the factory; ``thread`` runs it, once it is started, until ``stop``.

    The ``stop`` of its start, ``stop_of_start``, sets it too. It also ends with the last of its
    ``handles``, unless it ``is_kept`` for callers without one.
    """

    informer: SharedIndexInformer[Any]
    stop: StopEvent = field(default_factory=StopEvent)
    stop_of_start: threading.Event | None = None
    thread: threading.Thread | None = None
    handles: set[InformerHandle[Any]] = field(default_factory=set)
    is_kept: bool = False

    def has_ended(self) -> bool:
        if self.stop_of_start is not None and self.stop_of_start.is_set():
            return True
        return self.stop.is_set() or self.informer.is_stopped()

    def end(self) -> None:
        """Stop the informer, and wait for it unless one of its handlers makes this call."""
        self.stop.set()
        if self.thread is None:
            self.informer.run(self.stop)  # so that it has ended, and does not only wait
        elif not self.informer.is_calling_handler_here():
            self.thread.join()


@uncopyable("it has threads; make one in each process")
class InformerFactory(ForkAwareContext, Generic[K]):
    """The informers of one client by key; see the factories that derive from it.

    ``namespace`` limits the informers of namespaced kinds to one namespace.
    ``tweak_list_options`` changes the options of every list and watch, as to select by label.
    ``transform`` changes objects before they are cached. ``default_resync`` (seconds, 0: never)
    is how often handlers are called again for every object, ``custom_resync`` the same for single
    kinds. ``queue`` is the queue of each informer: ``DELTA_FIFO`` or ``REAL_FIFO``. With an
    ``informer_name`` its informers report metrics under this name.

    A key has one informer in a factory. One with another namespace or other options has informers
    and handles of its own. As a context manager it shuts down at the end of the block.
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        *,
        namespace: str = "",
        tweak_list_options: Tweak | None = None,
        transform: Transform | None = None,
        custom_resync: Mapping[K, float] | None = None,
        queue: QueueChoice = DELTA_FIFO,
        informer_name: InformerName | None = None,
    ) -> None:
        self._client = client
        self._default_resync = default_resync
        self._namespace = namespace
        self._tweak = tweak_list_options
        self._transform = transform
        self._custom_resync = dict(custom_resync or {})
        self._queue = queue
        self._informer_name = informer_name
        self._identities: dict[K, InformerIdentity] = {}
        self._lock = threading.Lock()
        self._entries: dict[K, _Entry] = {}
        self._shut_down = False
        refuse_in_child(
            self,
            "the informer factory",
            "_lock",
            advice="make a factory in the child, after the fork",
        )

    def _end_block(self) -> None:
        self.shutdown()

    def start(self, stop: threading.Event) -> None:
        """Start every informer that was asked for and does not run yet; does not block.

        Each runs until ``stop`` is set, or the factory is shut down. After that only a warning is
        logged. Raises ThreadStartError if a thread cannot be started: then none was.
        """
        with self._lock:
            if self._shut_down:
                _log.warning("the factory was shut down and starts no informer; make a new one")
                return
            entries = [entry for entry in self._entries.values() if entry.thread is None]
            threads = [_thread(entry, stop) for entry in entries]
            start_threads(threads)
            for entry, thread in zip(entries, threads, strict=True):
                entry.thread, entry.stop_of_start = thread, stop

    def wait_for_cache_sync(self, stop: threading.Event) -> dict[K, bool]:
        """Block until all started informers have their first list, or ``stop`` is set.

        Returns which of them have it; informers that were not started are left out, and logged as a
        warning. Those that do not have it are logged with their last error.
        """
        with self._lock:
            started = {
                key: entry.informer
                for key, entry in self._entries.items()
                if entry.thread is not None
            }
            unstarted = [e.informer.name for e in self._entries.values() if e.thread is None]
        if unstarted:
            _log.warning(
                "not waiting for %s: not started, so the cache stays empty; call start before",
                ", ".join(unstarted),
            )
        wait_for_cache_sync(stop, *started.values())
        return {key: informer.has_synced() for key, informer in started.items()}

    def informers(self) -> dict[K, SharedIndexInformer[Any]]:
        """Return the informers that were asked for."""
        with self._lock:
            return {key: entry.informer for key, entry in self._entries.items()}

    def shutdown(self) -> None:
        """Stop all informers and block until they have ended; start none from now on.

        Waits for handlers that are being called. May be called repeatedly and from several
        threads, but not by a handler.
        """
        with self._lock:
            self._shut_down = True
            entries = list(self._entries.values())
        for entry in entries:
            entry.stop.set()
        for entry in entries:
            if entry.thread is not None:
                entry.thread.join()

    def release(self, held: K | InformerHandle[Any]) -> None:
        """Release a handle; or stop the informer of a key, whoever uses it, and forget it.

        Blocks until what ends has ended; called by one of the informer's handlers, it does not
        wait. The cache of a key stays readable for those who have its informer. The next request
        makes a new one, which is to be started. Without effect for a handle that was released, and
        for a key that was not asked for.
        """
        if isinstance(held, InformerHandle):
            held.release()
            return
        with self._lock:
            entry = self._entries.pop(held, None)
        if entry is not None:
            entry.end()

    def _informer(self, key: K, wanted: Wanted[T]) -> SharedIndexInformer[T]:
        """Return the informer of a key, and keep it; create it when first asked for."""
        with self._lock:
            entry = self._entry_locked(key, wanted)
            entry.is_kept = True
            return entry.informer

    def _handle(self, key: K, wanted: Wanted[T]) -> InformerHandle[T]:
        """Return a new handle of the informer of a key, of a new one if the last has ended."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.has_ended():
                del self._entries[key]
            entry = self._entry_locked(key, wanted)
            handle = InformerHandle(key, entry.informer, wanted.resource, self._released)
            entry.handles.add(handle)
            return handle

    def _released(self, handle: InformerHandle[Any]) -> None:
        key: Any = handle.key
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or handle not in entry.handles:
                return  # the informer of this handle was stopped and replaced
            entry.handles.remove(handle)
            if entry.handles or entry.is_kept:
                return
            del self._entries[key]
        entry.end()

    def _entry_locked(self, key: K, wanted: Wanted[Any]) -> _Entry:
        entry = self._entries.get(key)
        if entry is None:
            resource = wanted.resource
            if self._informer_name is not None and key not in self._identities:
                self._identities[key] = self._informer_name.with_resource(resource.gvr)
            informer: SharedIndexInformer[Any] = SharedIndexInformer(
                wanted.source(self._namespace if resource.namespaced else ""),
                wanted.expected,
                name=wanted.name,
                resync_period=self._custom_resync.get(key, self._default_resync),
                indexers={NAMESPACE_INDEX: meta_namespace_index},
                transform=self._transform,
                queue=self._queue,
                view=wanted.view,
                identity=self._identities.get(key),
            )
            entry = self._entries[key] = _Entry(informer)
        return entry


def _thread(entry: _Entry, stop: threading.Event) -> SupervisedThread:
    def run() -> None:
        registration = call_when_set(stop, entry.stop.set)
        try:
            run_with_threads(entry.informer.run, entry.stop)
        finally:
            registration.cancel()

    return SupervisedThread(
        run,
        name=entry.informer.name,
        then="its cache is not updated any more; restart this process",
    )
