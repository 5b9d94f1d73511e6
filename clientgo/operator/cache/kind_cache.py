"""The objects of one kind, as far as somebody watches them.

Promises: one informer for each watched namespace, or one for all; however many subscribe to a
namespace it is listed and watched once, and no longer when the last has left; a subscriber is told
of every object in its namespaces, and may change these while everything runs. The informers keep
the order of versions, so that it is known at each moment how far the cache has come.

Does not promise anything about namespaces that nobody subscribed to. A server that does not have
the kind, or does not let it be listed, is asked again every ten seconds.

Source: controller-runtime pkg/cache; Java Operator SDK InformerManager.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from clientgo.cache import (
    REAL_FIFO,
    IndexFunc,
    ListerWatcher,
    Registration,
    ResourceEventHandler,
    SharedIndexInformer,
)
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import (
    APIResource,
    ObjectName,
    deep_copy,
    metadata_of,
    parse_resource_version,
)
from clientgo.meta.selectors import parse_label_selector
from clientgo.metrics import Metric, MetricsProvider, default_provider
from clientgo.operator.cache.handlers import Bookkeeping, InNamespace
from clientgo.operator.cache.lister import NotingLister
from clientgo.operator.cache.memory_guard import MemoryGuard, Shelf, warn_if_numerous
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import EVERYWHERE, KindScope, NamespaceSet, Reader
from clientgo.operator.durations import seconds
from clientgo.operator.errors import DeclarationError
from clientgo.process import SupervisedThread
from clientgo.wait import Backoff, BackoffManager, wait_for_event

IndexFunction = Callable[[Any], Iterable[str]]

_DELAYS: Final = Backoff(duration=0.8, factor=2.0, jitter=0.2, steps=38, cap=10.0)
"""Soon again at first; a kind that is missing is there ten seconds after somebody has made it."""

RECONNECTING: Final = 60.0
"""Seconds for which a watch may be away before that is worth a word."""

INFORMER_CRASHES: Final = Metric(
    "operator_informer_crashes_total", "Informers that a bug has ended", labels=("kind",)
)

_log = logging.getLogger("clientgo.operator.cache")


@dataclass(eq=False, slots=True)
class _Watched:
    """One informer; ``users`` subscriptions are told by it."""

    informer: SharedIndexInformer[Any]
    lister: NotingLister
    shelf: Shelf
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    users: int = 0
    unwatched_since: float | None = None

    def is_synced(self) -> bool:
        return self.informer.has_synced()


class Subscription:
    """One handler and the namespaces that it is told of; :meth:`KindCache.subscribe` makes it."""

    def __init__(self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet) -> None:
        self.handler = handler
        self.namespaces = namespaces
        self._registrations: dict[str, tuple[_Watched, Registration]] = {}
        """By namespace: the informer that tells of it, and how it was told to."""


class KindCache:
    """See the module; thread-safe. ``source`` gives what lists and watches a namespace, restricted
    to labels.

    ``project`` makes of an object that was written what the cache would have of it. ``on_crash`` is
    told of what an informer does not recover from.
    """

    def __init__(
        self,
        resource: APIResource,
        expected: Any,
        source: Callable[[str, str], ListerWatcher[Any]],
        scope: KindScope,
        *,
        name: str,
        project: Callable[[Any], Any] | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        on_crash: Callable[[BaseException], object] | None = None,
    ) -> None:
        self.resource = resource
        self.scope = scope
        self.own_writes = OwnWrites(name, self, clock=clock)
        self.name = name
        self._expected = expected
        self._source = source
        self._project = project
        self._guard = MemoryGuard(name, metrics or default_provider())
        self._crashes = (metrics or default_provider()).counter(INFORMER_CRASHES, kind=name)
        self._on_crash = on_crash
        self._clock = clock
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}
        self._indexes: dict[str, IndexFunction] = {}
        self._adding_index = threading.Lock()
        self._complete_indexes: set[str] = set()
        self._subscriptions: list[Subscription] = []
        self._readers: dict[str, Reader] = {}
        self._labels = ""
        """What all readers select by, so that the API server can do it."""
        self._recovery_handlers: list[Callable[[], object]] = []
        self._started = False
        self.index_errors = 0

    @property
    def shares(self) -> bool:
        """Whether readers are given the cached objects themselves."""
        return self.scope.general.copy == "shared"

    # Subscribing

    def declare(self, reader: Reader) -> None:
        """Take note of a reader, before it subscribes.

        If all readers select by the same labels only these objects are cached, otherwise all.
        Raises :class:`~clientgo.operator.errors.DeclarationError` if the cache runs with labels
        that this reader does not have.
        """
        with self._lock:
            readers = self._readers | {reader.name: reader}
            selections = {known.labels for known in readers.values()}
            labels = selections.pop() if len(selections) == 1 else ""
            if not self._watched:
                self._labels = labels
            elif self._labels and labels != self._labels:
                raise DeclarationError(
                    f"{reader.name} watches {self.name} with labels {reader.labels or '(none)'}, "
                    f"but only those with {self._labels} are cached already, for "
                    f"{', '.join(sorted(self._readers))}; declare it before the manager starts, "
                    "or use the same labels"
                )
            self._readers = readers

    def _report_limits(self) -> None:
        with self._lock:
            readers, labels = sorted(self._readers.values(), key=lambda r: r.name), self._labels
        if limits := self.scope.limits(labels):
            names = ", ".join(reader.name for reader in readers)
            _log.info("%s: only objects %s are cached, for %s", self.name, limits, names)
        for reader in readers:
            if hidden := self.scope.hidden_from(reader):
                _log.warning(
                    "%s watches all %s, but its CacheScope limits the cache to objects %s: the "
                    "source does not see others; limit the source too, or widen the CacheScope",
                    reader.name,
                    self.name,
                    hidden,
                )

    def subscribe(
        self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet
    ) -> Subscription:
        """Tell a handler of the objects in namespaces, from when the cache is started on.

        Raises :class:`~clientgo.operator.errors.ConfigError` for namespaces outside of the scope.
        """
        subscription = Subscription(handler, self.scope.within(namespaces, self.name))
        with self._lock:
            self._subscriptions.append(subscription)
            for namespace in subscription.namespaces:
                self._attach_locked(subscription, namespace)
        return subscription

    def change(self, subscription: Subscription, namespaces: NamespaceSet) -> None:
        """Tell the handler of other namespaces from now on; of what is lost it is not told.

        Does not wait for the objects of new namespaces: :meth:`wait_synced` does. Raises
        :class:`~clientgo.operator.errors.ConfigError` for namespaces outside of the scope.
        """
        namespaces = self.scope.within(namespaces, self.name)
        with self._lock:
            # Who leaves "everywhere" must not keep it all the same, for the sake of a namespace.
            shares = not ("" in subscription.namespaces and "" not in namespaces)
            for namespace in namespaces - subscription.namespaces:
                self._attach_locked(subscription, namespace, shares=shares)
            leaving = [
                self._detach_locked(subscription, namespace)
                for namespace in subscription.namespaces - namespaces
            ]
            subscription.namespaces = namespaces
        self._end(leaving)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Tell the handler nothing more; blocks until a call in progress has ended."""
        with self._lock:
            if subscription not in self._subscriptions:
                return
            self._subscriptions.remove(subscription)
            leaving = [
                self._detach_locked(subscription, namespace)
                for namespace in subscription.namespaces
            ]
        self._end(leaving)

    def wait_synced(
        self,
        subscription: Subscription,
        timeout: float,
        stop: threading.Event | None = None,
        *,
        optional: bool = False,
    ) -> bool:
        """Block until the handler was told of all that is there, for so many real seconds at most
        and not beyond ``stop``.

        With ``optional`` a kind that the server does not have is not waited for.
        """
        with self._lock:
            attached = list(subscription._registrations.values())
        deadline = time.monotonic() + timeout
        for watched, registration in attached:
            if optional:
                if not wait_for_event(watched.lister.answered, deadline - time.monotonic(), stop):
                    return False
                if watched.lister.unserved:
                    continue
            synced = registration.has_synced_checker().done
            if not wait_for_event(synced, deadline - time.monotonic(), stop):
                return False
        return True

    def trouble(self, subscription: Subscription, *, optional: bool = False) -> str | None:
        """Why the handler does not know of all that is there, or None.

        That a watch is being opened again is no trouble for a minute, from when it is first seen.
        """
        with self._lock:
            attached = dict(subscription._registrations)
        for namespace, (watched, _) in attached.items():
            if optional and watched.lister.unserved:
                continue
            where, error = f" in {namespace}" if namespace else "", watched.informer.last_error()
            if not watched.informer.has_synced():
                return f"no list of {self.name}{where}: {error or 'waiting'}"
            lost = self._unwatched_for(watched)
            if lost >= RECONNECTING:
                return f"no watch of {self.name}{where} for {lost:.0f} s: {error or 'waiting'}"
        return None

    def _unwatched_for(self, watched: _Watched) -> float:
        if watched.informer.is_watching():
            watched.unwatched_since = None
            return 0.0
        now = self._clock.monotonic()
        if watched.unwatched_since is None:
            watched.unwatched_since = now
        return now - watched.unwatched_since

    def on_recovery(self, handler: Callable[[], object]) -> None:
        """Call a handler whenever a list came again, or an answer after a failed request.

        It is called by the reflector's thread, before the objects are delivered; it must not block.
        """
        with self._lock:
            self._recovery_handlers.append(handler)

    def _recovered(self) -> None:
        with self._lock:
            handlers = tuple(self._recovery_handlers)
        for handler in handlers:
            handler()

    # Running

    def start(self) -> None:
        """Run the informers, those that come later too. Idempotent."""
        self._report_limits()
        with self._lock:
            self._started = True
            for watched in self._watched.values():
                self._run_locked(watched)

    def stop(self) -> None:
        """Stop all informers; blocks until they have ended. What is cached stays readable."""
        with self._lock:
            self._started = False
            running = list(self._watched.values())
        for watched in running:
            watched.stop.set()
        for watched in running:
            if watched.thread is not None:
                watched.thread.join()

    def informers(self) -> dict[str, SharedIndexInformer[Any]]:
        """The informers by namespace, for health and statistics."""
        with self._lock:
            return {namespace: watched.informer for namespace, watched in self._watched.items()}

    # Reading: shared objects, which nobody must change

    def covers(self, namespace: str) -> bool:
        """Whether objects of a namespace can be read here, or with ``""`` any at all."""
        with self._lock:
            watched = self._watched
            return "" in watched or (namespace in watched if namespace else bool(watched))

    def is_everywhere(self) -> bool:
        """Whether all namespaces are watched."""
        with self._lock:
            return "" in self._watched

    def get(self, key: ObjectName) -> Any | None:
        """The newest known state of an object, or None."""
        return self.own_writes.newest(key)

    def select(self, namespace: str = "", index: tuple[str, str] | None = None) -> list[Any]:
        """The newest known states in a namespace, or with ``""`` in all, ordered by key.

        ``index`` is the name of an index and the value to look up in it.
        """
        written = self.own_writes.keys()  # before the store is read: it only gets newer
        found: dict[ObjectName, Any] = {}
        for informer in self._informers_for(namespace):
            if index is not None:
                name, value = index
                objs = informer.indexer.by_index(name, f"{namespace}/{value}")
            elif namespace:
                objs = informer.indexer.by_index(_BY_NAMESPACE, f"{namespace}/")
            else:
                objs = informer.indexer.list()
            found |= {ObjectName.of(obj): obj for obj in objs}
        for key in written:
            if namespace and key.namespace != namespace:
                continue
            newest = self.get(key)
            if newest is None or (index is not None and not self.has_value(newest, *index)):
                found.pop(key, None)
            else:
                found[key] = newest
        return [found[key] for key in sorted(found)]

    def stored(self, key: ObjectName) -> Any | None:
        """What a watch has brought, own writes left out."""
        for informer in self._informers_for(key.namespace):
            return informer.indexer.get_by_key(str(key))
        return None

    def as_of(self, namespace: str) -> int:
        """The version that a namespace is known as of; 0 if nothing is."""
        for informer in self._informers_for(namespace):
            version = informer.indexer.last_store_sync_resource_version()
            return parse_resource_version(version) or 0
        return 0

    # What this process does itself

    def wrote(self, obj: Any, writer: Hashable = None) -> None:
        """A write was acknowledged, with this object; see :class:`OwnWrites`."""
        metadata = metadata_of(obj)
        namespace = metadata.namespace or ""
        if not self.covers(namespace):
            return
        scope = self.scope.of(namespace)
        selectors = filter(None, (scope.labels, self._labels))
        labels = metadata.labels or {}
        if not all(parse_label_selector(text).matches(labels) for text in selectors):
            self.own_writes.deleted(obj)  # which is what the watch will say of it
            return
        # The caller may go on to change what the write returned; what is remembered must not.
        cached = deep_copy(obj if self._project is None else self._project(obj))
        if scope.transform is not None:
            cached = scope.transform(cached)
        self.own_writes.wrote(cached, writer)

    def deleted(self, obj: Any) -> None:
        """A deletion was acknowledged. ``obj`` need not be the newest state, nor have a uid."""
        key, uid = ObjectName.of(obj), metadata_of(obj).uid
        if bool(key.namespace) != self.resource.namespaced or not self.covers(key.namespace):
            return
        newest = self.get(key)
        if newest is None or (uid and metadata_of(newest).uid != uid):
            newest = obj
        metadata = metadata_of(newest)
        if metadata.uid and not metadata.finalizers:
            self.own_writes.deleted(newest)

    # Indexes

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index, before the start or while running."""
        with self._lock:
            self._indexes[name] = function
            informers = [watched.informer for watched in self._watched.values()]
        for informer in informers:
            informer.add_indexers({name: self._index_func(function)})

    def ensure_index(self, name: str, function: IndexFunction) -> None:
        """Add an index unless it is there; blocks while another thread adds it."""
        if name in self._complete_indexes:
            return
        with self._adding_index:
            if name not in self._complete_indexes:
                self.add_index(name, function)
                self._complete_indexes.add(name)

    def index_names(self) -> list[str]:
        with self._lock:
            return sorted(self._indexes)

    def is_empty(self) -> bool:
        """Whether nothing is cached yet."""
        return not any(informer.indexer.list_keys() for informer in self.informers().values())

    def has_value(self, obj: Any, name: str, value: str) -> bool:
        """Whether an object has a value in an index."""
        return value in self._values(self._indexes[name], obj)

    def _values(self, function: IndexFunction, obj: Any) -> list[str]:
        try:
            return list(function(obj))
        except Exception as error:  # noqa: BLE001 - the object is kept, without this index
            self.index_errors += 1
            _log.error("%s: index of %s: %s", self.name, ObjectName.of(obj), error)
            return []

    def _index_func(self, function: IndexFunction) -> IndexFunc:
        """Each value is indexed for all namespaces and for the object's own."""

        def values(obj: Any) -> list[str]:
            namespace = metadata_of(obj).namespace or ""
            own = [f"/{value}" for value in self._values(function, obj)]
            return own + [f"{namespace}{value}" for value in own] if namespace else own

        return values

    # Inside

    def _informers_for(self, namespace: str) -> list[SharedIndexInformer[Any]]:
        with self._lock:
            narrow = self._watched.get(namespace) if namespace else None
            everywhere = self._watched.get("")
            has_all = everywhere is not None and namespace not in self.scope.named
            if everywhere is not None and has_all and (narrow is None or everywhere.is_synced()):
                named = () if namespace else self.scope.named
                apart = [self._watched[name] for name in named if name in self._watched]
                return [everywhere.informer, *(watched.informer for watched in apart)]
            if namespace:
                return [narrow.informer] if narrow is not None else []
            return [watched.informer for watched in self._watched.values()]

    def _attach_locked(
        self, subscription: Subscription, namespace: str, *, shares: bool = True
    ) -> None:
        apart = not shares or namespace in self.scope.named
        everywhere = None if apart else self._watched.get("")
        watched = everywhere or self._watched.get(namespace)
        if watched is None:
            watched = self._watched[namespace] = self._new_watched(namespace)
        watched.users += 1
        handler = subscription.handler
        if namespace and everywhere is watched:
            handler = InNamespace(handler, namespace)
        registration = watched.informer.add_event_handler(handler)
        subscription._registrations[namespace] = watched, registration
        if self._started:
            self._run_locked(watched)

    def _detach_locked(
        self, subscription: Subscription, namespace: str
    ) -> tuple[_Watched, Registration, bool]:
        watched, registration = subscription._registrations.pop(namespace)
        watched.users -= 1
        unused = watched.users == 0
        if unused:
            self._watched = {ns: kept for ns, kept in self._watched.items() if kept is not watched}
        return watched, registration, unused

    def _new_watched(self, namespace: str) -> _Watched:
        scope = self.scope.of(namespace)
        indexers = {name: self._index_func(index) for name, index in self._indexes.items()}
        indexers[_BY_NAMESPACE] = self._index_func(lambda _: ("",))
        lister = NotingLister(
            self._source(namespace, self._labels), self.own_writes.forget_echoes, self._recovered
        )
        informer: SharedIndexInformer[Any] = SharedIndexInformer(
            lister,
            self._expected,
            name=f"informer-{self.name}{'-' + namespace if namespace else ''}",
            indexers=indexers,
            transform=scope.transform,
            resync_period=0.0 if scope.resync is None else seconds(scope.resync, "resync"),
            queue=REAL_FIFO,
            delays=BackoffManager(_DELAYS, 120.0, clock=self._clock),
            clock=self._clock,
        )
        shelf = Shelf()
        books = Bookkeeping(self.own_writes, self._guard, shelf)
        informer.add_event_handler(books, resync_period=0.0)
        warn_if_numerous(
            self.resource,
            selective=bool(
                namespace or scope.labels or self._labels or scope.fields or self._project
            ),
        )
        return _Watched(informer, lister, shelf)

    def _end(self, leaving: list[tuple[_Watched, Registration, bool]]) -> None:
        """Outside of the lock, because it waits for handlers."""
        for watched, registration, unused in leaving:
            watched.informer.shut_down_event_handler(registration)
            if unused:
                watched.stop.set()
                if watched.thread is not None:
                    watched.thread.join()
                self._guard.cleared(watched.shelf)

    def _run_locked(self, watched: _Watched) -> None:
        if watched.thread is None:
            watched.thread = SupervisedThread(
                self._run,
                args=(watched,),
                name=watched.informer.name,
                then="this cache is not updated any more; restart this process",
            )
            watched.thread.start()

    def _run(self, watched: _Watched) -> None:
        try:
            watched.informer.run(watched.stop)
        except BaseException as error:
            self._crashes.inc()
            if self._on_crash is None:
                raise
            self._on_crash(error)


_BY_NAMESPACE = "clientgo.operator/namespace"


__all__ = ["EVERYWHERE", "KindCache", "Subscription"]
