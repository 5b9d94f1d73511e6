"""The objects of one kind, as far as somebody watches them.

Promises: one informer for each watched namespace, or one for all; however many subscribe to a
namespace it is listed and watched once, and no longer when the last has left; a subscriber is told
of every object in its namespaces, and may change these while everything runs.

Does not promise anything about namespaces that nobody subscribed to.

Source: controller-runtime pkg/cache; Java Operator SDK InformerManager.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from clientgo.cache import (
    IndexFunc,
    ListerWatcher,
    Registration,
    ResourceEventHandler,
    SharedIndexInformer,
    last_known_state,
)
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import APIResource, ObjectName, metadata_of
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import EVERYWHERE, CacheScope, NamespaceSet

IndexFunction = Callable[[Any], Iterable[str]]

_log = logging.getLogger("clientgo.operator.cache")


@dataclass(eq=False, slots=True)
class _Watched:
    """One informer; ``users`` subscriptions are told by it."""

    informer: SharedIndexInformer[Any]
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    users: int = 0


class Subscription:
    """One handler and the namespaces that it is told of; :meth:`KindCache.subscribe` makes it."""

    def __init__(self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet) -> None:
        self.handler = handler
        self.namespaces = namespaces
        self._registrations: dict[str, tuple[_Watched, Registration]] = {}
        """By namespace: the informer that tells of it, and how it was told to."""


class KindCache:
    """See the module; thread-safe. ``source`` gives what lists and watches a namespace."""

    def __init__(
        self,
        resource: APIResource,
        expected: Any,
        source: Callable[[str], ListerWatcher[Any]],
        scope: CacheScope,
        *,
        name: str,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.resource = resource
        self.scope = scope
        self.own_writes = OwnWrites(name, clock=clock)
        self.name = name
        self._expected = expected
        self._source = source
        self._clock = clock
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}
        self._indexes: dict[str, IndexFunction] = {}
        self._subscriptions: list[Subscription] = []
        self._started = False
        self.index_errors = 0

    # Subscribing

    def subscribe(
        self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet
    ) -> Subscription:
        """Tell a handler of the objects in namespaces, from when the cache is started on."""
        subscription = Subscription(handler, namespaces)
        with self._lock:
            self._subscriptions.append(subscription)
            for namespace in namespaces:
                self._attach_locked(subscription, namespace)
        return subscription

    def change(self, subscription: Subscription, namespaces: NamespaceSet) -> None:
        """Tell the handler of other namespaces from now on; of what is lost it is not told.

        Does not wait for the objects of new namespaces: :meth:`wait_synced` does.
        """
        with self._lock:
            for namespace in namespaces - subscription.namespaces:
                self._attach_locked(subscription, namespace)
            leaving = [
                self._detach_locked(subscription, namespace)
                for namespace in subscription.namespaces - namespaces
            ]
            subscription.namespaces = namespaces
        _end(leaving)

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
        _end(leaving)

    def is_synced(self, subscription: Subscription) -> bool:
        """Whether the handler has been told of everything that was there."""
        with self._lock:
            registrations = list(subscription._registrations.values())
        return all(
            watched.informer.has_synced() and registration.has_synced()
            for watched, registration in registrations
        )

    def wait_synced(self, subscription: Subscription, timeout: float) -> bool:
        """Block until :meth:`is_synced`, for at most so many seconds of real time."""
        with self._lock:
            registrations = [
                registration for _, registration in subscription._registrations.values()
            ]
        deadline = time.monotonic() + timeout
        return all(
            registration.has_synced_checker().done.wait(max(deadline - time.monotonic(), 0.0))
            for registration in registrations
        )

    # Running

    def start(self) -> None:
        """Run the informers, those that come later too. Idempotent."""
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
        stored = None
        for informer in self._informers_for(key.namespace):
            stored = informer.indexer.get_by_key(str(key))
        return self.own_writes.laid_over(key, stored)

    def select(self, namespace: str = "", index: tuple[str, str] | None = None) -> list[Any]:
        """The newest known states in a namespace, or with ``""`` in all, ordered by key.

        ``index`` is the name of an index and the value to look up in it.
        """
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
        newest = self.own_writes.laid_over_all(found)
        chosen = (
            obj
            for key, obj in newest.items()
            if (not namespace or key.namespace == namespace)
            and (index is None or self._has_value(obj, *index))
        )
        return sorted(chosen, key=ObjectName.of)

    # Indexes

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index, before the start or while running."""
        with self._lock:
            self._indexes[name] = function
            informers = [watched.informer for watched in self._watched.values()]
        for informer in informers:
            informer.add_indexers({name: self._index_func(function)})

    def index_names(self) -> list[str]:
        with self._lock:
            return sorted(self._indexes)

    def _has_value(self, obj: Any, name: str, value: str) -> bool:
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
            everywhere = self._watched.get("")
            narrow = self._watched.get(namespace) if namespace else None
            if everywhere is not None and (narrow is None or everywhere.informer.has_synced()):
                return [everywhere.informer]
            if namespace:
                return [narrow.informer] if narrow is not None else []
            return [watched.informer for watched in self._watched.values()]

    def _attach_locked(self, subscription: Subscription, namespace: str) -> None:
        watched = self._watched.get("") or self._watched.get(namespace)
        if watched is None:
            watched = self._watched[namespace] = self._new_watched_locked(namespace)
        watched.users += 1
        handler = subscription.handler
        if namespace and self._watched.get("") is watched:
            handler = _InNamespace(handler, namespace)
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

    def _new_watched_locked(self, namespace: str) -> _Watched:
        indexers = {name: self._index_func(index) for name, index in self._indexes.items()}
        indexers[_BY_NAMESPACE] = self._index_func(lambda _: ("",))
        informer: SharedIndexInformer[Any] = SharedIndexInformer(
            self._source(namespace),
            self._expected,
            name=f"informer-{self.name}{'-' + namespace if namespace else ''}",
            indexers=indexers,
            transform=self.scope.transform,
            clock=self._clock,
        )
        informer.add_event_handler(_Deletions(self.own_writes))
        return _Watched(informer)

    def _run_locked(self, watched: _Watched) -> None:
        if watched.thread is None:
            watched.thread = threading.Thread(
                target=watched.informer.run,
                args=(watched.stop,),
                name=watched.informer.name,
                daemon=True,
            )
            watched.thread.start()


