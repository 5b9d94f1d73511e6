"""A store whose objects expire. Storing an object again restarts its age.

Expired objects are never returned and are removed when they are read;
:meth:`ExpirationCache.list_keys` may still list them.

For programs that are carried over from Go with a ``NewTTLStore``, of answers or credentials that
age. Upstream: ``tools/cache`` ExpirationCache, TTLPolicy.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling_meta_namespace_key
from clientgo.cache.store.resource_versions import version_of
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

T = TypeVar("T")

ExpirationPolicy = Callable[[Any, float], bool]
"""Takes an object and its age in seconds; returns True if it has expired."""


def ttl_policy(ttl: float) -> ExpirationPolicy:
    """Return a policy by which objects expire after ``ttl`` seconds; 0: never."""
    return lambda _obj, age: 0 < ttl < age


@uncopyable("it has locks; make one in each process")
class ExpirationCache(Generic[T]):
    """A store with an expiration policy. Thread-safe. The policy must not call the store."""

    def __init__(
        self,
        policy: ExpirationPolicy,
        key_func: KeyFunc = deletion_handling_meta_namespace_key,
        *,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._policy = policy
        self._key_func = key_func
        self._clock = clock
        # Held from the decision to the removal, so that an object that is stored meanwhile is not
        # removed because of the age of its predecessor.
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry[T]] = {}
        self._resource_version = ""

    def add(self, obj: T) -> None:
        """Store an object, whose age starts at zero."""
        key = self._key_of(obj)
        with self._lock:
            self._entries[key] = _Entry(obj, self._clock.monotonic())

    def update(self, obj: T) -> None:
        """Do the same as :meth:`add`."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Remove what has the key of an object, if there is anything."""
        key, version = self._key_of(obj), version_of(obj)
        with self._lock:
            self._entries.pop(key, None)
            if version is not None:
                self._resource_version = version

    def get(self, obj: Any) -> T | None:
        """Return what is stored under the key of ``obj``; ``None`` if absent or expired."""
        return self.get_by_key(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        """Return what is stored under a key, or ``None`` if it is absent or expired."""
        with self._lock:
            return self._get_locked(key)

    def list(self) -> builtins.list[T]:
        """Return all objects that have not expired."""
        with self._lock:
            alive = [self._get_locked(key) for key in list(self._entries)]
        return [obj for obj in alive if obj is not None]

    def list_keys(self) -> builtins.list[str]:
        """Return all keys, those of expired objects included."""
        with self._lock:
            return list(self._entries)

    def replace(self, objs: Sequence[T], resource_version: str) -> None:
        """Make ``objs`` the whole content; all have the same age."""
        items = {self._key_of(obj): obj for obj in objs}
        with self._lock:
            now = self._clock.monotonic()
            self._entries = {key: _Entry(obj, now) for key, obj in items.items()}
            self._resource_version = resource_version

    def resync(self) -> None:
        """Do nothing: a store is not a queue."""

    def bookmark(self, resource_version: str) -> None:
        """Note that the content is as of ``resource_version``."""
        with self._lock:
            self._resource_version = resource_version

    def last_store_sync_resource_version(self) -> str:
        """Return what the last deletion, replacement or bookmark noted."""
        with self._lock:
            return self._resource_version

    def _get_locked(self, key: str) -> T | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._policy(entry.obj, self._clock.monotonic() - entry.stored_at):
            del self._entries[key]
            return None
        return entry.obj

    def _key_of(self, obj: Any) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error


class _Entry(Struct, Generic[T], frozen=True, gc=False):
    obj: T
    stored_at: float
