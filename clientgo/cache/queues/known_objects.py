"""What the consumer of a queue knows: its store, and the changes that it is processing.

An object that is being processed counts with its newest state, because the consumer's store is
about to hold that. Not thread-safe: the queue's lock guards it. In client-go nothing is in flight.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from clientgo.cache.queues.queue import Waiting, newest_of
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType

_log = logging.getLogger("clientgo.cache")


class KnownObjects(Protocol):
    """The part of the consumer's store that a queue reads, with the queue's lock held."""

    def list_keys(self) -> list[str]: ...

    def get_by_key(self, key: str) -> Any | None: ...


class ConsumerState:
    """The objects in ``store``, if there is one, and :attr:`in_flight` changes over them."""

    def __init__(self, store: KnownObjects | None) -> None:
        self.store = store
        self.in_flight: dict[str, Waiting] = {}
        """The changes that are being processed, by key."""

    def knows(self, key: str) -> bool:
        """Return True if the consumer's store holds a key, or will after the current batch.

        A lookup that fails counts as known: a deletion too many does no harm.
        """
        if self.store is None:
            return False
        in_flight = self.in_flight.get(key)
        if in_flight is not None:
            return newest_of(in_flight).type is not DeltaType.DELETED
        try:
            return self.store.get_by_key(key) is not None
        except Exception:  # noqa: BLE001 - the store is the user's
            _log.exception("Looking up a known object failed; assuming that it exists: %s", key)
            return True

    def known_keys(self) -> Iterator[str]:
        """Return the keys that the consumer's store holds or is about to hold."""
        if self.store is None:
            return
        for key, waiting in self.in_flight.items():
            if newest_of(waiting).type is not DeltaType.DELETED:
                yield key
        for key in _keys_of(self.store):
            if key not in self.in_flight:
                yield key

    def idle_objects(self, busy: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
        """Return the objects of the store that have no changes in flight and are not ``busy``."""
        if self.store is None:
            return
        for key in _keys_of(self.store):
            if key not in self.in_flight and not busy(key):
                obj = self._object(self.store, key)
                if obj is not None:
                    yield key, obj

    def tombstone(self, key: str) -> DeletedFinalStateUnknown:
        """Return a tombstone with the known state of an object, if there is one."""
        in_flight = self.in_flight.get(key)
        if in_flight is not None:
            return tombstone_of(key, newest_of(in_flight))
        return DeletedFinalStateUnknown(key, self._object(self.store, key))

    def _object(self, store: KnownObjects | None, key: str) -> Any | None:
        if store is None:
            return None
        try:
            obj = store.get_by_key(key)
        except Exception:  # noqa: BLE001 - the store is the user's
            _log.exception("Looking up a known object failed; continuing without it: %s", key)
            return None
        if obj is None:
            _log.info("A listed object is not in the store; continuing without it: %s", key)
        return obj


def _keys_of(store: KnownObjects) -> tuple[str, ...]:
    """Return the keys as a tuple: see ``store/parts.py``."""
    return tuple(store.list_keys())


def tombstone_of(key: str, last: Delta) -> DeletedFinalStateUnknown:
    """Return a tombstone with the object of the last change, which may be a tombstone too."""
    obj = last.object
    if type(obj) is DeletedFinalStateUnknown:
        obj = obj.obj
    return DeletedFinalStateUnknown(key, obj)
