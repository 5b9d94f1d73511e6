"""The queue that keeps every change in the order of its arrival.

Promises: nothing is merged or dropped, each entry is one change; without known objects a list, a
resync and a bookmark are one entry each, compared with the store only when they are processed;
with known objects a list becomes single changes when it is queued, deletions first.

Does not promise that a deletion is of something that the consumer has seen.

Differs from client-go (``tools/cache`` RealFIFO): whether lists are atomic follows from there
being known objects, so that the two cannot contradict each other, and the lock is never held while
entries are processed.
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
from clientgo.cache.queues.queue import ChangeError, Delta, Deltas, QueueMetrics, Replacement
from clientgo.cache.store.changes import WHOLE_STORE_TYPES, DeltaType
from clientgo.cache.store.keys import KeyFunc, meta_namespace_key
from clientgo.clock import REAL_CLOCK, Clock


class RealFIFO(DeltaQueue):
    """All changes in one line. Thread-safe.

    Without ``known_objects`` the queue is atomic: a list is one ``REPLACED_ALL``, a resync one
    ``SYNC_ALL``, a bookmark one ``BOOKMARK`` if ``emit_bookmarks`` is set. With ``known_objects``,
    the consumer's store, a list is compared with them and with what is pending when it is queued.
    Raises ``ValueError`` for bookmarks together with known objects: they are out of order there.
    """

    def __init__(
        self,
        *,
        key_func: KeyFunc = meta_namespace_key,
        known_objects: KnownObjects | None = None,
        transformer: Transformer | None = None,
        emit_bookmarks: bool = False,
        name: str = "RealFIFO",
        clock: Clock = REAL_CLOCK,
        metrics: QueueMetrics | None = None,
    ) -> None:
        if emit_bookmarks and known_objects is not None:
            raise ValueError("bookmarks need an atomic queue: leave known_objects out")
        super().__init__(key_func, known_objects, transformer, name, clock, metrics)
        self._emit_bookmarks = emit_bookmarks
        self._queue: deque[KeyedDelta] = deque()

    def replace(self, objs: Sequence[Any], resource_version: str) -> None:
        """Queue the content of a list, and the deletion of everything that is not in it.

        Raises :class:`~clientgo.cache.ChangeError` for the first object that has no key or
        that the transformer refuses. Then nothing is queued, except that with known objects a
        refusal of the transformer leaves the deletions and the objects before it queued.
        """
        if self._known_objects is None:
            self._replace_at_once(objs, resource_version)
        else:
            self._replace_one_by_one(objs)

    def resync(self) -> None:
        """Queue every known object once more, except those with changes pending or in flight."""
        with self._lock:
            if self._known_objects is None:
                self._queue.append(("", Delta(DeltaType.SYNC_ALL, None)))
            else:
                self._resync_known_locked(self._known_objects)
            self._announce_locked()

    def bookmark(self, resource_version: str) -> None:
        """Queue a note that everything up to ``resource_version`` has been seen, if enabled."""
        if self._emit_bookmarks:
            with self._lock:
                self._queue.append(("", Delta(DeltaType.BOOKMARK, resource_version)))
                self._announce_locked()

    def _replace_at_once(self, objs: Sequence[Any], resource_version: str) -> None:
        objects = self._transformed(objs)
        replaced = Delta(DeltaType.REPLACED_ALL, Replacement(objects, resource_version))
        with self._lock:
            self._queue.append(("", replaced))
            self._populate_locked(len(self._queue))
            self._announce_locked()

    def _transformed(self, objs: Sequence[Any]) -> tuple[Any, ...]:
        if self._transformer is None:
            return tuple(objs)
        objects: list[Any] = []
        try:
            for obj in objs:
                objects.append(self._transformer(obj))  # noqa: PERF401 - where it fails is told
        except Exception as error:
            raise ChangeError(len(objects), objs[len(objects)], error) from error
        return tuple(objects)

    def _replace_one_by_one(self, objs: Sequence[Any]) -> None:
        listed = self._keys_of(objs)
        prepared, error = self._prepare(zip(repeat(DeltaType.REPLACED), objs))
        with self._lock:
            self._queue.extend(self._deletions_locked(listed))
            self._queue.extend(prepared)
            if error is None:
                self._populate_locked(len(self._queue))
            self._announce_locked()
        if error is not None:
            raise ChangeError(len(prepared), objs[len(prepared)], error) from error

    def _keys_of(self, objs: Sequence[Any]) -> set[str]:
        keys: set[str] = set()
        for index, obj in enumerate(objs):
            try:
                keys.add(self._key_func(obj))
            except Exception as error:
                raise ChangeError(index, obj, error) from error
        return keys

    def _deletions_locked(self, listed: set[str]) -> list[KeyedDelta]:
        """Deletions for what is pending, in the order of its arrival, or known but not listed."""
        last_pending = dict(self._queue)
        deletions = [
            (key, Delta(DeltaType.DELETED, tombstone_of(key, last)))
            for key, last in last_pending.items()
            if key not in listed and last.type is not DeltaType.DELETED
        ]
        deletions += [
            (key, Delta(DeltaType.DELETED, self._known_tombstone_locked(key)))
            for key in self._known_keys_locked()
            if key not in listed and key not in last_pending
        ]
        return deletions

    def _resync_known_locked(self, known_objects: KnownObjects) -> None:
        pending = {key for key, _ in self._queue}
        for key in known_objects.list_keys():
            if key not in pending and key not in self._in_flight:
                obj = self._known_object_locked(key)
                if obj is not None:
                    self._queue.append((key, Delta(DeltaType.SYNC, obj)))

    def _pending_locked(self) -> int:
        return len(self._queue)

    def _append_locked(self, prepared: list[KeyedDelta]) -> None:
        self._queue.extend(prepared)

    def _take_locked(self, limit: int) -> list[Deltas]:
        taken: dict[str, Deltas] = {}
        for key, delta in self._queue:
            stands_alone = delta.type in WHOLE_STORE_TYPES
            if taken and (stands_alone or key in taken):
                break
            taken[key] = [delta]
            if stands_alone or len(taken) == limit:
                break
        if len(taken) == len(self._queue):
            self._queue.clear()
        else:
            for _ in taken:
                self._queue.popleft()
        self._in_flight = taken
        return list(taken.values())
