"""Objects under explicit keys, with indexes.

Promises: a query sees one instant, and indexes agree with the objects. A write whose index
function fails changes nothing. Objects are returned as they are and must not be changed. Lists have
no order.

Differs from client-go (``tools/cache`` ThreadSafeStore, storeIndex): index functions run before the
lock is acquired, and their values are remembered, so that an object that was changed in place
leaves no stale entry. Several writes take the lock once. ``None`` means "absent".
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Final, Generic, TypeAlias, TypeVar

from clientgo.cache.store.keys import IndexFunc
from clientgo.cache.store.parts import in_parts
from clientgo.cache.store.resource_versions import gauge_value, has_reached
from clientgo.cache.store.store import (
    IndexConflictError,
    IndexFuncError,
    StoreStatistics,
    UnknownIndexError,
)
from clientgo.observe.metrics import Gauge
from clientgo.util.copies import uncopyable

IndexValues: TypeAlias = str | tuple[str, ...]
"""The values of one object: a plain text if there is exactly one, which is the usual case."""

NO_VALUES: Final = ()


class Index:
    """The objects of a store by index value. Not thread-safe: the store's lock guards it.

    A query copies the values of a dict by key; client-go keeps sets of keys.
    """

    __slots__ = ("_by_value", "_function", "_several", "_value", "name", "ready")

    def __init__(self, name: str, function: IndexFunc, *, ready: bool = True) -> None:
        self.name = name
        self.ready = ready
        """True once it covers all objects in the store, so that it can be queried."""
        self._function = function
        self._by_value: dict[str, tuple[str, dict[str, Any]]] = {}
        """The text of each value, which all its objects share in `_value`, and these objects."""
        self._value: dict[str, str] = {}
        """The values of objects with exactly one."""
        self._several: dict[str, tuple[str, ...]] = {}
        """The values of the other objects."""

    @property
    def function(self) -> IndexFunc:
        return self._function

    def column(self, keys: Sequence[str], objs: Sequence[Any]) -> list[IndexValues]:
        """Call the function for each object; one that is ``None`` has no values.

        Raises :class:`~clientgo.cache.IndexFuncError`.
        """
        function = self._function
        column: list[IndexValues] = []
        append = column.append
        try:
            for obj in objs:
                if obj is None:
                    append(NO_VALUES)
                    continue
                values = function(obj)
                if type(values) is list and len(values) == 1 and type(values[0]) is str:
                    append(values[0])
                else:
                    append(_distinct(values))
        except (Exception, SystemExit) as error:
            raise IndexFuncError(self.name, keys[len(column)], error) from error
        return column

    def values_of(self, obj: Any) -> tuple[str, ...]:
        """Call the function for one object, stored or not. Raises what it raises."""
        return _as_tuple(_distinct(self._function(obj)))

    def update(
        self, keys: Sequence[str], objs: Sequence[Any], column: Sequence[IndexValues]
    ) -> None:
        """Store objects under their values, in order; one without values is not in the index."""
        by_value, known, several = self._by_value, self._value, self._several
        for key, obj, values in zip(keys, objs, column, strict=True):
            # Most objects have one value, and it never changes. Among many objects each lookup
            # costs a cache miss, so an update of such an object makes only one.
            if type(values) is str and not (several and key in several):
                entry = by_value.get(values)
                if entry is not None:
                    value, objects = entry
                    if key in objects or known.setdefault(key, value) is value:
                        objects[key] = obj
                        continue
            self._move(key, obj, values)

    def objects(self, value: str) -> Mapping[str, Any]:
        """Return the objects with a value, by key."""
        entry = self._by_value.get(value)
        return _NO_OBJECTS if entry is None else entry[1]

    def values(self) -> list[str]:
        """Return the values that objects have, each once."""
        return list(self._by_value)

    def __len__(self) -> int:
        return len(self._by_value)

    def empty_copy(self) -> Index:
        """Return an index by the same function, without objects."""
        return Index(self.name, self._function, ready=self.ready)

    def _move(self, key: str, obj: Any, values: IndexValues) -> None:
        by_value = self._by_value
        kept = _as_tuple(values)
        before = self._value.get(key)
        for value in self._several.get(key, NO_VALUES) if before is None else (before,):
            if value not in kept:
                _, objects = by_value[value]
                del objects[key]
                if not objects:
                    del by_value[value]
        entries = [by_value.setdefault(value, (value, {})) for value in kept]
        for _, objects in entries:
            objects[key] = obj
        shared = tuple(value for value, _ in entries)
        if len(shared) == 1:
            self._value[key] = shared[0]
        else:
            self._value.pop(key, None)
        if len(shared) > 1:
            self._several[key] = shared
        else:
            self._several.pop(key, None)


_NO_OBJECTS: Final[Mapping[str, Any]] = {}


def _as_tuple(values: IndexValues) -> tuple[str, ...]:
    return values if isinstance(values, tuple) else (values,)


def _distinct(values: Iterable[str]) -> IndexValues:
    if isinstance(values, str):
        raise TypeError(f"an index function returns a list of values, not the text {values!r}")
    distinct = tuple(dict.fromkeys(values))
    for value in distinct:
        if not isinstance(value, str):
            raise TypeError(f"an index value is text, not {value!r}")
    return distinct[0] if len(distinct) == 1 else distinct


T = TypeVar("T")


@uncopyable("it has locks; make one in each process")
class ThreadSafeStore(Generic[T]):
    """Objects and indexes under one lock.

    Reads of a single key need no lock: a lookup in a dict is atomic, also in builds of CPython
    without a global lock. ``version_gauge`` is set to each noted resource version, as far as a
    float can hold it exactly.
    """

    def __init__(
        self,
        indexers: Mapping[str, IndexFunc] | None = None,
        *,
        version_gauge: Gauge | None = None,
    ) -> None:
        self._version_gauge = version_gauge
        self._lock = threading.Lock()
        self._version_noted = threading.Condition(self._lock)
        self._items: dict[str, T] = {}
        self._resource_version = ""
        self._indexes: dict[str, Index] = {
            name: Index(name, function) for name, function in (indexers or {}).items()
        }
        """Replaced, never changed, so that a writer can compare them by identity."""

    def add(self, key: str, obj: T) -> None:
        """Store an object. Raises :class:`~clientgo.cache.IndexFuncError`."""
        self.apply([key], [obj])

    def update(self, key: str, obj: T) -> None:
        """Do the same as :meth:`add`."""
        self.apply([key], [obj])

    def delete(self, key: str) -> None:
        """Remove an object, if there is one."""
        self.apply([key], [None])

    def apply(
        self,
        keys: Sequence[str],
        objs: Sequence[T | None],
        resource_version: str | None = None,
    ) -> builtins.list[T | None]:
        """Store objects, or remove those that are ``None``, in order, under one lock acquisition.

        Returns for each write what was stored under its key before. ``resource_version`` is noted
        unless it is ``None``. Raises :class:`~clientgo.cache.IndexFuncError`; then nothing has
        changed.
        """
        while True:
            indexes = self._indexes
            columns = [index.column(keys, objs) for index in indexes.values()]
            with self._lock:
                if indexes is self._indexes:
                    found = self._write_locked(keys, objs)
                    for index, column in zip(indexes.values(), columns, strict=True):
                        index.update(keys, objs, column)
                    if resource_version is not None:
                        self._note_version_locked(resource_version)
                    return found

    def check(self, key: str, obj: T) -> None:
        """Raise :class:`~clientgo.cache.IndexFuncError` if the object can't be indexed."""
        for index in self._indexes.values():
            index.column([key], [obj])

    def replace(self, items: Mapping[str, T], resource_version: str) -> None:
        """Make ``items`` the whole content, in one step for readers.

        Raises :class:`~clientgo.cache.IndexFuncError`; then nothing has changed.
        """
        new_items = dict(items)
        keys, objs = list(new_items), list(new_items.values())
        while True:
            indexes = self._indexes
            rebuilt = {name: index.empty_copy() for name, index in indexes.items()}
            for index in rebuilt.values():
                index.update(keys, objs, index.column(keys, objs))
            with self._lock:
                if indexes is self._indexes:
                    self._items, self._indexes = new_items, rebuilt
                    self._note_version_locked(resource_version)
                    return

    def get(self, key: str) -> T | None:
        """Return what is stored under a key, or ``None``."""
        return self._items.get(key)

    def list(self) -> builtins.list[T]:
        """Return all objects at one instant."""
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> builtins.list[str]:
        """Return all keys at one instant."""
        with self._lock:
            return list(self._items)

    def index(self, name: str, obj: Any) -> builtins.list[T]:
        """Return the stored objects that share a value with ``obj``, each once.

        Raises :class:`~clientgo.cache.UnknownIndexError`, or
        :class:`~clientgo.cache.IndexFuncError` if the function fails for ``obj``.
        """
        values = self._index(name).values_of(obj)
        with self._lock:
            index = self._index(name)
            found: dict[str, T] = {}
            for value in values:
                found.update(index.objects(value))
            return list(found.values())

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """Return the stored objects with a value. Raises
        :class:`~clientgo.cache.UnknownIndexError`."""
        with self._lock:
            return list(self._index(name).objects(value).values())

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """Return the sorted keys of the objects with a value. Raises
        :class:`~clientgo.cache.UnknownIndexError`."""
        with self._lock:
            keys = list(self._index(name).objects(value))
        return sorted(keys)

    def list_index_func_values(self, name: str) -> builtins.list[str]:
        """Return the values that at least one object has; none for an unknown index."""
        with self._lock:
            index = self._indexes.get(name)
            return index.values() if index is not None and index.ready else []

    def get_indexers(self) -> dict[str, IndexFunc]:
        """Return a copy of the index functions by name."""
        return {name: index.function for name, index in self._indexes.items() if index.ready}

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Register indexes; when the call returns they cover all stored objects.

        Readers and writers continue meanwhile. Raises
        :class:`~clientgo.cache.IndexConflictError` if one of the names is taken,
        :class:`~clientgo.cache.IndexFuncError` if a function fails for a stored object; then
        nothing is registered.
        """
        with self._lock:
            if taken := [name for name in indexers if name in self._indexes]:
                raise IndexConflictError(taken)
            # From here on writers maintain the indexes; queries use them once they are ready.
            self._indexes = self._indexes | {
                name: Index(name, function, ready=False) for name, function in indexers.items()
            }
            stored = self._items.copy()
            added = [self._indexes[name] for name in indexers]
        try:
            for part in in_parts(stored.items()):
                self._fill(added, part)
        except BaseException:
            self._remove_indexes(indexers)
            raise
        with self._lock:
            for name in indexers:
                self._indexes[name].ready = True

    def bookmark(self, resource_version: str) -> None:
        """Note that the content is as of ``resource_version``."""
        with self._lock:
            self._note_version_locked(resource_version)

    def last_store_sync_resource_version(self) -> str:
        """Return what the last write, replacement or bookmark noted."""
        return self._resource_version

    def wait_until_version(self, resource_version: str, timeout: float) -> bool:
        """Block until the noted version is as new as ``resource_version``.

        Return False after ``timeout`` real seconds. Raises ``ValueError`` for a version that is
        not a number.
        """
        with self._version_noted:
            return self._version_noted.wait_for(
                lambda: has_reached(self._resource_version, resource_version), timeout
            )

    def statistics(self) -> StoreStatistics:
        with self._lock:
            return StoreStatistics(
                objects=len(self._items),
                index_values={name: len(index) for name, index in self._indexes.items()},
                resource_version=self._resource_version,
            )

    def _fill(self, added: Sequence[Index], stored: Sequence[tuple[str, T]]) -> None:
        """Index what was stored, as far as it still is; writers index what they write."""
        keys, objs = [key for key, _ in stored], [obj for _, obj in stored]
        columns = [index.column(keys, objs) for index in added]
        with self._lock:
            current = [self._items.get(key) is obj for key, obj in stored]
            for index, column in zip(added, columns, strict=True):
                # A replacement makes new indexes, which cover all of it.
                self._indexes[index.name].update(
                    [*compress(keys, current)],
                    [*compress(objs, current)],
                    [*compress(column, current)],
                )

    def _write_locked(
        self, keys: Sequence[str], objs: Sequence[T | None]
    ) -> builtins.list[T | None]:
        items = self._items
        found: builtins.list[T | None] = []
        append = found.append
        for key, obj in zip(keys, objs, strict=True):
            if obj is None:
                append(items.pop(key, None))
            else:
                append(items.get(key))
                items[key] = obj
        return found

    def _note_version_locked(self, resource_version: str) -> None:
        self._resource_version = resource_version
        self._version_noted.notify_all()
        if self._version_gauge is not None:
            value = gauge_value(resource_version)
            if value is not None:
                self._version_gauge.set(value)

    def _index(self, name: str) -> Index:
        index = self._indexes.get(name)
        if index is None or not index.ready:
            raise UnknownIndexError(name, list(self._indexes))
        return index

    def _remove_indexes(self, names: Mapping[str, IndexFunc]) -> None:
        with self._lock:
            self._indexes = {
                name: index for name, index in self._indexes.items() if name not in names
            }
