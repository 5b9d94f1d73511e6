"""The queue that keeps the changes of each object together until they are processed.

Promises: a key waits once, in the place of its first pending change, with its changes from oldest
to newest; only two deletions in a row become one. A deletion of an unknown object is dropped. A
list adds a deletion for every known or pending object that it does not contain.

Differs from client-go (``tools/cache`` DeltaFIFO): the lock is not held while an entry is
processed. A list yields ``REPLACED`` unless ``SYNC`` is asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clientgo.cache.queues.batch import Batch, Waiting, as_deltas, newest_of
from clientgo.cache.queues.change_queue import (
    ChangePreparation,
    ChangeQueue,
    KeyedDelta,
    ListedChanges,
    Note,
    Transformer,
)
from clientgo.cache.queues.known_objects import ConsumerState, KnownObjects, tombstone_of
from clientgo.cache.queues.queue import ChangeError, Deltas, QueueMetrics
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.keys import KeyFunc, meta_namespace_key
from clientgo.cache.store.parts import in_parts
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class DeltaFIFO(ChangeQueue):
    """Changes by key, keys in the order of their first pending change. Thread-safe.

    ``known_objects`` is the consumer's store, which shows what a list no longer contains. Its lock
    is taken with the queue's lock held. ``transformer`` is called once for each object, outside of
    every lock. ``name`` appears in logs and in waits for the first sync. When :meth:`replace`
    fails, the objects before the failure stay queued, and nothing is deleted.
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
        listed_type = DeltaType.REPLACED if emit_replaced else DeltaType.SYNC
        pending = ChangesByKey(known_objects, listed_type)
        super().__init__(pending, key_func, transformer, name=name, clock=clock, metrics=metrics)


class ListedByKey(ListedChanges):
    """A list for a :class:`DeltaFIFO`."""

    changes: dict[str, Waiting]


class ChangesByKey:
    """The pending changes of a :class:`DeltaFIFO`."""

    def __init__(self, known_objects: KnownObjects | None, listed_type: DeltaType) -> None:
        self._consumer = ConsumerState(known_objects)
        self._listed_type = listed_type
        self._items: dict[str, Waiting] = {}
        self._order: deque[tuple[str, ...]] = deque()
        """The keys, in parts that the garbage collector need not visit."""

    def __len__(self) -> int:
        return len(self._items)

    def take(self, limit: int) -> Batch:
        if limit >= len(self._items):
            taken, self._items = self._items, {}
            self._order.clear()
        else:
            taken = {key: self._items.pop(key) for key in self._first_keys(limit)}
        self._consumer.in_flight = taken
        return Batch(taken.values())

    def processed(self) -> None:
        self._consumer.in_flight = {}

    def append(self, changes: list[KeyedDelta]) -> None:
        items, deleted = self._items, DeltaType.DELETED
        keys: list[str] = []
        for key, delta in changes:
            if key in items:
                _add(items, key, delta)
            elif delta.type is not deleted or self._consumer.knows(key):
                items[key] = delta
                keys.append(key)
        if keys:
            self._order.append(tuple(keys))

    def drops(self, kind: DeltaType, key: str) -> bool:
        return (
            kind is DeltaType.DELETED and key not in self._items and not self._consumer.knows(key)
        )

    def prepare_list(
        self, preparation: ChangePreparation, objs: Sequence[Any], resource_version: str
    ) -> ListedByKey:
        in_one_go = preparation.listed_by_key(self._listed_type, objs)
        if in_one_go is not None:
            return ListedByKey(None, in_one_go)
        listed = ListedByKey(None, {})
        try:
            for part in preparation.listed(self._listed_type, objs):
                for key, delta in part:
                    _add(listed.changes, key, delta)
        except ChangeError as error:
            listed.error = error
        return listed

    def append_list(self, listed: ListedByKey, note: Note | None) -> None:
        deletions = self._deletions(listed.changes) if listed.error is None else []
        if self._items:
            self._append_parts(_one_by_one(listed.changes), note)
        else:
            self._items = listed.changes
            self._order += in_parts(listed.changes)
            if note is not None:
                note([*_one_by_one(listed.changes)])
        new = [key for key, _ in deletions if key not in self._items]
        for key, deletion in deletions:
            _add(self._items, key, deletion)
        self._order += in_parts(new)
        if note is not None:
            note(deletions)

    def append_resync(self, note: Note | None) -> None:
        objects = self._consumer.idle_objects(self._items.__contains__)
        self._append_parts(((key, Delta(DeltaType.SYNC, obj)) for key, obj in objects), note)

    def append_bookmark(self, resource_version: str) -> None:
        """Ignore it: keys leave their order, so that the store is never as of one version."""

    def _append_parts(self, changes: Iterable[KeyedDelta], note: Note | None) -> None:
        for part in in_parts(changes):
            added = list(part)
            self.append(added)
            if note is not None:
                note(added)

    def _first_keys(self, limit: int) -> list[str]:
        """Remove and return that many keys."""
        keys: list[str] = []
        while len(keys) < limit:
            part, room = self._order.popleft(), limit - len(keys)
            keys += part[:room]
            if len(part) > room:
                self._order.appendleft(part[room:])
        return keys

    def _deletions(self, listed: dict[str, Waiting]) -> list[KeyedDelta]:
        """Return deletions for what is pending or known, but not listed."""
        deletions = [
            (key, Delta(DeltaType.DELETED, tombstone_of(key, newest_of(waiting))))
            for key, waiting in self._items.items()
            if key not in listed
        ]
        deletions += [
            (key, Delta(DeltaType.DELETED, self._consumer.tombstone(key)))
            for key in self._consumer.known_keys()
            if key not in listed and key not in self._items
        ]
        return deletions


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


def _one_by_one(items: dict[str, Waiting]) -> Iterator[KeyedDelta]:
    for key, waiting in items.items():
        for delta in as_deltas(waiting):
            yield key, delta


def _merge_deletions(deltas: Deltas) -> None:
    """Keep one of two deletions at the end: the later one if the earlier one is a tombstone."""
    if len(deltas) < 2 or deltas[-2].type is not DeltaType.DELETED:
        return
    if type(deltas[-2].object) is DeletedFinalStateUnknown:
        del deltas[-2]
    else:
        del deltas[-1]
