"""What a reflector can write to: a cache store, or any plain store, which is adapted.

Upstream: ``tools/cache`` ReflectorStore, ReflectorBookmarkStore, ResourceVersionUpdater.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, runtime_checkable

from clientgo.cache.store.changes import Delta, DeltaType


class ReflectorStore(Protocol):
    """The methods that a reflector needs of its store; queues and plain stores have them."""

    def add(self, obj: Any, /) -> None: ...

    def update(self, obj: Any, /) -> None: ...

    def delete(self, obj: Any, /) -> None: ...

    def replace(self, objs: Sequence[Any], resource_version: str, /) -> None: ...

    def resync(self) -> None: ...


@runtime_checkable
class BookmarkStore(Protocol):
    """A store that notes up to which version the server has sent everything."""

    def bookmark(self, resource_version: str, /) -> None: ...


@runtime_checkable
class CacheStore(BookmarkStore, Protocol):
    """What queues and indexers are: a store that takes several changes under one lock."""

    def apply(self, changes: Sequence[Delta], /) -> Sequence[Any] | None:
        """Make changes; raise the first error, or return it in the place of its change."""

    def replace(
        self, objs: Sequence[Any], resource_version: str, unknown: Collection[str] = (), /
    ) -> None:
        """Take a list; keep what there is under the keys ``unknown``, which could not be read."""


@runtime_checkable
class VersionStore(Protocol):
    """A store that gets every event by itself, followed by the version that it reaches."""

    def update_resource_version(self, resource_version: str, /) -> None: ...


@runtime_checkable
class ReadableStore(Protocol):
    """A store that can be asked for its objects."""

    def get_by_key(self, key: str, /) -> Any | None: ...


def as_cache_store(store: ReflectorStore) -> CacheStore:
    """Return a store itself, or an adapter that writes to a plain one."""
    return store if isinstance(store, CacheStore) else _PlainStore(store)


class _PlainStore:
    """Writes to a plain store one change at a time.

    What a list has and could not be read stays only in a store that can be asked for its objects.
    """

    def __init__(self, store: ReflectorStore) -> None:
        self._store = store

    def apply(self, changes: Sequence[Delta]) -> None:
        for change in changes:
            if change.type is DeltaType.ADDED:
                self._store.add(change.object)
            elif change.type is DeltaType.DELETED:
                self._store.delete(change.object)
            else:
                self._store.update(change.object)

    def replace(
        self, objs: Sequence[Any], resource_version: str, unknown: Collection[str] = ()
    ) -> None:
        if unknown and isinstance(self._store, ReadableStore):
            known = map(self._store.get_by_key, unknown)
            # First, because an object that is listed as well is newer.
            objs = [*(obj for obj in known if obj is not None), *objs]
        self._store.replace(objs, resource_version)

    def bookmark(self, resource_version: str) -> None:
        if isinstance(self._store, BookmarkStore):
            self._store.bookmark(resource_version)
