"""Writes what a reflector reads to its store.

Works with anything that has add, update, delete, replace and resync, and uses what else it has:
``apply`` (a batch under one lock), ``bookmark`` and ``update_resource_version``. Raises what the
store raises.

Upstream: ``tools/cache`` ReflectorStore, ReflectorBookmarkStore, ResourceVersionUpdater.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from clientgo.cache.reflector.state import Apply, Bookmark, Message, Reached, Replace
from clientgo.cache.store.changes import Delta, DeltaType


class ReflectorStore(Protocol):
    """The methods that a reflector needs of its store; queues and plain stores have them."""

    def add(self, obj: Any, /) -> None: ...

    def update(self, obj: Any, /) -> None: ...

    def delete(self, obj: Any, /) -> None: ...

    def replace(self, objs: Sequence[Any], resource_version: str, /) -> None: ...

    def resync(self) -> None: ...


_METHODS: Final = {
    DeltaType.ADDED: "add",
    DeltaType.UPDATED: "update",
    DeltaType.DELETED: "delete",
}


class StoreWriter:
    """Delivers messages to a store."""

    def __init__(self, store: ReflectorStore) -> None:
        self._store = store
        self._apply = getattr(store, "apply", self._apply_singly)
        self._bookmark = getattr(store, "bookmark", None)
        self._reached = getattr(store, "update_resource_version", None)
        self.takes_batches: Final = hasattr(store, "apply") and self._reached is None
        """If False, every event is delivered by itself, with the version that it reaches."""

    def deliver(self, message: Message) -> None:
        """Deliver a message; ignore one that is not for the store."""
        if isinstance(message, Apply):
            # A queue raises; an indexer returns a result for each change.
            for result in self._apply(message.changes) or ():
                if isinstance(result, Exception):
                    raise result
        elif isinstance(message, Replace):
            self._store.replace(message.objects, message.version)
        elif isinstance(message, Bookmark) and self._bookmark is not None:
            self._bookmark(message.version)
        elif isinstance(message, Reached) and self._reached is not None:
            self._reached(message.version)

    def _apply_singly(self, changes: Sequence[Delta]) -> None:
        for change in changes:
            getattr(self._store, _METHODS[change.type])(change.object)
