"""What a reflector writes to.

Promises to deliver a reflector's messages to anything with add, update, delete, replace and
resync, and to use what else it offers: ``apply`` (a batch under one lock), ``bookmark`` and
``update_resource_version``. Whatever the store raises is raised.

Upstream: ``tools/cache`` ReflectorStore, ReflectorBookmarkStore, ResourceVersionUpdater.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from clientgo.cache.reflector.state import Apply, Bookmark, Message, Reached, Replace
from clientgo.cache.store.changes import Change, DeltaType


class ReflectorStore(Protocol):
    """The least that a store of a reflector can do; a queue or a plain store will do."""

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
    """Tells a store what a reflector found out."""

    def __init__(self, store: ReflectorStore) -> None:
        self._store = store
        self._apply = getattr(store, "apply", self._apply_singly)
        self._bookmark = getattr(store, "bookmark", None)
        self._reached = getattr(store, "update_resource_version", None)
        self.takes_batches: Final = hasattr(store, "apply") and self._reached is None
        """Otherwise every event is delivered by itself, with the version that it reaches."""

    def deliver(self, message: Message) -> None:
        """Deliver a message; those that are not for the store are ignored."""
        if isinstance(message, Apply):
            # A queue raises; an indexer gives an outcome per change.
            for outcome in self._apply(message.changes) or ():
                if isinstance(outcome, Exception):
                    raise outcome
        elif isinstance(message, Replace):
            self._store.replace(message.objects, message.version)
        elif isinstance(message, Bookmark) and self._bookmark is not None:
            self._bookmark(message.version)
        elif isinstance(message, Reached) and self._reached is not None:
            self._reached(message.version)

    def _apply_singly(self, changes: Sequence[Change]) -> None:
        for kind, obj in changes:
            getattr(self._store, _METHODS[kind])(obj)
