"""Reads a cache in the way in which one reads the API: list by selector, get by name.

Never contacts the server. Objects are those of the cache: :func:`~clientgo.meta.deep_copy` returns
a copy to change. Lists have no order.

Differs from client-go (``tools/cache`` listers): one generic class serves every type and both
scopes, and "not found" names the namespace.
"""

from __future__ import annotations

import builtins
import logging
from typing import Generic, Protocol, TypeVar

from clientgo.cache.store.indexer import ViewedIndexer
from clientgo.cache.store.keys import NAMESPACE_INDEX, meta_namespace_index
from clientgo.cache.store.store import UnknownIndexError
from clientgo.meta import APIResource, NotFoundError, ObjectName, Selector, StatusError, labels_of
from clientgo.util.copies import uncopyable

T = TypeVar("T")

_log = logging.getLogger("clientgo.cache")


class ListedStore(Protocol[T]):
    """The part of a store that a lister reads."""

    def list(self) -> builtins.list[T]: ...

    def get_by_key(self, key: str) -> T | None: ...

    def by_index(self, name: str, value: str) -> builtins.list[T]: ...


@uncopyable("it has locks; make one in each process")
class Lister(Generic[T]):
    """Objects of one resource from a cache; of one namespace if ``namespace`` is not empty.

    ::

        lister = Lister(indexer, resource_of(Foo))
        lister.list(parse_label_selector("app=web"))
        lister.namespace("default").get("foo-1")
        lister.namespace("default").find("foo-1") is None

    Thread-safe; no call blocks longer than copying the result takes.
    """

    __slots__ = ("_namespace", "_resource", "_store")

    def __init__(self, store: ListedStore[T], resource: APIResource, namespace: str = "") -> None:
        self._store = store
        self._resource = resource
        self._namespace = namespace

    def namespace(self, namespace: str) -> Lister[T]:
        """Return the lister of one namespace; of all namespaces if it is empty."""
        return Lister(self._store, self._resource, namespace)

    def list(self, selector: Selector | None = None) -> builtins.list[T]:
        """Return the objects that the label selector matches; all objects without one.

        Raises :class:`~clientgo.meta.NoMetadataError` for an object without metadata, if labels
        are compared.
        """
        if isinstance(selector, str):
            raise TypeError(f"pass a parsed selector: parse_label_selector({selector!r})")
        return list_by_namespace(self._store, self._namespace, selector)

    def get(self, name: str) -> T:
        """Return the object with a name; without a namespace, a cluster-scoped one.

        Raises :class:`~clientgo.meta.NotFoundError`; :meth:`find` returns None instead.
        """
        obj = self.find(name)
        if obj is None:
            raise self._not_found(name)
        return obj

    def find(self, name: str) -> T | None:
        """Return the object with a name, or None if the cache has none."""
        return self._store.get_by_key(str(ObjectName(self._namespace, name)))

    def _not_found(self, name: str) -> StatusError:
        where = f" in namespace {self._namespace!r}" if self._namespace else ""
        return NotFoundError.of(
            f'{self._resource.group_resource} "{name}" not found{where}',
            name=name,
            kind=self._resource.plural,
            group=self._resource.group,
        )


def list_all(store: ListedStore[T], selector: Selector | None = None) -> list[T]:
    """Return the stored objects that a label selector matches.

    Reads labels only if they matter, and does not read the store if nothing can match.
    """
    if selector is not None and selector.matches_nothing:
        return []
    if isinstance(store, ViewedIndexer):
        return [store.view(obj) for obj in list_all(store.stored, selector)]
    return _matching(store.list(), selector)


def list_by_namespace(
    store: ListedStore[T], namespace: str, selector: Selector | None = None
) -> list[T]:
    """Return the stored objects of a namespace (empty: of all) that a selector matches.

    Uses the index :data:`~clientgo.cache.NAMESPACE_INDEX`; without it, reads all objects and logs
    a warning.
    """
    if not namespace:
        return list_all(store, selector)
    if selector is not None and selector.matches_nothing:
        return []
    if isinstance(store, ViewedIndexer):
        return [store.view(obj) for obj in list_by_namespace(store.stored, namespace, selector)]
    try:
        objs = store.by_index(NAMESPACE_INDEX, namespace)
    except UnknownIndexError:
        _log.warning(
            "Listing namespace %r reads all objects: register the index %r",
            namespace,
            NAMESPACE_INDEX,
        )
        objs = [obj for obj in store.list() if namespace in meta_namespace_index(obj)]
    return _matching(objs, selector)


def _matching(objs: list[T], selector: Selector | None) -> list[T]:
    if selector is None or selector.empty:
        return objs
    matches = selector.matches
    return [obj for obj in objs if matches(labels_of(obj))]
