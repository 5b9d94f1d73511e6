"""A blocking queue whose objects come out in an order of their own.

Promises the smallest object first, and that changing an object moves it to its new place. Does
not promise an order among equals, except that those which came first go first.

Differs from client-go (``tools/cache`` Heap): what is compared is a sort key, as ``sorted`` has it
(wrap a comparison with :func:`functools.cmp_to_key`).
"""

from __future__ import annotations

import builtins
import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from sortedcontainers import SortedList

from clientgo.cache.queues.queue import QueueClosedError
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling_meta_namespace_key

T = TypeVar("T")

_Place: TypeAlias = tuple[Any, int, str]
"""Sort key, number of arrival, key."""


class Heap(Generic[T]):
    """Objects by key, ordered by ``sort_key``. Thread-safe; both functions run outside the lock.

    Every method that takes an object raises :class:`~clientgo.cache.KeyFuncError` for one
    without a key; those that add raise :class:`~clientgo.cache.QueueClosedError` once the
    heap is closed.
    """

    def __init__(
        self,
        sort_key: Callable[[T], Any],
        key_func: KeyFunc = deletion_handling_meta_namespace_key,
    ) -> None:
        self._sort_key = sort_key
        self._key_func = key_func
        self._changed = threading.Condition(threading.Lock())
        self._numbers = itertools.count()
        self._items: dict[str, tuple[_Place, T]] = {}
        self._order: SortedList[_Place] = SortedList()
        self._closed = False

    def add(self, obj: T) -> None:
        """Put an object in; one with the same key is replaced and takes its new place."""
        self.bulk_add([obj])

    def update(self, obj: T) -> None:
        """The same as :meth:`add`."""
        self.bulk_add([obj])

    def bulk_add(self, objs: Iterable[T]) -> None:
        """Put several objects in at once."""
        keyed = [(self._key_of(obj), self._sort_key(obj), obj) for obj in objs]
        with self._changed:
            self._check_open_locked()
            for key, sort_key, obj in keyed:
                self._put_locked(key, sort_key, obj)
            self._changed.notify_all()

    def add_if_absent(self, obj: T) -> None:
        """Put an object in unless there is one with its key."""
        key, sort_key = self._key_of(obj), self._sort_key(obj)
        with self._changed:
            self._check_open_locked()
            if key not in self._items:
                self._put_locked(key, sort_key, obj)
                self._changed.notify()

    def delete(self, obj: Any) -> None:
        """Take an object out. Raises ``KeyError`` if it is not in the heap."""
        key = self._key_of(obj)
        with self._changed:
            place, _ = self._items.pop(key)
            self._order.remove(place)

    def pop(self) -> T:
        """Block until there is an object; take out and return the first.

        Raises :class:`~clientgo.cache.QueueClosedError` once the heap is closed and empty.
        """
        with self._changed:
            while not self._order:
                self._check_open_locked()
                self._changed.wait()
            _, _, key = self._order.pop(0)
            return self._items.pop(key)[1]

    def get(self, obj: Any) -> T | None:
        """What has the key of ``obj``, or ``None``."""
        return self.get_by_key(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        """What has a key, or ``None``."""
        with self._changed:
            item = self._items.get(key)
            return None if item is None else item[1]

    def list(self) -> builtins.list[T]:
        """All objects, in order."""
        with self._changed:
            return [self._items[key][1] for _, _, key in self._order]

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order."""
        with self._changed:
            return list(self._items)

    def close(self) -> None:
        """Wake whoever waits and refuse further objects."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def is_closed(self) -> bool:
        with self._changed:
            return self._closed

    def _put_locked(self, key: str, sort_key: Any, obj: T) -> None:
        old = self._items.get(key)
        if old is None:
            number = next(self._numbers)
        else:
            number = old[0][1]
            self._order.remove(old[0])
        place = (sort_key, number, key)
        self._items[key] = place, obj
        self._order.add(place)

    def _check_open_locked(self) -> None:
        if self._closed:
            raise QueueClosedError("the heap is closed")

    def _key_of(self, obj: Any) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error
