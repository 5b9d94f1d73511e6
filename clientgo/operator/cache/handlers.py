"""The handlers of the cache of a kind itself."""

from __future__ import annotations

from typing import Any

from clientgo.cache import DeletedFinalStateUnknown, ResourceEventHandler, last_known_state
from clientgo.meta import metadata_of
from clientgo.operator.cache.cache_metrics import CacheMetrics, CacheSize
from clientgo.operator.cache.own_writes import OwnWrites


class NamespaceFilter(ResourceEventHandler[Any]):
    """Passes on what happens in one namespace, of an informer that watches all."""

    def __init__(self, handler: ResourceEventHandler[Any], namespace: str) -> None:
        self._handler = handler
        self._namespace = namespace

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        if metadata_of(obj).namespace == self._namespace:
            self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        if metadata_of(new).namespace == self._namespace:
            self._handler.on_update(old, new)

    def on_delete(self, obj: Any) -> None:
        state = last_known_state(obj)
        if state is None or metadata_of(state).namespace == self._namespace:
            self._handler.on_delete(obj)


class StoreProgress(ResourceEventHandler[Any]):
    """Reports how far the store has come to the own writes, and its size to the metrics."""

    def __init__(self, own_writes: OwnWrites, metrics: CacheMetrics, size: CacheSize) -> None:
        self._own_writes = own_writes
        self._metrics = metrics
        self._size = size

    def on_add(self, obj: Any, _is_in_initial_list: bool) -> None:
        self._metrics.changed(self._size, None, obj)
        self._own_writes.saw(obj)

    def on_update(self, old: Any, new: Any) -> None:
        self._metrics.changed(self._size, old, new)
        self._own_writes.saw(new)

    def on_delete(self, obj: Any | DeletedFinalStateUnknown) -> None:
        state = last_known_state(obj)
        if state is not None:
            self._metrics.changed(self._size, state, None)
            self._own_writes.saw(state)