_BY_NAMESPACE = "clientgo.operator/namespace"


class _InNamespace(ResourceEventHandler[Any]):
    """Passes on what happens in one namespace, of an informer that watches all."""

    def __init__(self, handler: ResourceEventHandler[Any], namespace: str) -> None:
        self._handler = handler
        self._namespace = namespace

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        if metadata_of(obj).namespace == self._namespace:
            self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        if metadata_of(new).namespace == self._namespace:
            self._handler.on_update(old, new)

    def on_delete(self, obj: Any) -> None:
        state = last_known_state(obj)
        if state is None or metadata_of(state).namespace == self._namespace:
            self._handler.on_delete(obj)


class _Deletions(ResourceEventHandler[Any]):
    """Tells the own writes what is gone."""

    def __init__(self, own_writes: OwnWrites) -> None:
        self._own_writes = own_writes

    def on_delete(self, obj: Any) -> None:
        state = last_known_state(obj)
        if state is not None:
            self._own_writes.saw_deletion(state)


def _end(leaving: list[tuple[_Watched, Registration, bool]]) -> None:
    """Outside of the lock, because it waits for handlers."""
    for watched, registration, unused in leaving:
        watched.informer.shut_down_event_handler(registration)
        if unused:
            watched.stop.set()
            if watched.thread is not None:
                watched.thread.join()


__all__ = ["EVERYWHERE", "KindCache", "Subscription"]
