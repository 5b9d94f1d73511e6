"""All caches of a manager, by kind.

Promises that only declared kinds are cached: a read of another kind is an error that says what to
declare. All readers share one cache of a kind. Reads return copies, unless the kind's scope says
otherwise.

Source: controller-runtime pkg/cache, whose reads start informers without a message by default.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from clientgo.cache import ResourceEventHandler
from clientgo.client import Client, ResourceListWatch, selecting
from clientgo.meta import (
    APIResource,
    Codec,
    ObjectName,
    PartialObjectMetadata,
    Unstructured,
    deep_copy,
    encode_plain,
    metadata_of,
    resource_of,
    to_plain,
)
from clientgo.meta.selectors import Selector
from clientgo.observe.metrics import MetricsProvider
from clientgo.operator.cache.indexes import IndexFunction
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.scope import (
    EVERYWHERE,
    CacheScope,
    Reader,
    is_selected,
    kind_scope,
)
from clientgo.operator.errors import (
    CacheNotStartedError,
    CacheSyncTimeoutError,
    DeclarationError,
    IndexNotFoundError,
    KindNotCachedError,
    NamespaceNotCachedError,
)
from clientgo.operator.settings.labels import selector_of
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

Kind: TypeAlias = type[Any] | APIResource
"""A declared class, or a resource type whose objects are unstructured."""

Projection: TypeAlias = Literal["full", "metadata"]

IMPLICIT_TIMEOUT: Final = 120.0
"""Seconds that a read waits for the first list of a kind that is not declared."""


_CacheName: TypeAlias = tuple[str, str]
"""A group and a kind; its version does not matter."""


@uncopyable("it has locks; make one in each process")
class ObjectCache:
    """The caches of one manager. Thread-safe.

    With ``duplicates`` a kind may be cached whole and by its metadata; reads are of the whole then.
    With ``implicit`` a read of an undeclared kind begins to cache it, and waits for that.
    ``on_crash`` is called with what an informer does not recover from.
    """

    def __init__(
        self,
        client: Client,
        *,
        default: CacheScope | None = None,
        by_kind: Mapping[Any, CacheScope] | None = None,
        duplicates: bool = False,
        implicit: bool = False,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        on_crash: Callable[[BaseException], object] | None = None,
    ) -> None:
        self._client = client
        self._default = default or CacheScope()
        self._by_kind = {api_resource(kind).gvk: scope for kind, scope in (by_kind or {}).items()}
        self._duplicates = duplicates
        self._implicit = implicit
        self._metrics = metrics
        self._clock = clock
        self._on_crash = on_crash
        self._lock = threading.Lock()
        self._caches: dict[_CacheName, dict[Projection, KindCache]] = {}
        self._types: dict[_CacheName, Any] = {}
        self._readable: set[_CacheName] = set()
        """Kinds that were declared, or are filled because they were read."""
        self._filling = threading.Lock()
        self._started = False

    # Declaring

    def declare(
        self, kind: Kind, projection: Projection = "full", reader: Reader | None = None
    ) -> KindCache:
        """Return the cache of a kind; from now on it may be read, and is filled for ``reader``.

        Raises ``DeclarationError`` if the kind is cached in another projection, as another class,
        or already with labels that the reader does not have.
        """
        cache = self._declare(kind, projection)
        if reader is not None:
            cache.declare(reader)
        self._readable.add(_cache_name(kind))
        return cache

    def index(self, kind: Kind, name: str, function: IndexFunction) -> None:
        """Index the objects of a kind, so that lists can select by ``fields={name: value}``.

        Raises ``DeclarationError`` if the name is taken, and once something is cached.
        """
        cache = self._declare(kind, "full")
        if self._started and not cache.is_empty():
            raise DeclarationError(
                f"declare index {name!r} of {_name(kind)} before the manager is started"
            )
        if name in cache.indexes.names():
            raise DeclarationError(f"{_name(kind)} has an index {name!r} already")
        cache.indexes.add(name, function)

    # Running

    def start(self) -> None:
        """Start every cache, those that are declared later too."""
        with self._lock:
            self._started = True
        for cache in self.caches():
            cache.start()

    def stop(self) -> None:
        """Stop all; blocks until every informer has ended."""
        for cache in self.caches():
            cache.stop()

    def caches(self) -> list[KindCache]:
        with self._lock:
            return [cache for caches in self._caches.values() for cache in caches.values()]

    # Reading

    def find(self, kind: Kind, key: ObjectName, *, own_writes: bool = True) -> Any | None:
        """Return an object, or None. Raises what :meth:`cache_of` does."""
        cache = self.cache_of(kind, key.namespace)
        found = cache.get(key, own_writes=own_writes)
        return found if found is None or cache.shares else deep_copy(found)

    def select(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        labels: str | Mapping[str, str] | Selector | None = None,
        fields: Mapping[str, str] | None = None,
        limit: int | None = None,
        own_writes: bool = True,
    ) -> list[Any]:
        """Return objects, ordered by namespace and name.

        ``fields`` selects by indexes; ``limit`` counts what is selected. Raises what
        :meth:`cache_of` does, and ``IndexNotFoundError``.
        """
        cache = self.cache_of(kind, namespace)
        wanted = list((fields or {}).items())
        for name, _ in wanted:
            if name not in _METADATA_FIELDS and name not in cache.indexes.names():
                raise IndexNotFoundError(
                    f"{_name(kind)} has no index {name!r} (it has "
                    f"{', '.join(cache.indexes.names()) or 'none'}); declare it before the start "
                    f"with manager.index({_name(kind)}, {name!r}, ...)"
                )
        indexed = [pair for pair in wanted if pair[0] not in _METADATA_FIELDS]
        index = indexed[0] if indexed else None
        found = cache.select(namespace, index, own_writes=own_writes)
        for name, value in indexed[1:]:
            found = [obj for obj in found if cache.indexes.has(obj, name, value)]
        for name, value in wanted:
            if name in _METADATA_FIELDS:
                found = [obj for obj in found if _METADATA_FIELDS[name](obj) == value]
        selector = None if labels is None else selector_of(labels)
        if selector is not None:
            found = [obj for obj in found if selector.matches(metadata_of(obj).labels or {})]
        if limit is not None:
            found = found[:limit]
        return found if cache.shares else [deep_copy(obj) for obj in found]

    def cache_of(self, kind: Kind, namespace: str = "") -> KindCache:
        """Return the cache to read objects of a namespace from, or with ``""`` of all.

        Raises ``CacheNotStartedError``, ``KindNotCachedError``, ``NamespaceNotCachedError``.
        """
        cache = self.peek(kind)
        if self._implicit and self._started and _cache_name(kind) not in self._readable:
            return self._cached_from_now_on(kind)
        if cache is None:
            raise KindNotCachedError(
                f"{_name(kind)} is not cached: declare it, with owns=[{_name(kind)}], "
                f"sources=[watch({_name(kind)}, ...)] or reads=[{_name(kind)}], or read it with "
                "client.live"
            )
        if not self._started:
            raise CacheNotStartedError(
                f"the cache of {_name(kind)} has not been started; read with client.live until "
                "the manager runs"
            )
        if not cache.covers(namespace if cache.resource.namespaced else ""):
            raise NamespaceNotCachedError(
                f"{_name(kind)} is not watched in {namespace or 'any namespace'} (but in "
                f"{', '.join(sorted(cache.informers())) or 'none'}); add the namespace to "
                "namespaces=..., or read it with client.live"
            )
        return cache

    def peek(self, kind: Kind) -> KindCache | None:
        """Return the cache of a kind if it is declared; of two that of whole objects."""
        with self._lock:
            caches = self._caches.get(_cache_name(kind), {})
            return caches.get("full") or caches.get("metadata")

    # What this process writes

    @contextmanager
    def writing(self, kind: Kind, writer: Hashable) -> Iterator[None]:
        """Note that a request by ``writer`` is under way; see :class:`OwnWrites`."""
        with ExitStack() as stack:
            for cache in self._caches_of(kind) if writer is not None else ():
                stack.enter_context(cache.own_writes.writing(writer))
            yield

    def partial(self, kind: Kind, obj: Any) -> Any | None:
        """What a transform has left of an object, if that is where this one was read from."""
        cache = self.peek(kind)
        key, metadata = ObjectName.of(obj), metadata_of(obj)
        if cache is None or cache.scope.of(key.namespace).transform is None:
            return None
        found = cache.get(key) if cache.covers(key.namespace) else None
        if found is None or metadata_of(found).resource_version != metadata.resource_version:
            return None
        return found

    def wrote(self, kind: Kind, obj: Any, writer: Hashable, sent: Any = None) -> None:
        """A write was acknowledged, with this object; see :meth:`OwnWrites.wrote`."""
        for cache in self._caches_of(kind):
            cache.wrote(obj, writer, sent)

    def deleted(self, kind: Kind, obj: Any, version: str = "") -> None:
        """A deletion was acknowledged, with its version if the API server said it."""
        for cache in self._caches_of(kind):
            cache.deleted(obj, version)

    def selected(self, kind: Kind, namespace: str, labels: str, fields: str) -> list[Any]:
        """Return the cached objects that the API server would select; shared, of each cache."""
        return [
            obj
            for cache in self._caches_of(kind)
            for obj in (cache.select(namespace) if cache.covers(namespace) else ())
            if is_selected(cache.resource, obj, labels, fields)
        ]

    # Inside

    def _caches_of(self, kind: Kind) -> list[KindCache]:
        with self._lock:
            return list(self._caches.get(_cache_name(kind), {}).values())

    def _declare(self, kind: Kind, projection: Projection) -> KindCache:
        name = _cache_name(kind)
        with self._lock:
            caches = self._caches.setdefault(name, {})
            self._check_same_locked(name, kind, projection)
            cache = caches.get(projection)
            if cache is None:
                cache = caches[projection] = self._new(kind, api_resource(kind), projection)
                self._types.setdefault(name, kind)
                if self._started:
                    cache.start()
            return cache

    def _cached_from_now_on(self, kind: Kind) -> KindCache:
        with self._filling:
            cache = self._declare(kind, "full")
            if _cache_name(kind) in self._readable:
                return cache
            subscription = cache.subscribe(ResourceEventHandler(), EVERYWHERE)
            if not cache.wait_synced(subscription, IMPLICIT_TIMEOUT):
                trouble = cache.trouble(subscription)
                cache.unsubscribe(subscription)
                raise CacheSyncTimeoutError(
                    f"{_name(kind)} is read but not declared, and was not listed within "
                    f"{IMPLICIT_TIMEOUT:g} s: {trouble}"
                )
            self._readable.add(_cache_name(kind))
            return cache

    def _new(self, kind: Kind, resource: APIResource, projection: Projection) -> KindCache:
        scope = kind_scope(
            self._default,
            self._by_kind.get(resource.gvk),
            namespaced=resource.namespaced,
            kind=_name(kind),
        )
        client = (
            self._client.metadata(kind) if projection == "metadata" else self._client.resource(kind)
        )

        def source(namespace: str, labels: str, objects: Any = client) -> ResourceListWatch:
            of_it = scope.of(namespace)
            labels = ",".join(filter(None, (of_it.labels, labels)))
            fields = [of_it.fields] if of_it.fields else []
            if not namespace:
                fields += [f"metadata.namespace!={name}" for name in sorted(scope.named)]
            shard = of_it.shard or ""
            tweak = selecting(labels=labels, fields=",".join(fields), shard=shard)
            selects = labels or fields or shard
            return ResourceListWatch(objects, namespace, tweak if selects else None)

        expected = client.type if projection == "metadata" or isinstance(kind, type) else None
        return KindCache(
            resource,
            expected if expected is not None else resource.gvk,
            source,
            scope,
            headers=partial(source, objects=self._client.metadata(kind)),
            name=resource.group_resource,
            project=_header if projection == "metadata" else partial(_as_cached, client.type),
            is_projected=projection == "metadata",
            metrics=self._metrics,
            clock=self._clock,
            on_crash=self._on_crash,
        )

    def _check_same_locked(self, name: _CacheName, kind: Kind, projection: Projection) -> None:
        others = [other for other in self._caches[name] if other != projection]
        if others and not self._duplicates:
            raise DeclarationError(
                f"{_name(kind)} is cached as {others[0]} and as {projection}; two caches of a kind "
                "may disagree: use one projection, or set allow_duplicate_projection"
            )
        known = self._types.get(name)
        if isinstance(known, type) and isinstance(kind, type) and known is not kind:
            raise DeclarationError(
                f"{_name(kind)} is declared by two classes, {known.__module__}.{known.__name__} "
                f"and {kind.__module__}.{kind.__name__}; use one of them"
            )


def _cache_name(kind: Kind) -> _CacheName:
    resource = api_resource(kind)
    return resource.group, resource.kind or resource.plural


def _header(obj: Any) -> PartialObjectMetadata:
    """What a cache of metadata would have of an object."""
    header: PartialObjectMetadata = PartialObjectMetadata(metadata=metadata_of(obj))
    return deep_copy(header)


def _as_cached(cached: type[Any], obj: Any) -> Any | None:
    """What a cache of a type would have of an object, which another type may have written; None for
    one in another version. It is a copy, because the caller may change what a write returned."""
    if type(obj) is cached:
        return deep_copy(obj)
    plain = to_plain(obj)
    if cached is Unstructured:
        return Unstructured.from_dict(plain)
    if plain.get("apiVersion") != resource_of(cached).api_version:
        return None
    return Codec(cached).decode(encode_plain(plain))


_METADATA_FIELDS: Mapping[str, Callable[[Any], str]] = {
    "metadata.name": lambda obj: metadata_of(obj).name,
    "metadata.namespace": lambda obj: metadata_of(obj).namespace or "",
}


def api_resource(kind: Kind) -> APIResource:
    """Where a kind is served. Raises ``TypeError`` for a class that is not declared."""
    return kind if isinstance(kind, APIResource) else resource_of(kind)


def _name(kind: Kind) -> str:
    return kind.kind if isinstance(kind, APIResource) else kind.__name__
