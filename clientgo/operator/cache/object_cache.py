"""All caches of a manager, by kind.

Promises that only what somebody declared is cached: a read of another kind is an error that says
what to declare, not an informer nobody knows of. One kind has one cache, whoever reads it; reads
return copies that the caller may change, unless the kind's scope says otherwise.

Source: controller-runtime pkg/cache, whose reads start informers in silence unless told not to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from clientgo.client import Client, ResourceListWatch, selecting
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import APIResource, ObjectName, deep_copy, metadata_of, resource_of
from clientgo.meta.label_selectors import Selector, parse_label_selector, selector_from_labels
from clientgo.operator.cache.kind_cache import IndexFunction, KindCache
from clientgo.operator.cache.scope import CacheScope
from clientgo.operator.errors import (
    CacheNotStartedError,
    DeclarationError,
    IndexNotFoundError,
    KindNotCachedError,
    NamespaceNotCachedError,
)

Kind: TypeAlias = type[Any] | APIResource
"""A declared class, or a resource type whose objects are unstructured."""

Projection: TypeAlias = Literal["full", "metadata"]


class ObjectCache:
    """The caches of one manager. Thread-safe."""

    def __init__(
        self,
        client: Client,
        *,
        default: CacheScope | None = None,
        by_kind: Mapping[Any, CacheScope] | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._client = client
        self._default = default or CacheScope()
        self._by_kind = {api_resource(kind).gvk: scope for kind, scope in (by_kind or {}).items()}
        self._clock = clock
        self._lock = threading.Lock()
        self._caches: dict[tuple[str, str], KindCache] = {}
        self._projections: dict[tuple[str, str], Projection] = {}
        self._types: dict[tuple[str, str], Any] = {}
        self._started = False

    # Declaring

    def declare(self, kind: Kind, projection: Projection = "full") -> KindCache:
        """The cache of a kind; from now on it may be read.

        Raises :class:`~clientgo.operator.errors.DeclarationError` if the kind is cached in another
        projection, or as another class.
        """
        resource = api_resource(kind)
        key = (resource.group, resource.kind or resource.plural)
        with self._lock:
            cache = self._caches.get(key)
            if cache is not None:
                self._check_same_locked(key, kind, projection)
                return cache
            cache = self._caches[key] = self._new(kind, resource, projection)
            self._projections[key], self._types[key] = projection, kind
            if self._started:
                cache.start()
            return cache

    def index(self, kind: Kind, name: str, function: IndexFunction) -> None:
        """Index the objects of a kind, so that lists can select by ``fields={name: value}``.

        Raises :class:`~clientgo.operator.errors.DeclarationError` if the name is taken.
        """
        cache = self.declare(kind)
        if name in cache.index_names():
            raise DeclarationError(f"{_name(kind)} has an index {name!r} already")
        cache.add_index(name, function)

    # Running

    def start(self) -> None:
        """Start every cache, those that are declared later too."""
        with self._lock:
            self._started = True
            caches = list(self._caches.values())
        for cache in caches:
            cache.start()

    def stop(self) -> None:
        """Stop all; blocks until every informer has ended."""
        with self._lock:
            caches = list(self._caches.values())
        for cache in caches:
            cache.stop()

    def caches(self) -> list[KindCache]:
        with self._lock:
            return list(self._caches.values())

    # Reading

    def find(self, kind: Kind, key: ObjectName) -> Any | None:
        """An object, or None. Raises what :meth:`cache_of` does."""
        cache = self.cache_of(kind, key.namespace)
        found = cache.get(key)
        return found if found is None or cache.scope.copy == "shared" else deep_copy(found)

    def select(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        labels: str | Mapping[str, str] | Selector | None = None,
        fields: Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> list[Any]:
        """Objects, ordered by namespace and name.

        ``fields`` selects by indexes, by value; ``limit`` counts what is selected. Raises what
        :meth:`cache_of` does, and :class:`~clientgo.operator.errors.IndexNotFoundError`.
        """
        cache = self.cache_of(kind, namespace)
        wanted = list((fields or {}).items())
        for name, _ in wanted:
            if name not in _METADATA_FIELDS and name not in cache.index_names():
                raise IndexNotFoundError(
                    f"{_name(kind)} has no index {name!r} (it has "
                    f"{', '.join(cache.index_names()) or 'none'}); declare it before the start "
                    f"with manager.index({_name(kind)}, {name!r}, ...)"
                )
        indexed = [pair for pair in wanted if pair[0] not in _METADATA_FIELDS]
        found = cache.select(namespace, indexed[0] if indexed else None)
        for name, value in indexed[1:]:
            found = [obj for obj in found if cache._has_value(obj, name, value)]
        for name, value in wanted:
            if name in _METADATA_FIELDS:
                found = [obj for obj in found if _METADATA_FIELDS[name](obj) == value]
        selector = _selector(labels)
        if selector is not None:
            found = [obj for obj in found if selector.matches(metadata_of(obj).labels or {})]
        if limit is not None:
            found = found[:limit]
        return found if cache.scope.copy == "shared" else [deep_copy(obj) for obj in found]

    def cache_of(self, kind: Kind, namespace: str = "") -> KindCache:
        """The cache to read objects of a namespace from, or with ``""`` of all.

        Raises :class:`~clientgo.operator.errors.CacheNotStartedError`, ``KindNotCachedError``,
        ``NamespaceNotCachedError``.
        """
        cache = self.peek(kind)
        if cache is None:
            raise KindNotCachedError(
                f"{_name(kind)} is not cached: declare it with owns, watches or "
                f"reads({_name(kind)}), or read it with client.live"
            )
        if not self._started:
            raise CacheNotStartedError(
                f"the cache of {_name(kind)} has not been started; read with client.live until "
                "the manager runs"
            )
        if not cache.covers(namespace if cache.resource.namespaced else ""):
            raise NamespaceNotCachedError(
                f"{_name(kind)} is not watched in {namespace or 'any namespace'} (but in "
                f"{', '.join(sorted(cache.informers())) or 'none'}); declare it with owns, watches "
                "or reads, or read it with client.live"
            )
        return cache

    def peek(self, kind: Kind) -> KindCache | None:
        """The cache of a kind if it is declared."""
        resource = api_resource(kind)
        with self._lock:
            return self._caches.get((resource.group, resource.kind or resource.plural))

    # Inside

    def _new(self, kind: Kind, resource: APIResource, projection: Projection) -> KindCache:
        scope = self._by_kind.get(resource.gvk, self._default)
        client = (
            self._client.metadata(kind) if projection == "metadata" else self._client.resource(kind)
        )
        tweak = selecting(labels=scope.labels, fields=scope.fields)

        def source(namespace: str) -> ResourceListWatch:
            selects = scope.labels or scope.fields
            return ResourceListWatch(client, namespace, tweak if selects else None)

        expected = client.type if projection == "metadata" or isinstance(kind, type) else None
        return KindCache(
            resource,
            expected if expected is not None else resource.gvk,
            source,
            scope,
            name=resource.group_resource,
            clock=self._clock,
        )

    def _check_same_locked(self, key: tuple[str, str], kind: Kind, projection: Projection) -> None:
        if self._projections[key] != projection:
            raise DeclarationError(
                f"{_name(kind)} is cached as {self._projections[key]} and as {projection}; two "
                "caches of a kind disagree: use one projection"
            )
        known = self._types[key]
        if isinstance(known, type) and isinstance(kind, type) and known is not kind:
            raise DeclarationError(
                f"{_name(kind)} is declared by two classes, {known.__module__}.{known.__name__} "
                f"and {kind.__module__}.{kind.__name__}; use one of them"
            )


_METADATA_FIELDS: Mapping[str, Callable[[Any], str]] = {
    "metadata.name": lambda obj: metadata_of(obj).name,
    "metadata.namespace": lambda obj: metadata_of(obj).namespace or "",
}


def api_resource(kind: Kind) -> APIResource:
    """Where a kind is served. Raises ``TypeError`` for a class that is not declared."""
    return kind if isinstance(kind, APIResource) else resource_of(kind)


def _name(kind: Kind) -> str:
    return kind.kind if isinstance(kind, APIResource) else kind.__name__


def _selector(labels: str | Mapping[str, str] | Selector | None) -> Selector | None:
    if labels is None or isinstance(labels, Selector):
        return labels
    return parse_label_selector(labels) if isinstance(labels, str) else selector_from_labels(labels)
