"""The objects of one kind, as far as subscribers watch them.

Promises that a subscriber is called with every object in its namespaces, which may change at any
time, and that reads see what this process has written. A server that does not have the kind, or
does not let it be listed, is asked again every ten seconds.

Source: controller-runtime pkg/cache; Java Operator SDK InformerManager.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, Final
from weakref import WeakKeyDictionary

from clientgo.cache import ListerWatcher, ResourceEventHandler, SharedIndexInformer
from clientgo.meta import (
    APIResource,
    ObjectName,
    ShardSelector,
    deep_copy,
    metadata_of,
    parse_resource_version,
)
from clientgo.observe.metrics import MetricsProvider, default_provider
from clientgo.operator.cache.catching_up import catch_up
from clientgo.operator.cache.indexes import Indexes
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import KindScope, NamespaceSet, Reader, is_selected
from clientgo.operator.cache.watches import Attached, Watches
from clientgo.operator.errors import DeclarationError
from clientgo.operator.metrics import CacheMetrics
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.wait import wait_for_event

RECONNECTING: Final = 60.0
"""Seconds for which a watch may be away before that is reported."""


@uncopyable("it has locks; make one in each process")
class Subscription:
    """One handler and the namespaces that it watches; :meth:`KindCache.subscribe` makes it."""

    def __init__(self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet) -> None:
        self.handler = handler
        self.namespaces = namespaces
        self.attached: dict[str, Attached] = {}
        """By namespace. For the cache."""


@uncopyable("it has locks; make one in each process")
class KindCache:
    """Thread-safe. ``source(namespace, labels)`` returns what lists and watches.

    ``project`` makes of a written object what the cache would have of it, of its own; None if it
    cannot tell. ``headers`` lists as ``source`` does, perhaps less of each object. ``on_crash`` is
    called with what an informer does not recover from.
    """

    def __init__(
        self,
        resource: APIResource,
        expected: Any,
        source: Callable[[str, str], ListerWatcher[Any]],
        scope: KindScope,
        *,
        name: str,
        headers: Callable[[str, str], ListerWatcher[Any]] | None = None,
        project: Callable[[Any], Any | None] = deep_copy,
        is_projected: bool = False,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        on_crash: Callable[[BaseException], object] | None = None,
    ) -> None:
        self.resource = resource
        self.scope = scope
        self.name = name
        instruments = CacheMetrics(name, metrics or default_provider())
        self.own_writes = OwnWrites(name, self, metrics=instruments, clock=clock)
        self.indexes = Indexes(name, lambda: self.informers().values())
        self._headers = headers or source
        self._project = project
        self._clock = clock
        self._lock = threading.Lock()
        self._versions = threading.Lock()
        """Held while a version is read and compared with the one before; calls no other lock."""
        self._reached: WeakKeyDictionary[SharedIndexInformer[Any], int] = WeakKeyDictionary()
        self.restarts = 0
        """How often an informer has gone back to an older version: the server did."""
        self._readers = Readers(name)
        self._watches = Watches(
            kind=name,
            resource=resource,
            expected=expected,
            lister=source,
            readers=self._readers.names,
            scope=scope,
            own_writes=self.own_writes,
            indexes=self.indexes,
            recovered=self._recovered,
            on_crash=on_crash,
            is_projected=is_projected,
            metrics=instruments,
            clock=clock,
        )
        self._subscriptions: list[Subscription] = []
        self._recovery_handlers: list[Callable[[], object]] = []

    @property
    def shares(self) -> bool:
        """Return True if readers are given the cached objects themselves."""
        return self.scope.general.copy == "shared"

    # Subscribing

    def declare(self, reader: Reader) -> None:
        """Note a reader, before it subscribes.

        If all readers select by the same labels only these objects are cached, otherwise all.
        Raises ``DeclarationError`` if the cache runs with labels that this reader does not have.
        """
        with self._lock:
            self._readers.add(reader, is_watched=bool(self._watches))

    def subscribe(
        self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet
    ) -> Subscription:
        """Call a handler with the objects in namespaces, when the cache is started.

        Raises ``ConfigError`` for namespaces outside of the scope.
        """
        subscription = Subscription(handler, self.scope.within(namespaces, self.name))
        with self._lock:
            self._subscriptions.append(subscription)
            for namespace in subscription.namespaces:
                self._attach_locked(subscription, namespace)
        return subscription

    def change(self, subscription: Subscription, namespaces: NamespaceSet) -> None:
        """Call the handler for other namespaces from now on; objects that leave are not reported.

        Does not wait for objects of new namespaces. Ignores a subscription that has ended. Raises
        ``ConfigError`` for namespaces outside of the scope.
        """
        namespaces = self.scope.within(namespaces, self.name)
        with self._lock:
            if subscription not in self._subscriptions:
                return
            # A subscriber that leaves "everywhere" must not keep it for the sake of a namespace.
            shares = not ("" in subscription.namespaces and "" not in namespaces)
            for namespace in namespaces - subscription.namespaces:
                self._attach_locked(subscription, namespace, shares=shares)
            leaving = self._detach_locked(subscription, subscription.namespaces - namespaces)
            subscription.namespaces = namespaces
        for attached in leaving:
            self._watches.end(attached)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Call the handler no more; blocks until a call in progress has ended."""
        with self._lock:
            if subscription not in self._subscriptions:
                return
            self._subscriptions.remove(subscription)
            leaving = self._detach_locked(subscription, subscription.namespaces)
        for attached in leaving:
            self._watches.end(attached)

    def wait_synced(
        self,
        subscription: Subscription,
        timeout: float,
        stop: threading.Event | None = None,
        *,
        optional: bool = False,
    ) -> bool:
        """Block until the handler was called with all that exists, for ``timeout`` real seconds at
        most and not beyond ``stop``. With ``optional`` a kind that is not served is not waited for.

        The namespaces may change meanwhile: those count that the subscription has in the end.
        """
        deadline = time.monotonic() + timeout
        while (waiting := self._waiting_for(subscription, optional=optional)) is not None:
            event, left = waiting
            is_set = wait_for_event(event, deadline - time.monotonic(), stop, left)
            if not is_set and not left.is_set():
                return False
        return True

    def trouble(self, subscription: Subscription, *, optional: bool = False) -> str | None:
        """Return why the handler does not know of all that exists, or None.

        A watch that is being opened again is no trouble for a minute.
        """
        with self._lock:
            attached = [(ns, each.watch) for ns, each in subscription.attached.items()]
        now = self._clock.monotonic()
        for namespace, watch in attached:
            if optional and watch.lister.unserved:
                continue
            where, error = f" in {namespace}" if namespace else "", watch.informer.last_error()
            if not watch.informer.has_synced():
                return f"no list of {self.name}{where}: {error or 'waiting'}"
            if watch.lister.unserved:
                return str(error or f"{self.name} is not served")
            lost = watch.lost_for(now)
            if lost >= RECONNECTING:
                return f"no watch of {self.name}{where} for {lost:.0f} s: {error or 'waiting'}"
        return None

    def on_recovery(self, handler: Callable[[], object]) -> None:
        """Call a handler when a list came again, or an answer after a failed request.

        The reflector's thread calls it, before the objects are delivered; it must not block.
        """
        with self._lock:
            self._recovery_handlers.append(handler)

    def limits(self) -> str:
        """Describe which objects are cached; empty if all are that are watched."""
        with self._lock:
            labels = self._readers.labels
        return self.scope.limits(labels)

    # Running

    def start(self) -> None:
        """Run the informers, those that come later too. Idempotent."""
        self._readers.report_limits(self.scope)
        with self._lock:
            self._watches.run()

    def stop(self) -> None:
        """Stop all informers; blocks until they have ended. What is cached stays readable."""
        with self._lock:
            threads = self._watches.stop()
        for thread in threads:
            thread.join()

    def catch_up(self, deadline: float, stop: threading.Event) -> None:
        """Block until what the API server has of the kind now is here, until an instant of the real
        monotonic clock at most; see ``catching_up.py``."""
        with self._lock:
            labels = self._readers.labels
        for namespace, informer in self.informers().items():
            catch_up(self.name, informer, self._headers(namespace, labels), deadline, stop)

    def informers(self) -> dict[str, SharedIndexInformer[Any]]:
        """Return the informers by namespace, for health and statistics."""
        with self._lock:
            return {namespace: watch.informer for namespace, watch in self._watches}

    # Reading: shared objects, which readers must not change

    def covers(self, namespace: str) -> bool:
        """Return True if objects of a namespace can be read here, or with ``""`` any at all."""
        with self._lock:
            watches = self._watches
            return "" in watches or (namespace in watches if namespace else bool(watches))

    def get(self, key: ObjectName, *, own_writes: bool = True) -> Any | None:
        """Return the newest known state of an object, or None."""
        return self.own_writes.newest(key) if own_writes else self.stored(key)

    def select(
        self,
        namespace: str = "",
        index: tuple[str, str] | None = None,
        *,
        own_writes: bool = True,
    ) -> list[Any]:
        """Return the newest known states in a namespace, or with ``""`` in all, ordered by key.

        ``index`` is the name of an index and the value to look up in it.
        """
        # Before the store is read: it only gets newer.
        written = self.own_writes.keys() if own_writes else ()
        found: dict[ObjectName, Any] = {}
        for informer in self._informers_for(namespace):
            objs = self.indexes.select(informer.indexer, namespace, index)
            found |= {ObjectName.of(obj): obj for obj in objs}
        for key in written:
            if namespace and key.namespace != namespace:
                continue
            newest = self.get(key)
            if newest is None or (index is not None and not self.indexes.has(newest, *index)):
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
        """Return the version that a namespace is known as of; 0 if nothing is."""
        for informer in self._informers_for(namespace):
            with self._versions:
                text = informer.indexer.last_store_sync_resource_version()
                version = parse_resource_version(text) or 0
                if version:
                    self.restarts += version < self._reached.get(informer, 0)
                    self._reached[informer] = version
            return version
        return 0

    # What this process does itself

    def wrote(self, obj: Any, writer: Hashable = None, sent: Any = None) -> None:
        """A write was acknowledged, with this object; see :class:`OwnWrites`."""
        metadata = metadata_of(obj)
        namespace = metadata.namespace or ""
        if not self.covers(namespace):
            return
        if not self.selects(obj):
            self.own_writes.left(obj)
            return
        scope = self.scope.of(namespace)
        cached = self._project(obj)
        if cached is None:
            return
        if scope.transform is not None:
            cached = scope.transform(cached)
        self.own_writes.wrote(cached, writer, sent)

    def deleted(self, obj: Any, version: str = "") -> None:
        """A deletion was acknowledged. ``obj`` need not be the newest state, nor have a uid.

        ``version`` is that of the deletion, if the API server said it.
        """
        key, uid = ObjectName.of(obj), metadata_of(obj).uid
        if bool(key.namespace) != self.resource.namespaced or not self.covers(key.namespace):
            return
        newest = self.get(key)
        if newest is None or (uid and metadata_of(newest).uid != uid) or _is_newer(obj, newest):
            newest = obj
        metadata = metadata_of(newest)
        if metadata.uid and not metadata.finalizers:
            self.own_writes.deleted(newest, version)

    def is_limited(self, namespace: str) -> bool:
        """Return True if a selector limits what is cached of a namespace."""
        return any(self._selectors(namespace))

    def selects(self, obj: Any) -> bool:
        """Return True if the selectors of what is cached match an object."""
        return is_selected(self.resource, obj, *self._selectors(metadata_of(obj).namespace or ""))

    def is_empty(self) -> bool:
        """Return True if nothing is cached yet."""
        return not any(informer.indexer.list_keys() for informer in self.informers().values())

    # Inside

    def _selectors(self, namespace: str) -> tuple[str, str, ShardSelector | None]:
        scope = self.scope.of(namespace)
        labels = ",".join(filter(None, (scope.labels, self._readers.labels)))
        return labels, scope.fields, scope.shard

    def _waiting_for(
        self, subscription: Subscription, *, optional: bool
    ) -> tuple[threading.Event, threading.Event] | None:
        """Return an event that a subscription is not synced before, and one after which it does
        not matter; None if it is synced."""
        with self._lock:
            for attached in subscription.attached.values():
                event = attached.awaited(optional=optional)
                if event is not None:
                    return event, attached.left
        return None

    def _recovered(self) -> None:
        with self._lock:
            handlers = tuple(self._recovery_handlers)
        for handler in handlers:
            handler()

    def _informers_for(self, namespace: str) -> list[SharedIndexInformer[Any]]:
        with self._lock:
            return self._watches.read_from(namespace)

    def _attach_locked(
        self, subscription: Subscription, namespace: str, *, shares: bool = True
    ) -> None:
        subscription.attached[namespace] = self._watches.attach(
            subscription.handler, namespace, self._readers.labels, shares=shares
        )

    def _detach_locked(
        self, subscription: Subscription, namespaces: NamespaceSet
    ) -> list[Attached]:
        leaving = [subscription.attached.pop(namespace) for namespace in namespaces]
        for attached in leaving:
            self._watches.detach(attached)
        return leaving


