"""The queue that gathers the changes of each object until they are processed together.

Promises: a key waits once, at the place of its first pending change, with all its changes from
old to new; a deletion of something that is neither pending nor known is dropped; a relist yields
a deletion for everything known or pending that it no longer shows.

Does not promise anything about the order among keys after that, nor to compress changes: only two
deletions in a row become one.

Differs from client-go (``tools/cache`` DeltaFIFO): the lock is not held while an entry is
processed. What is being processed counts as known meanwhile, so that no deletion is lost and no
old state is queued behind a newer one. A list always yields ``REPLACED`` unless asked for ``SYNC``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from clientgo.cache.queues.delta_queue import (
    DeltaQueue,
    KeyedDelta,
    KnownObjects,
    Transformer,
    tombstone_of,
)
from clientgo.cache.queues.queue import ChangeError, Delta, Deltas, QueueMetrics
from clientgo.cache.store.changes import DeletedFinalStateUnknown, DeltaType
from clientgo.cache.store.keys import KeyFunc, meta_namespace_key
from clientgo.clock import REAL_CLOCK, Clock


class DeltaFIFO(DeltaQueue):
    """Changes by key, keys in the order of their first pending change. Thread-safe.

    ``known_objects`` is the consumer's store, from which deletions are detected; its lock is
    taken inside the queue's. ``transformer`` is called once for each object, outside every lock.
    ``name`` appears in logs and in waits for the first sync.
    """

    def __init__(
        self,
        *,
        key_func: KeyFunc = meta_namespace_key,
        known_objects: KnownObjects | None = None,
        transformer: Transformer | None = None,
        emit_replaced: bool = True,
        name: str = "DeltaFIFO",
        clock: Clock = REAL_CLOCK,
        metrics: QueueMetrics | None = None,
    ) -> None:
        super().__init__(key_func, known_objects, transformer, name, clock, metrics)
        self._replaced_type = DeltaType.REPLACED if emit_replaced else DeltaType.SYNC
        self._items: dict[str, Deltas] = {}
        self._order: deque[str] = deque()

    def replace(self, objs: Sequence[Any], resource_version: str) -> None:
        """Queue the content of a list, and the deletion of everything that is not in it.

        Raises :class:`~clientgo.cache.ChangeError` for the first object that has no key or
        that the transformer refuses; objects before it stay queued, nothing is deleted.
        """
        prepared, error = self._prepare(zip(repeat(self._replaced_type), objs))
        with self._lock:
            self._append_locked(prepared)
            if error is None:
                listed = {key for key, _ in prepared}
                deletions = self._delete_unlisted_locked(listed)
                self._populate_locked(len(listed) + deletions)
            self._announce_locked()
        if error is not None:
            raise ChangeError(len(prepared), objs[len(prepared)], error) from error

    def resync(self) -> None:
        """Queue every known object once more, except those with changes pending or in flight."""
        if self._known_objects is None:
            return
        with self._lock:
            for key in self._known_objects.list_keys():
                if key in self._items or key in self._in_flight:
                    continue
                obj = self._known_object_locked(key)
                if obj is not None:
                    self._start_locked(key, Delta(DeltaType.SYNC, obj))
            self._announce_locked()

    def _delete_unlisted_locked(self, listed: set[str]) -> int:
        """Queue deletions for what is pending or known but not listed; return how many."""
        pending = [key for key in self._items if key not in listed]
        known = [
            key for key in self._known_keys_locked() if key not in listed and key not in self._items
        ]
        for key in pending:
            deltas = self._items[key]
            deltas.append(Delta(DeltaType.DELETED, tombstone_of(key, deltas[-1])))
            _merge_deletions(deltas)
        for key in known:
            self._start_locked(key, Delta(DeltaType.DELETED, self._known_tombstone_locked(key)))
        return len(pending) + len(known)

    def _pending_locked(self) -> int:
        return len(self._items)

    def _append_locked(self, prepared: list[KeyedDelta]) -> None:
        items, order, deleted = self._items, self._order, DeltaType.DELETED
        for key, delta in prepared:
            deltas = items.get(key)
            if deltas is not None:
                deltas.append(delta)
                if delta.type is deleted:
                    _merge_deletions(deltas)
            elif delta.type is not deleted or self._is_known_locked(key):
                items[key] = [delta]
                order.append(key)

    def _start_locked(self, key: str, delta: Delta) -> None:
        self._items[key] = [delta]
        self._order.append(key)

    def _drops_locked(self, kind: DeltaType, obj: Any) -> bool:
        if kind is not DeltaType.DELETED:
            return False
        key = self.key_of(obj)
        return key not in self._items and not self._is_known_locked(key)

    def _take_locked(self, limit: int) -> list[Deltas]:
        if limit >= len(self._items):
            self._in_flight, self._items = self._items, {}
            self._order.clear()
        else:
            keys = [self._order.popleft() for _ in range(limit)]
            self._in_flight = {key: self._items.pop(key) for key in keys}
        return list(self._in_flight.values())


def _merge_deletions(deltas: Deltas) -> None:
    """Of two deletions at the end keep one: the later if the earlier is a tombstone."""
    if len(deltas) < 2 or deltas[-2].type is not DeltaType.DELETED:
        return
    if type(deltas[-2].object) is DeletedFinalStateUnknown:
        del deltas[-2]
    else:
        del deltas[-1]
