"""A store that computes the keys of its objects itself, with indexes to find them.

Differs from client-go (``tools/cache`` Indexer, NewStore, NewIndexer): one class is both. ``get``
returns the object or ``None``. :meth:`Indexer.apply` returns what each change replaced.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from clientgo.cache.store.changes import Delta, DeltaType
from clientgo.cache.store.keys import (
    IndexFunc,
    KeyFunc,
    KeyFuncError,
    deletion_handling_meta_namespace_key,
)
from clientgo.cache.store.resource_versions import version_of
from clientgo.cache.store.store import IndexFuncError, StoreStatistics, TransactionError
from clientgo.cache.store.thread_safe_store import ThreadSafeStore
from clientgo.observe.metrics import Gauge
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import refuse_in_child

_log = logging.getLogger("clientgo.cache.store")

T = TypeVar("T")

SLOW_CHANGE: Final = 0.5
"""Seconds for each change of a batch after which the batch is slow, as in client-go."""

SLOW_BATCH: Final = 5.0
"""Seconds after which any batch is slow, as in client-go."""


@uncopyable("it has locks; make one in each process")
class Indexer(Generic[T]):
    """A store and its indexes. Thread-safe; no call blocks longer than a copy takes.

    Set ``tracks_resource_version`` to False if changes don't arrive in the
    order of their resource versions, as from a DeltaFIFO: the content then has no single version.
    ``version_gauge`` reports that version.
    """

    def __init__(
        self,
        key_func: KeyFunc = deletion_handling_meta_namespace_key,
        indexers: Mapping[str, IndexFunc] | None = None,
        *,
        tracks_resource_version: bool = True,
        version_gauge: Gauge | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._clock = clock
        self._key_func = key_func
        self._tracks_resource_version = tracks_resource_version
        self._storage: ThreadSafeStore[T] = ThreadSafeStore(
            indexers, version_gauge=version_gauge if tracks_resource_version else None
        )

    def refuse_in_child(self, what: str, *, advice: str) -> None:
        """Make every use in a forked child raise: nothing updates the content there."""
        refuse_in_child(self, what, "_storage", advice=advice)

    def add(self, obj: T) -> None:
        """Store an object, whether its key is new or not.

        Raises :class:`~clientgo.cache.KeyFuncError` or
        :class:`~clientgo.cache.IndexFuncError`; then nothing is stored.
        """
        self._storage.apply([self._key_of(obj)], [obj], version_of(obj))

    def update(self, obj: T) -> None:
        """Do the same as :meth:`add`."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Remove what has the key of an object or tombstone, if there is anything.

        Raises :class:`~clientgo.cache.KeyFuncError`.
        """
        self._storage.apply([self._key_of(obj)], [None], version_of(obj))

    def apply(self, changes: Sequence[Delta]) -> builtins.list[T | Exception | None]:
        """Make several changes under one acquisition of the lock, in order.

        Returns for each change the object that was stored before, ``None`` if there was none, or
        the exception that refused the change: :class:`~clientgo.cache.KeyFuncError` or
        :class:`~clientgo.cache.IndexFuncError`. The resource version of the store becomes
        that of the last change. A slow batch is logged.
        """
        if not changes:
            return []
        started = self._clock.monotonic()
        try:
            return list(self._apply_all(changes))
        except (KeyFuncError, IndexFuncError):
            return self._apply_sound(changes)
        finally:
            took = self._clock.monotonic() - started
            if took > min(len(changes) * SLOW_CHANGE, SLOW_BATCH):
                _log.warning(
                    "%d changes of a store took %.1f s; its key and index functions must be quick",
                    len(changes),
                    took,
                )

    def transaction(self, operations: Sequence[Delta]) -> None:
        """Like :meth:`apply`; raises :class:`~clientgo.cache.TransactionError` if some
        operations failed."""
        results = self.apply(operations)
        errors = [result for result in results if isinstance(result, Exception)]
        if errors:
            succeeded = [
                index for index, result in enumerate(results) if not isinstance(result, Exception)
            ]
            raise TransactionError(succeeded, len(operations), errors)

    def replace(
        self, objs: Sequence[T], resource_version: str, unknown: Collection[str] = ()
    ) -> None:
        """Make ``objs`` the whole content; of objects with the same key the last one stays.

        What is stored under the keys ``unknown`` stays as well: it exists, in a state that could
        not be read. Raises like :meth:`add`; then the content is as before.
        """
        items = {self._key_of(obj): obj for obj in objs}
        for key in unknown:
            known = self.get_by_key(key)
            if known is not None:
                items.setdefault(key, known)
        self._storage.replace(items, resource_version)

    def get(self, obj: Any) -> T | None:
        """Return what is stored under the key of ``obj``, or ``None``. Raises
        :class:`~clientgo.cache.KeyFuncError`."""
        return self._storage.get(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        """Return what is stored under a key, or ``None``."""
        return self._storage.get(key)

    def list(self) -> builtins.list[T]:
        """Return all objects at one instant, in no particular order."""
        return self._storage.list()

    def list_keys(self) -> builtins.list[str]:
        """Return all keys at one instant, in no particular order."""
        return self._storage.list_keys()

    def index(self, name: str, obj: Any) -> builtins.list[T]:
        """Return the stored objects that share an index value with ``obj``, each once.

        Raises :class:`~clientgo.cache.UnknownIndexError`, and what the index function raises
        for ``obj``.
        """
        return self._storage.index(name, obj)

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """Return the stored objects with an index value, in no particular order.

        Raises :class:`~clientgo.cache.UnknownIndexError`.
        """
        return self._storage.by_index(name, value)

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """Return the sorted keys of the objects with an index value.

        Raises :class:`~clientgo.cache.UnknownIndexError`.
        """
        return self._storage.index_keys(name, value)

    def list_index_func_values(self, name: str) -> builtins.list[str]:
        """Return the values that at least one object has; none for an unknown index."""
        return self._storage.list_index_func_values(name)

    def get_indexers(self) -> dict[str, IndexFunc]:
        """Return a copy of the index functions by name."""
        return self._storage.get_indexers()

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Register indexes; when the call returns they cover all stored objects.

        Raises :class:`~clientgo.cache.IndexConflictError` if one of the names is taken and
        :class:`~clientgo.cache.IndexFuncError` if a function fails for a stored object; then
        nothing is registered.
        """
        self._storage.add_indexers(indexers)

    def resync(self) -> None:
        """Do nothing: a store is not a queue."""

    def bookmark(self, resource_version: str) -> None:
        """Note that the content is as of ``resource_version``."""
        self._storage.bookmark(resource_version)

    def last_store_sync_resource_version(self) -> str:
        """Return the resource version of the content; empty if it is not tracked."""
        if not self._tracks_resource_version:
            return ""
        return self._storage.last_store_sync_resource_version()

    def wait_until_version(self, resource_version: str, timeout: float) -> bool:
        """Block until the content is as new as ``resource_version``, for example that of a write.

        Return False after ``timeout`` real seconds. Raises ``ValueError`` for a version that is
        not a number, ``RuntimeError`` if the store tracks no version.
        """
        if not self._tracks_resource_version:
            raise RuntimeError(
                "this store has no single resource version, because its changes do not arrive in"
                " the server's order; run the informer on REAL_FIFO to wait for a version"
            )
        return self._storage.wait_until_version(resource_version, timeout)

    def statistics(self) -> StoreStatistics:
        return self._storage.statistics()

    def _apply_all(self, changes: Sequence[Delta]) -> builtins.list[T | None]:
        key_func, deleted = self._key_func, DeltaType.DELETED
        try:
            keys = [key_func(change.object) for change in changes]
        except Exception as error:
            raise KeyFuncError(changes, error) from error
        objs = [None if change.type is deleted else change.object for change in changes]
        return self._storage.apply(keys, objs, version_of(changes[-1].object))

    def _apply_sound(self, changes: Sequence[Delta]) -> builtins.list[T | Exception | None]:
        failures = [self._failure_of(change.type, change.object) for change in changes]
        sound = [
            change for change, failure in zip(changes, failures, strict=True) if failure is None
        ]
        found = iter(self._apply_all(sound) if sound else ())
        return [next(found) if failure is None else failure for failure in failures]

    def _failure_of(self, kind: DeltaType, obj: Any) -> Exception | None:
        try:
            key = self._key_of(obj)
            if kind is not DeltaType.DELETED:
                self._storage.check(key, obj)
        except (KeyFuncError, IndexFuncError) as error:
            return error
        return None

    def _key_of(self, obj: Any) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error


class ViewedIndexer(Indexer[T]):
    """The content of another indexer, ``stored``, with ``view`` applied to what is read.

    Index functions that are added get views as well, of every object that is stored.
    """

    def __init__(self, stored: Indexer[Any], view: Callable[[Any], T]) -> None:
        super().__init__()
        self._storage = stored._storage
        self._tracks_resource_version = stored._tracks_resource_version
        self.stored = stored
        self.view = view

    def get(self, obj: Any) -> T | None:
        return self._viewed(super().get(obj))

    def get_by_key(self, key: str) -> T | None:
        return self._viewed(super().get_by_key(key))

    def list(self) -> builtins.list[T]:
        return [self.view(obj) for obj in super().list()]

    def index(self, name: str, obj: Any) -> builtins.list[T]:
        return [self.view(found) for found in super().index(name, obj)]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        return [self.view(obj) for obj in super().by_index(name, value)]

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        super().add_indexers({name: self._on_view(function) for name, function in indexers.items()})

    def _viewed(self, obj: Any) -> T | None:
        return None if obj is None else self.view(obj)

    def _on_view(self, function: IndexFunc) -> IndexFunc:
        return lambda obj: function(self.view(obj))
