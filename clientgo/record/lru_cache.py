"""A mapping of limited size: the entry that was used least recently makes room for a new one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """At most ``size`` entries; reading or writing one makes it the last to be forgotten.

    ``evictions`` counts the forgotten ones. Not thread-safe. Source: groupcache lru, Cache.
    """

    __slots__ = ("_entries", "_size", "evictions")

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a cache of {size} entries holds nothing; give it at least 1")
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._size = size
        self.evictions = 0

    def get(self, key: K) -> V | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
            self.evictions += 1

    def remove(self, key: K) -> None:
        """Forget an entry, which is no eviction; ``KeyError`` if there is none."""
        del self._entries[key]

    def items(self) -> list[tuple[K, V]]:
        """All entries, the one that was not used for longest first."""
        return list(self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)
