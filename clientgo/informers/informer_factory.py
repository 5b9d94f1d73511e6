"""What every informer factory does: one informer for each kind, started and stopped together.

Promises: callers that ask for the same kind share an informer; `start` may be called again for
later informers; `shutdown` returns when every thread has ended. Thread-safe.

A stopped informer does not start again; `release` makes room for a new one.

Differs from client-go (`informers`, `dynamicinformer`, `metadatainformer`): three factories share
one set of options, waiting does not poll, and `shutdown` stops the informers itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import TracebackType
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
from clientgo.meta import APIResource
from clientgo.util.copies import uncopyable
from clientgo.util.process import (
    SupervisedThread,
    generation,
    refuse_in_child,
    run_with_threads,
    start_threads,
)
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.informers")

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Self = TypeVar("Self", bound="InformerFactory[Any]")


class ResourceInformer(NamedTuple, Generic[T]):
    """An informer, and the lister that reads its cache."""

    informer: SharedIndexInformer[T]
    lister: Lister[T]


@dataclass(slots=True)
class _Entry:
    """An informer of the factory; ``thread`` runs it, once it is started, until ``stop``."""

    informer: SharedIndexInformer[Any]
    resource: APIResource
    stop: StopEvent
    thread: threading.Thread | None = None


@uncopyable("it has threads; make one in each process")
class InformerFactory(Generic[K]):
    """The informers of one client by key; see the factories that derive from it.

    ``namespace`` limits the informers of namespaced kinds to one namespace.
    ``tweak_list_options`` changes the options of every list and watch, as to select by label.
    ``transform`` changes objects before they are cached. ``default_resync`` (seconds, 0: never)
    is how often handlers are called again for every object, ``custom_resync`` the same for single
    kinds. ``queue`` is the queue of each informer: ``DELTA_FIFO`` or ``REAL_FIFO``. With an
    ``informer_name`` its informers report metrics under this name.

    As a context manager it shuts down at the end of the block.
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

    def __enter__(self: Self) -> Self:
        self._entered_in = generation()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._entered_in == generation():  # a forked child leaves it to its parent
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
                entry.thread = thread

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

    def release(self, key: K) -> None:
        """Stop one informer, block until it has ended, and forget it; its cache stays readable.

        The next request makes a new one, which is to be started. Without effect for a kind that
        was not asked for. Not for the informer's own handlers.
        """
        with self._lock:
            entry = self._entries.pop(key, None)
        if entry is not None:
            entry.stop.set()
            if entry.thread is not None:
                entry.thread.join()

    def _informer(
        self,
        key: K,
        resource: APIResource,
        expected: type[Any],
        source: Callable[[str], ListerWatcher[Any]],
        name: str,
        view: Callable[[Any], T] | None = None,
    ) -> SharedIndexInformer[T]:
        """Return the informer of a key; create it when first asked for."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                if self._informer_name is not None and key not in self._identities:
                    self._identities[key] = self._informer_name.with_resource(resource.gvr)
                informer: SharedIndexInformer[T] = SharedIndexInformer(
                    source(self._namespace if resource.namespaced else ""),
                    expected,
                    name=name,
                    resync_period=self._custom_resync.get(key, self._default_resync),
                    indexers={NAMESPACE_INDEX: meta_namespace_index},
                    transform=self._transform,
                    queue=self._queue,
                    view=view,
                    identity=self._identities.get(key),
                )
                entry = self._entries[key] = _Entry(informer, resource, StopEvent())
            return entry.informer


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
