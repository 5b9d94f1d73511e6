"""Reading one's own writes before the watch has brought them back.

Promises that an object which was just written through :meth:`MutationCache.mutation` is read in
its newest state, from the store or from the write, whichever is newer, until the store has caught
up or the write is forgotten.

Does not promise to remember: only so many writes, and only for so long. A reader that depends on
its last write must tolerate an old state.

Upstream: ``tools/cache`` MutationCache. Resource versions are compared as numbers, which the API
allows for objects of one kind.
"""

from __future__ import annotations

import builtins
import logging
import threading
from collections import OrderedDict
from typing import Any, Final, Generic, Protocol, TypeVar

from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.cache.store.keys import (
    IndexFunc,
    KeyFunc,
    KeyFuncError,
    deletion_handling_meta_namespace_key,
)
from clientgo.cache.store.resource_versions import version_number
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import metadata_of

T = TypeVar("T")

_log = logging.getLogger("clientgo.cache")

DEFAULT_TTL: Final = 300.0
"""Longer than any watch should take to come back with a write."""

DEFAULT_CAPACITY: Final = 100
"""Writes in the air at one time; more are a matter for another design."""


class IndexedStore(Protocol[T]):
    """The store underneath, as far as it is read."""

    def get_by_key(self, key: str) -> T | None: ...

    def by_index(self, name: str, value: str) -> list[T]: ...

    def get_indexers(self) -> dict[str, IndexFunc]: ...


class MutationCache(Generic[T]):
    """Recent writes laid over a store. Thread-safe.

    With ``include_adds`` an object that the store does not have yet is found as well; whoever
    asks for that must report deletions through :meth:`on_delete`, or deleted objects come back.
    Reads and writes raise ``ValueError`` for a resource version that is no number.
    """

    def __init__(
        self,
        store: IndexedStore[T],
        *,
        ttl: float = DEFAULT_TTL,
        capacity: int = DEFAULT_CAPACITY,
        include_adds: bool = False,
        key_func: KeyFunc = deletion_handling_meta_namespace_key,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._store = store
        self._ttl = ttl
        self._capacity = capacity
        self._include_adds = include_adds
        self._key_func = key_func
        self._clock = clock
        self._lock = threading.Lock()
        self._writes: OrderedDict[str, tuple[Any, float]] = OrderedDict()
        """Objects and, as tombstones, deletions, with their expiry; least recently used first."""

    def get_by_key(self, key: str) -> T | None:
        """The newest known state of an object, or ``None``."""
        stored = self._store.get_by_key(key)
        with self._lock:
            if stored is not None:
                return self._newer_locked(key, stored)
            written = self._written_locked(key) if self._include_adds else None
        return None if isinstance(written, DeletedFinalStateUnknown) else written

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """The newest known states of the objects with an index value, in no particular order.

        Raises :class:`~clientgo.cache.UnknownIndexError`.
        """
        stored = {self._key_func(obj): obj for obj in self._store.by_index(name, value)}
        with self._lock:
            found = {key: self._newer_locked(key, obj) for key, obj in stored.items()}
            written = {key: self._written_locked(key) for key in list(self._writes)}
        if self._include_adds:
            index_func = self._store.get_indexers()[name]
            for key, obj in written.items():
                if obj is None or isinstance(obj, DeletedFinalStateUnknown) or key in found:
                    continue
                if self._store.get_by_key(key) is None and value in index_func(obj):
                    found[key] = obj
        return list(found.values())

    def mutation(self, obj: T) -> None:
        """Remember what a write returned, unless something newer is known of the object."""
        key = self._key_of(obj)
        if key is None:
            return
        with self._lock:
            known = self._written_locked(key)
            if isinstance(known, DeletedFinalStateUnknown):
                if known.obj is not None and _is_same_life(known.obj, obj):
                    return
            elif known is not None and version_number(obj) < version_number(known):
                return
            self._remember_locked(key, obj)

    def on_add_or_update(self, obj: T) -> None:
        """The watch brought an object: forget a write that is no newer."""
        key = self._key_of(obj)
        if key is None:
            return
        with self._lock:
            known = _state_of(self._written_locked(key))
            if known is not None and version_number(obj) >= version_number(known):
                del self._writes[key]

    def on_delete(self, obj: Any) -> None:
        """The watch brought a deletion, or a relist a tombstone: don't bring the object back."""
        key = self._key_of(obj)
        if key is None:
            return
        with self._lock:
            known, deleted = _state_of(self._written_locked(key)), _state_of(obj)
            if known is not None and deleted is not None and not _ends(deleted, known):
                return
            self._remember_locked(key, DeletedFinalStateUnknown(key, deleted))

    def _newer_locked(self, key: str, stored: T) -> T:
        """The write, if it is newer than what is stored; otherwise it is forgotten."""
        written = self._written_locked(key)
        if written is None or isinstance(written, DeletedFinalStateUnknown):
            return stored
        if version_number(stored) >= version_number(written):
            del self._writes[key]
            return stored
        newer: T = written
        return newer

    def _written_locked(self, key: str) -> Any | None:
        entry = self._writes.get(key)
        if entry is None:
            return None
        obj, expiry = entry
        if self._clock.monotonic() >= expiry:
            del self._writes[key]
            return None
        self._writes.move_to_end(key)
        return obj

    def _remember_locked(self, key: str, obj: Any) -> None:
        self._writes[key] = obj, self._clock.monotonic() + self._ttl
        self._writes.move_to_end(key)
        if len(self._writes) > self._capacity:
            self._writes.popitem(last=False)

    def _key_of(self, obj: Any) -> str | None:
        try:
            return self._key_func(obj)
        except Exception as error:  # noqa: BLE001 - a cache of hints must not fail its caller
            _log.error("Not remembering a write: %s", KeyFuncError(obj, error))
            return None


def _state_of(obj: Any) -> Any | None:
    """An object, or what a tombstone knows of it."""
    return obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj


def _is_same_life(deleted: Any, obj: Any) -> bool:
    """Whether what was deleted is the object, not one of the same name that came later."""
    ours, theirs = metadata_of(deleted), metadata_of(obj)
    return bool(
        ours.resource_version == theirs.resource_version or (ours.uid and ours.uid == theirs.uid)
    )


def _ends(deleted: Any, known: Any) -> bool:
    """Whether the deletion of one state says that the other is gone, too."""
    same_uid = bool(metadata_of(deleted).uid) and metadata_of(deleted).uid == metadata_of(known).uid
    return same_uid or version_number(known) <= version_number(deleted)