def _is_newer(obj: Any, other: Any) -> bool:
    one, two = (parse_resource_version(metadata_of(o).resource_version) for o in (obj, other))
    return (one or 0) > (two or 0)


_log = logging.getLogger("clientgo.operator.cache")


class Readers:
    """Not thread-safe: its cache's lock guards it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._readers: dict[str, Reader] = {}
        self.labels = ""
        """What all readers select by, so that the API server can do it."""

    def add(self, reader: Reader, *, is_watched: bool) -> None:
        """Take note of a reader. ``is_watched``: the labels cannot change any more.

        Raises ``DeclarationError`` if the cache runs with labels that this reader does not have.
        """
        readers = self._readers | {reader.name: reader}
        selections = {known.labels for known in readers.values()}
        labels = selections.pop() if len(selections) == 1 else ""
        if not is_watched:
            self.labels = labels
        elif self.labels and labels != self.labels:
            raise DeclarationError(
                f"{reader.name} watches {self._kind} with labels {reader.labels or '(none)'}, "
                f"but only those with {self.labels} are cached already, for "
                f"{', '.join(sorted(self._readers))}; declare it before the manager starts, "
                "or use the same labels"
            )
        self._readers = readers

    def names(self) -> str:
        """Name the sources: ``foo/secret`` is the source ``secret`` of the controller ``foo``."""
        return ", ".join(sorted(self._readers))

    def report_limits(self, scope: KindScope) -> None:
        """Log which objects are cached, and which sources expect more."""
        if limits := scope.limits(self.labels):
            _log.info("%s: only objects %s are cached, for %s", self._kind, limits, self.names())
        for reader in sorted(self._readers.values(), key=lambda reader: reader.name):
            if hidden := scope.hidden_from(reader):
                _log.warning(
                    "%s watches all %s, but its CacheScope limits the cache to objects %s: the "
                    "source does not see others; limit the source too, or widen the CacheScope",
                    reader.name,
                    self._kind,
                    hidden,
                )
