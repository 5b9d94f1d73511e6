"""The indexes of the objects of one kind, added before the start or while the cache runs.

An index function that raises costs only its object's place in that index; it is logged and counted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from clientgo.cache import (
    NAMESPACE_INDEX,
    Indexer,
    IndexFunc,
    SharedIndexInformer,
    meta_namespace_index,
)
from clientgo.meta import ObjectName, metadata_of

IndexFunction = Callable[[Any], Iterable[str]]

_log = logging.getLogger("clientgo.operator.cache")


class Indexes:
    """Thread-safe. ``informers`` returns those that run already."""

    def __init__(
        self, kind: str, informers: Callable[[], Iterable[SharedIndexInformer[Any]]]
    ) -> None:
        self._kind = kind
        self._informers = informers
        self._lock = threading.Lock()
        self._functions: dict[str, IndexFunc] = {}
        self._adding = threading.Lock()
        self._complete: set[str] = set()
        self.errors = 0
        """How often an index function raised."""

    def add(self, name: str, function: IndexFunction) -> None:
        guarded = self._guarded(function)
        with self._lock:
            self._functions[name] = guarded
        for informer in self._informers():
            informer.add_indexers({name: guarded})

    def ensure(self, name: str, function: IndexFunction) -> None:
        """Add an index unless it exists; blocks while another thread adds it."""
        if name in self._complete:
            return
        with self._adding:
            if name not in self._complete:
                self.add(name, function)
                self._complete.add(name)

    def names(self) -> list[str]:
        with self._lock:
            return sorted(self._functions)

    def for_informer(self) -> dict[str, IndexFunc]:
        """Return what a new informer indexes by."""
        with self._lock:
            return {**self._functions, NAMESPACE_INDEX: meta_namespace_index}

    def has(self, obj: Any, name: str, value: str) -> bool:
        """Return True if an object has a value in an index."""
        return value in self._functions[name](obj)

    def select(
        self, indexer: Indexer[Any], namespace: str, index: tuple[str, str] | None
    ) -> list[Any]:
        """Return the stored objects of a namespace, or with ``""`` of all, that have a value."""
        if index is None:
            return indexer.by_index(NAMESPACE_INDEX, namespace) if namespace else indexer.list()
        found = indexer.by_index(*index)
        return [obj for obj in found if not namespace or metadata_of(obj).namespace == namespace]

    def _guarded(self, function: IndexFunction) -> IndexFunc:
        def values(obj: Any) -> list[str]:
            try:
                return _listed(function(obj))
            except Exception as error:  # noqa: BLE001 - the object is kept, without this index
                self.errors += 1
                _log.error("%s: index of %s: %s", self._kind, ObjectName.of(obj), error)
                return []

        return values


def _listed(found: Iterable[str]) -> list[str]:
    """Return the values of an object. Raises ``TypeError`` for one text instead of a list."""
    if isinstance(found, str):
        raise TypeError(f"an index function returns a list of texts, not {found!r}")
    return list(found)
