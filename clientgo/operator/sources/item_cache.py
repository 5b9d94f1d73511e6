"""Items outside of the cluster, by the primary that they belong to.

Promises to say whether something differs from what was known before, item by item; "nothing" is
knowledge too, and is not the same as not having asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

from clientgo.meta import ObjectName

ItemId: TypeAlias = Callable[[Any], Hashable]


def default_item_id(item: Any) -> Hashable:
    """The default identity of an item: its ``id`` or ``name``."""
    for attribute in ("id", "name"):
        found = getattr(item, attribute, None)
        if isinstance(found, Hashable) and found is not None:
            return found
    return item if isinstance(item, Hashable) else repr(item)


class ItemCache:
    """Items by primary and id. Thread-safe; items are shared, and read-only by agreement."""

    def __init__(self, item_id: ItemId | None = None) -> None:
        self._item_id = item_id or default_item_id
        self._lock = threading.Lock()
        self._items: dict[ObjectName, dict[Hashable, Any]] = {}

    def replace(self, key: ObjectName, items: Iterable[Any]) -> bool:
        """Make these all items of a primary; return True if that is a change."""
        found = {self._item_id(item): item for item in items}
        with self._lock:
            before = self._items.get(key, {})
            self._items[key] = found
            return before != found

    def replace_all(self, items: dict[ObjectName, list[Any]]) -> list[ObjectName]:
        """Make these the items of all primaries; returns the primaries whose items changed."""
        with self._lock:
            gone = [key for key in self._items if key not in items]
        changed = [key for key, found in items.items() if self.replace(key, found)]
        with self._lock:
            return changed + [key for key in gone if self._items.pop(key, None)]

    def put(self, key: ObjectName, item: Any) -> bool:
        """Add or replace one item; return True if that is a change."""
        with self._lock:
            items = self._items.setdefault(key, {})
            name = self._item_id(item)
            if name in items and items[name] == item:
                return False
            items[name] = item
            return True

    def remove(self, key: ObjectName, item_id: Hashable) -> bool:
        """Remove one item; return True if it was there."""
        with self._lock:
            items = self._items.get(key, {})
            if item_id not in items:
                return False
            del items[item_id]
            return True

    def forget(self, key: ObjectName) -> None:
        """The primary is gone."""
        with self._lock:
            self._items.pop(key, None)

    def forget_if(self, condition: Callable[[ObjectName], bool]) -> None:
        """Primaries that a condition holds for are gone."""
        for key in self.keys():
            if condition(key):
                self.forget(key)

    def keys(self) -> list[ObjectName]:
        """The primaries that anything is known of."""
        with self._lock:
            return list(self._items)

    def known(self, key: ObjectName) -> bool:
        """Return True if the items of a primary are known, even if there are none."""
        with self._lock:
            return key in self._items

    def items(self, key: ObjectName) -> list[Any]:
        with self._lock:
            return list(self._items.get(key, {}).values())
