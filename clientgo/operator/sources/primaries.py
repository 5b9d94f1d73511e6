"""What sources of objects outside of the cluster need: items by primary, and the primaries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

from clientgo.cache import DeletedFinalStateUnknown, ResourceEventHandler, last_known_state
from clientgo.meta import ObjectName
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.scope import EVERYWHERE, NamespaceSet
from clientgo.operator.sources.source import SourceContext

ItemId: TypeAlias = Callable[[Any], Hashable]


def default_item_id(item: Any) -> Hashable:
    """Return the default identity of an item: its ``id`` or ``name``."""
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

    def by_id(self, items: Iterable[Any]) -> dict[Hashable, Any]:
        """Return items by their id; of those with the same id the last one."""
        return {self._item_id(item): item for item in items}

    def replace(self, key: ObjectName, items: Iterable[Any]) -> bool:
        """Make these all items of a primary; return True if that is a change."""
        found = self.by_id(items)
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
        """Forget primaries that a condition holds for."""
        for key in filter(condition, self.keys()):
            self.forget(key)

    def keys(self) -> list[ObjectName]:
        """Return the primaries that anything is known of."""
        with self._lock:
            return list(self._items)

    def keep_only(self, namespaces: NamespaceSet) -> None:
        """Forget the primaries of other namespaces."""
        if namespaces != EVERYWHERE:
            self.forget_if(lambda key: key.namespace not in namespaces)

    def known(self, key: ObjectName) -> bool:
        """Return True if the items of a primary are known, even if there are none."""
        with self._lock:
            return key in self._items

    def items(self, key: ObjectName) -> list[Any]:
        with self._lock:
            return list(self._items.get(key, {}).values())


class PrimaryWatch(ResourceEventHandler[Any]):
    """Calls ``appeared(key, obj)`` and ``disappeared(key)``. Thread-safe."""

    def __init__(
        self,
        context: SourceContext,
        disappeared: Callable[[ObjectName], object],
        appeared: Callable[[ObjectName, Any], object] | None = None,
    ) -> None:
        cache = context.cache.peek(context.primary)
        assert cache is not None, "a controller declares its primary first"
        self._cache: KindCache = cache
        self._appeared = appeared
        self._disappeared = disappeared
        self._subscription = cache.subscribe(self, context.namespaces)

    def get(self, key: ObjectName) -> Any | None:
        """Return the newest known state of a primary, which is shared and read-only."""
        return self._cache.get(key)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        return self._cache.wait_synced(self._subscription, timeout, stop, optional=True)

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        self._cache.change(self._subscription, namespaces)

    def stop(self) -> None:
        self._cache.unsubscribe(self._subscription)

    def on_add(self, obj: Any, _is_in_initial_list: bool) -> None:
        if self._appeared is not None:
            self._appeared(ObjectName.of(obj), obj)

    def on_update(self, _old: Any, new: Any) -> None:
        if self._appeared is not None:
            self._appeared(ObjectName.of(new), new)

    def on_delete(self, obj: Any | DeletedFinalStateUnknown) -> None:
        state = last_known_state(obj)
        if state is not None:
            self._disappeared(ObjectName.of(state))
