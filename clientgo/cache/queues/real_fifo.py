"""The queue that keeps every change in the order of its arrival.

Promises: nothing is merged or dropped. Without known objects a list, a resync and a bookmark are
one entry each, compared with the store when it is processed. With known objects a list becomes
single changes when it is queued, deletions first.

Differs from client-go (``tools/cache`` RealFIFO): lists are atomic exactly when there are no known
objects. Waiting, popping and being in sync are in ``handover.py``, which says how they differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from clientgo.cache.queues.handover import HandOver, KeyedDelta
from clientgo.cache.queues.known_objects import ConsumerState, KnownObjects, tombstone_of
from clientgo.cache.queues.queue import Batch, ChangeError, QueueMetrics, Waiting
from clientgo.cache.store.changes import WHOLE_STORE_TYPES, Delta, DeltaType, Replacement
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, meta_namespace_key
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class RealFIFO(HandOver):
    """All changes in the order of arrival. Thread-safe.

    Without ``known_objects`` the queue is atomic: a list is one ``REPLACED_ALL``, a resync one
    ``SYNC_ALL``, a bookmark one ``BOOKMARK`` if ``emit_bookmarks`` is set. With ``known_objects``,
    the consumer's store, a list is compared with them and with the pending changes when it is
    queued. No informer here runs so; it is client-go's queue without its AtomicFIFO gate.

    Raises ``ValueError`` for bookmarks together with known objects: they are out of order there.
    """

    def __init__(
        self,
        *,
        key_func: KeyFunc = meta_namespace_key,
        known_objects: KnownObjects | None = None,
        emit_bookmarks: bool = False,
        name: str = "RealFIFO",
        clock: Clock = REAL_CLOCK,
        metrics: QueueMetrics | None = None,
    ) -> None:
        if emit_bookmarks and known_objects is not None:
            raise ValueError("bookmarks need an atomic queue: leave known_objects out")
        self._is_atomic = known_objects is None
        self._consumer = ConsumerState(known_objects)
        self._emit_bookmarks = emit_bookmarks
        self._changes: deque[KeyedDelta] = deque()
        super().__init__(key_func, name=name, clock=clock, metrics=metrics)

    # Producers

    def add(self, obj: Any) -> None:
        """Queue an added object. Raises :class:`KeyFuncError`."""
        self._queue_one(Delta(DeltaType.ADDED, obj))

    def update(self, obj: Any) -> None:
        """Queue a changed object. Raises :class:`KeyFuncError`."""
        self._queue_one(Delta(DeltaType.UPDATED, obj))

    def delete(self, obj: Any) -> None:
        """Queue a deleted object or tombstone. Raises :class:`KeyFuncError`."""
        self._queue_one(Delta(DeltaType.DELETED, obj))

    def apply(self, changes: Sequence[Delta]) -> None:
        """Queue several changes under one acquisition of the lock.

        Raises :class:`ChangeError` for the first that has no key; those before it are queued.
        """
        queued, error = self._queue(changes)
        if error is not None:
            raise ChangeError(queued, changes[queued].object, error) from error

    def replace(
        self, objs: Sequence[Any], resource_version: str, unknown: Collection[str] = ()
    ) -> None:
        """Queue the content of a list, and the deletion of everything that is not in it.

        What is known under the keys ``unknown`` is not deleted: the list has it, in a state that
        could not be read. Raises :class:`ChangeError`, with known objects, for the first object
        without a key; then nothing is queued.
        """
        if self._is_atomic:
            replacement = Replacement(tuple(objs), resource_version, frozenset(unknown))
            listed: list[KeyedDelta] = [("", Delta(DeltaType.REPLACED_ALL, replacement))]
        else:
            listed, error = self._keyed([Delta(DeltaType.REPLACED, obj) for obj in objs])
            if error is not None:
                failed = len(listed)
                raise ChangeError(failed, objs[failed], error) from error
        with self._lock:
            if not self._is_atomic:
                listed = self._deletions_locked({key for key, _ in listed}, unknown) + listed
            self._append_locked(listed)
            self._populate_locked(len(self._changes))
            self._announce_locked()

    def resync(self) -> None:
        """Queue every known object once more, except those with changes pending or in flight.

        An atomic queue leaves that to its consumer, who knows the objects.
        """
        with self._lock:
            if self._is_atomic:
                syncs = [("", Delta(DeltaType.SYNC_ALL, None))]
            else:
                pending = {key for key, _ in self._changes}
                objects = self._consumer.idle_objects(pending.__contains__)
                syncs = [(key, Delta(DeltaType.SYNC, obj)) for key, obj in objects]
            self._append_locked(syncs)
            self._announce_locked()

    def bookmark(self, resource_version: str) -> None:
        """Queue a note that everything up to ``resource_version`` has been seen, if asked for."""
        if self._emit_bookmarks:
            with self._lock:
                self._changes.append(("", Delta(DeltaType.BOOKMARK, resource_version)))
                self._announce_locked()

    def _queue_one(self, change: Delta) -> None:
        _, error = self._queue([change])
        if error is not None:
            raise error

    def _queue(self, changes: Sequence[Delta]) -> tuple[int, KeyFuncError | None]:
        """Queue changes up to the first without a key; return how many, and its error."""
        keyed, error = self._keyed(changes)
        with self._lock:
            self._wait_for_room_locked()
            self._append_locked(keyed)
            self._populate_locked(0)
            self._announce_locked()
        return len(keyed), error

    def _append_locked(self, changes: Sequence[KeyedDelta]) -> int:
        """Add changes at the end; return how many."""
        self._changes += changes
        return len(changes)

    def _deletions_locked(self, listed: set[str], unknown: Collection[str]) -> list[KeyedDelta]:
        """Return deletions for what is pending, in order of arrival, or known but not listed."""
        kept = listed.union(unknown)
        last_pending = dict(self._changes)
        deletions = [
            (key, Delta(DeltaType.DELETED, tombstone_of(key, last)))
            for key, last in last_pending.items()
            if key not in kept and last.type is not DeltaType.DELETED
        ]
        deletions += [
            (key, Delta(DeltaType.DELETED, self._consumer.tombstone(key)))
            for key in self._consumer.known_keys()
            if key not in kept and key not in last_pending
        ]
        return deletions

    # The consumer

    def _count_locked(self) -> int:
        return len(self._changes)

    def _take_locked(self, limit: int) -> Batch:
        """Remove and return the first changes, up to one that must stand in another batch.

        No key occurs twice in a batch, and what concerns the whole store stands alone.
        """
        taken: dict[str, Waiting] = {}
        for key, delta in self._changes:
            stands_alone = delta.type in WHOLE_STORE_TYPES
            if taken and (stands_alone or key in taken):
                break
            taken[key] = delta
            if stands_alone or len(taken) == limit:
                break
        if len(taken) == len(self._changes):
            self._changes.clear()
        else:
            for _ in taken:
                self._changes.popleft()
        self._consumer.in_flight = taken
        return Batch(taken.values())

    def _processed_locked(self) -> None:
        self._consumer.in_flight = {}
