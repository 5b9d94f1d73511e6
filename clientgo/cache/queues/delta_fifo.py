"""The queue that keeps the changes of each object together until they are processed.

Promises: a key waits once, in the place of its first pending change, with its changes from oldest
to newest; only two deletions in a row become one. A deletion of an unknown object is dropped. A
list adds a deletion for every known or pending object that it does not contain.

Differs from client-go (``tools/cache`` DeltaFIFO): a list yields ``REPLACED``, never ``SYNC``.
Waiting, popping and being in sync are in ``handover.py``, which says how they differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from clientgo.cache.queues.handover import HandOver, KeyedDelta
from clientgo.cache.queues.known_objects import ConsumerState, KnownObjects, tombstone_of
from clientgo.cache.queues.queue import (
    Batch,
    ChangeError,
    Deltas,
    QueueMetrics,
    Waiting,
    as_deltas,
    newest_of,
)
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, meta_namespace_key
from clientgo.cache.store.parts import in_parts
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class DeltaFIFO(HandOver):
    """Changes by key, keys in the order of their first pending change. Thread-safe.

    ``known_objects`` is the consumer's store, which shows what a list no longer contains. Its lock
    is taken with the queue's lock held. ``name`` appears in logs and in waits for the first sync.
    """

    def __init__(
        self,
        *,
        key_func: KeyFunc = meta_namespace_key,
        known_objects: KnownObjects | None = None,
        name: str = "DeltaFIFO",
        clock: Clock = REAL_CLOCK,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self._consumer = ConsumerState(known_objects)
        self._items: dict[str, Waiting] = {}
        """The changes that wait, by key."""
        self._order: deque[tuple[str, ...]] = deque()
        """The keys in the order in which they are taken."""
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
        could not be read. Raises :class:`ChangeError` for the first object without a key; then the
        objects before it are queued, and nothing is deleted.
        """
        listed, error = self._listed(objs)
        with self._lock:
            deletions = self._deletions_locked(listed, unknown) if error is None else []
            if self._items:
                for part in in_parts(_one_by_one(listed)):
                    self._append_locked(part)
            else:
                self._fill_locked(listed)
            for part in in_parts(deletions):
                self._append_locked(part, also_unknown=True)
            if error is None:
                self._populate_locked(len(self._items))
            self._announce_locked()
        if error is not None:
            raise error

    def resync(self) -> None:
        """Queue every known object once more, except those with changes pending or in flight."""
        with self._lock:
            objects = self._consumer.idle_objects(self._items.__contains__)
            syncs = ((key, Delta(DeltaType.SYNC, obj)) for key, obj in objects)
            for part in in_parts(syncs):
                self._append_locked(part)
            self._announce_locked()

    def bookmark(self, resource_version: str) -> None:
        """Do nothing: keys leave their order, so that the store is never as of one version."""

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

    def _append_locked(self, changes: Sequence[KeyedDelta], *, also_unknown: bool = False) -> int:
        """Add each change after those of its key; return how many were not dropped.

        Drops the deletion of what is neither pending nor known, unless it is ``also_unknown``.
        """
        items, deleted = self._items, DeltaType.DELETED
        new_keys: list[str] = []
        dropped = 0
        for key, delta in changes:
            if key in items:
                _add(items, key, delta)
            elif delta.type is not deleted or also_unknown or self._consumer.knows(key):
                items[key] = delta
                new_keys.append(key)
            else:
                dropped += 1
        if new_keys:
            self._order.append(tuple(new_keys))
        return len(changes) - dropped

    def _fill_locked(self, listed: dict[str, Waiting]) -> None:
        """Make a list the content of an empty queue: most lists come when nothing waits."""
        self._items = listed
        self._order += in_parts(listed)

    def _listed(self, objs: Sequence[Any]) -> tuple[dict[str, Waiting], ChangeError | None]:
        """Return the objects of a list as changes by key, up to the first that has no key."""
        deltas = map(Delta, repeat(DeltaType.REPLACED), objs)
        try:
            listed: dict[str, Waiting] = dict(zip(map(self._key_func, objs), deltas, strict=True))
        except Exception:  # noqa: BLE001 - found below, one by one
            listed = {}
        if len(listed) == len(objs):
            return listed, None
        # A key occurs twice, or an object has none.
        listed = {}
        keyed, error = self._keyed([Delta(DeltaType.REPLACED, obj) for obj in objs])
        for key, delta in keyed:
            _add(listed, key, delta)
        if error is None:
            return listed, None
        failed = ChangeError(len(keyed), objs[len(keyed)], error)
        failed.__cause__ = error
        return listed, failed

    def _deletions_locked(
        self, listed: Mapping[str, Waiting], unknown: Collection[str]
    ) -> list[KeyedDelta]:
        """Return deletions for what is pending or known, but not listed."""
        there: Container[str] = {*listed, *unknown} if unknown else listed
        deletions = [
            (key, Delta(DeltaType.DELETED, tombstone_of(key, newest_of(waiting))))
            for key, waiting in self._items.items()
            if key not in there
        ]
        deletions += [
            (key, Delta(DeltaType.DELETED, self._consumer.tombstone(key)))
            for key in self._consumer.known_keys()
            if key not in there and key not in self._items
        ]
        return deletions

    # The consumer

    def _count_locked(self) -> int:
        return len(self._items)

    def _take_locked(self, limit: int) -> Batch:
        """Remove and return the changes of the first keys; they are in flight until processed."""
        if limit >= len(self._items):
            taken, self._items = self._items, {}
            self._order.clear()
        else:
            taken = {key: self._items.pop(key) for key in self._first_keys_locked(limit)}
        self._consumer.in_flight = taken
        return Batch(taken.values())

    def _processed_locked(self) -> None:
        self._consumer.in_flight = {}

    def _first_keys_locked(self, limit: int) -> list[str]:
        """Remove and return that many keys."""
        keys: list[str] = []
        while len(keys) < limit:
            part, room = self._order.popleft(), limit - len(keys)
            keys += part[:room]
            if len(part) > room:
                self._order.appendleft(part[room:])
        return keys


def _add(items: dict[str, Waiting], key: str, delta: Delta) -> None:
    """Add a change after those of its key."""
    waiting = items.get(key)
    if waiting is None:
        items[key] = delta
        return
    if type(waiting) is not list:
        waiting = items[key] = as_deltas(waiting)
    waiting.append(delta)
    if delta.type is DeltaType.DELETED:
        _merge_deletions(waiting)


def _merge_deletions(deltas: Deltas) -> None:
    """Keep one of two deletions at the end: the later one if the earlier one is a tombstone."""
    if len(deltas) < 2 or deltas[-2].type is not DeltaType.DELETED:
        return
    if type(deltas[-2].object) is DeletedFinalStateUnknown:
        del deltas[-2]
    else:
        del deltas[-1]


def _one_by_one(items: Mapping[str, Waiting]) -> Iterator[KeyedDelta]:
    for key, waiting in items.items():
        for delta in as_deltas(waiting):
            yield key, delta
