"""The indexes of the objects of one kind, added before the start or while the cache runs.

An index function that raises costs only its object's place in that index; it is logged and counted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from clientgo.cache import Indexer, IndexFunc, SharedIndexInformer
from clientgo.meta import ObjectName, metadata_of

IndexFunction = Callable[[Any], Iterable[str]]

_BY_NAMESPACE: Final = "clientgo.operator/namespace"

_log = logging.getLogger("clientgo.operator.cache")


class Indexes:
    """Thread-safe. ``informers`` returns those that run already."""

    def __init__(
        self, kind: str, informers: Callable[[], Iterable[SharedIndexInformer[Any]]]
    ) -> None:
        self._kind = kind
        self._informers = informers
        self._lock = threading.Lock()
        self._functions: dict[str, IndexFunction] = {}
        self._adding = threading.Lock()
        self._complete: set[str] = set()
        self.errors = 0
        """How often an index function raised."""

    def add(self, name: str, function: IndexFunction) -> None:
        with self._lock:
            self._functions[name] = function
        for informer in self._informers():
            informer.add_indexers({name: self._with_namespaces(function)})

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
            functions = dict(self._functions)
        functions[_BY_NAMESPACE] = lambda _: ("",)
        return {name: self._with_namespaces(function) for name, function in functions.items()}

    def has(self, obj: Any, name: str, value: str) -> bool:
        """Return True if an object has a value in an index."""
        return value in self._values(self._functions[name], obj)

    def select(
        self, indexer: Indexer[Any], namespace: str, index: tuple[str, str] | None
    ) -> list[Any]:
        """Return the stored objects of a namespace, or with ``""`` of all, that have a value."""
        if index is not None:
            name, value = index
            return indexer.by_index(name, f"{namespace}/{value}")
        return indexer.by_index(_BY_NAMESPACE, f"{namespace}/") if namespace else indexer.list()

    def _values(self, function: IndexFunction, obj: Any) -> list[str]:
        try:
            return list(function(obj))
        except Exception as error:  # noqa: BLE001 - the object is kept, without this index
            self.errors += 1
            _log.error("%s: index of %s: %s", self._kind, ObjectName.of(obj), error)
            return []

    def _with_namespaces(self, function: IndexFunction) -> IndexFunc:
        """Index each value for all namespaces and for the object's own."""

        def values(obj: Any) -> list[str]:
            namespace = metadata_of(obj).namespace or ""
            own = [f"/{value}" for value in self._values(function, obj)]
            return own + [f"{namespace}{value}" for value in own] if namespace else own

        return values
