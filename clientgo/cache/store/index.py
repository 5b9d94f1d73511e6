"""One index: the stored objects by the values that a function returns for them.

Remembers the values, so that an object that was changed in place leaves no stale entry. Not
thread-safe: the store's lock guards it.

Differs from client-go (``tools/cache`` storeIndex), which keeps sets of keys: here a query copies
the values of one dict, which is no larger than a set and free of work for the garbage collector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from clientgo.cache.store.keys import IndexFunc
from clientgo.cache.store.store import IndexFuncError

IndexValues: TypeAlias = str | tuple[str, ...]
"""The values of one object: a plain text if there is exactly one, which is the usual case."""

NO_VALUES: Final = ()


class Index:
    """The objects of a store by index value."""

    __slots__ = ("_by_value", "_function", "_names", "_several", "_value", "name", "ready")

    def __init__(self, name: str, function: IndexFunc, *, ready: bool = True) -> None:
        self.name = name
        self.ready = ready
        """True once it covers all objects in the store, so that it can be queried."""
        self._function = function
        self._by_value: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}
        """The text of each value, which all objects that have it share."""
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
                objects = by_value.get(values)
                if objects is not None:
                    if key in objects:
                        objects[key] = obj
                        continue
                    if key not in known:
                        objects[key] = obj
                        known[key] = self._names[values]
                        continue
            self._move(key, obj, values)

    def objects(self, value: str) -> Mapping[str, Any]:
        """Return the objects with a value, by key."""
        return self._by_value.get(value, _NO_OBJECTS)

    def values(self) -> list[str]:
        """Return the values that objects have, each once."""
        return list(self._by_value)

    def __len__(self) -> int:
        return len(self._by_value)

    def empty_copy(self) -> Index:
        """Return an index by the same function, without objects."""
        return Index(self.name, self._function, ready=self.ready)

    def _move(self, key: str, obj: Any, values: IndexValues) -> None:
        by_value, names = self._by_value, self._names
        kept = _as_tuple(values)
        before = self._value.get(key)
        for value in self._several.get(key, NO_VALUES) if before is None else (before,):
            if value not in kept:
                objects = by_value[value]
                del objects[key]
                if not objects:
                    del by_value[value], names[value]
        for value in kept:
            by_value.setdefault(value, {})[key] = obj
        shared = tuple(names.setdefault(value, value) for value in kept)
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
