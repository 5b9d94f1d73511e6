"""How a source without objects follows the primaries of its controller.

Promises a call for each primary that exists, changes or goes, in the controller's namespaces and
after the cache has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clientgo.cache import DeletedFinalStateUnknown, ResourceEventHandler, last_known_state
from clientgo.meta import ObjectName
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.sources.source import SourceContext


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
        """The newest known state of a primary, which is shared and read-only."""
        return self._cache.get(key)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        return self._cache.wait_synced(self._subscription, timeout, stop)

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
