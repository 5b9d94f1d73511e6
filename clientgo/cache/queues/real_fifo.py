"""The queue that keeps every change in the order of its arrival.

Promises: nothing is merged or dropped. Without known objects a list, a resync and a bookmark are
one entry each, compared with the store when it is processed. With known objects a list becomes
single changes when it is queued, deletions first.

Differs from client-go (``tools/cache`` RealFIFO): lists are atomic exactly when there are no known
objects. The lock is not held while entries are processed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from clientgo.cache.queues.batch import Batch, Waiting
from clientgo.cache.queues.change_queue import (
    ChangePreparation,
    ChangeQueue,
    KeyedDelta,
    ListedChanges,
    Note,
    PendingChanges,
    Transformer,
)
from clientgo.cache.queues.known_objects import ConsumerState, KnownObjects, tombstone_of
from clientgo.cache.queues.queue import ChangeError, QueueMetrics, Replacement
from clientgo.cache.store.changes import WHOLE_STORE_TYPES, Delta, DeltaType
from clientgo.cache.store.keys import KeyFunc, meta_namespace_key
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class RealFIFO(ChangeQueue):
    """All changes in the order of arrival. Thread-safe.

    Without ``known_objects`` the queue is atomic: a list is one ``REPLACED_ALL``, a resync one
    ``SYNC_ALL``, a bookmark one ``BOOKMARK`` if ``emit_bookmarks`` is set. With ``known_objects``,
    the consumer's store, a list is compared with them and with the pending changes when it is
    queued. When :meth:`replace` fails, nothing is queued, except that with known objects a refusal
    of the transformer leaves the deletions and the objects before it queued.

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
        pending: PendingChanges[ListedInOrder]
        if known_objects is None:
            pending = AtomicChanges(emit_bookmarks=emit_bookmarks)
        else:
            pending = SingleChanges(known_objects)
        super().__init__(pending, key_func, transformer, name=name, clock=clock, metrics=metrics)


class ListedInOrder(ListedChanges):
    """A list for a :class:`RealFIFO`; ``keys`` are those of the whole list."""

    changes: list[KeyedDelta]
    keys: set[str]


class _OrderedChanges:
    """Changes in the order of arrival."""

    def __init__(self) -> None:
        self._queue: deque[KeyedDelta] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def append(self, changes: list[KeyedDelta]) -> None:
        self._queue.extend(changes)

    def drops(self, kind: DeltaType, key: str) -> bool:
        return False

    def _take(self, limit: int) -> dict[str, Waiting]:
        taken: dict[str, Waiting] = {}
        for key, delta in self._queue:
            stands_alone = delta.type in WHOLE_STORE_TYPES
            if taken and (stands_alone or key in taken):
                break
            taken[key] = delta
            if stands_alone or len(taken) == limit:
                break
        if len(taken) == len(self._queue):
            self._queue.clear()
        else:
            for _ in taken:
                self._queue.popleft()
        return taken


class AtomicChanges(_OrderedChanges):
    """The pending changes of a :class:`RealFIFO` without known objects."""

    def __init__(self, *, emit_bookmarks: bool) -> None:
        super().__init__()
        self._emit_bookmarks = emit_bookmarks

    def take(self, limit: int) -> Batch:
        return Batch(self._take(limit).values())

    def processed(self) -> None:
        """Do nothing: what is in flight is not compared with anything."""

    def prepare_list(
        self, preparation: ChangePreparation, objs: Sequence[Any], resource_version: str
    ) -> ListedInOrder:
        replacement = Replacement(_transformed(preparation, objs), resource_version)
        return ListedInOrder(None, [("", Delta(DeltaType.REPLACED_ALL, replacement))], set())

    def append_list(self, listed: ListedInOrder, note: Note | None) -> None:
        self.append(listed.changes)
        if note is not None:
            note(listed.changes)

    def append_resync(self, note: Note | None) -> None:
        changes = [("", Delta(DeltaType.SYNC_ALL, None))]
        self.append(changes)
        if note is not None:
            note(changes)

    def append_bookmark(self, resource_version: str) -> None:
        if self._emit_bookmarks:
            self.append([("", Delta(DeltaType.BOOKMARK, resource_version))])


class SingleChanges(_OrderedChanges):
    """The pending changes of a :class:`RealFIFO` with known objects."""

    def __init__(self, known_objects: KnownObjects) -> None:
        super().__init__()
        self._consumer = ConsumerState(known_objects)

    def take(self, limit: int) -> Batch:
        self._consumer.in_flight = self._take(limit)
        return Batch(self._consumer.in_flight.values())

    def processed(self) -> None:
        self._consumer.in_flight = {}

    def prepare_list(
        self, preparation: ChangePreparation, objs: Sequence[Any], resource_version: str
    ) -> ListedInOrder:
        listed = ListedInOrder(None, [], preparation.keys_of(objs))
        try:
            for part in preparation.listed(DeltaType.REPLACED, objs):
                listed.changes += part
        except ChangeError as error:
            listed.error = error
        return listed

    def append_list(self, listed: ListedInOrder, note: Note | None) -> None:
        changes = self._deletions(listed.keys) + listed.changes
        self.append(changes)
        if note is not None:
            note(changes)

    def append_resync(self, note: Note | None) -> None:
        pending = {key for key, _ in self._queue}
        objects = self._consumer.idle_objects(pending.__contains__)
        changes = [(key, Delta(DeltaType.SYNC, obj)) for key, obj in objects]
        self.append(changes)
        if note is not None:
            note(changes)

    def append_bookmark(self, resource_version: str) -> None:
        """Ignore it: deletions come before the changes of a list, out of the server's order."""

    def _deletions(self, listed: set[str]) -> list[KeyedDelta]:
        """Return deletions for what is pending, in order of arrival, or known but not listed."""
        last_pending = dict(self._queue)
        deletions = [
            (key, Delta(DeltaType.DELETED, tombstone_of(key, last)))
            for key, last in last_pending.items()
            if key not in listed and last.type is not DeltaType.DELETED
        ]
        deletions += [
            (key, Delta(DeltaType.DELETED, self._consumer.tombstone(key)))
            for key in self._consumer.known_keys()
            if key not in listed and key not in last_pending
        ]
        return deletions


def _transformed(preparation: ChangePreparation, objs: Sequence[Any]) -> tuple[Any, ...]:
    transformer = preparation.transformer
    if transformer is None:
        return tuple(objs)
    objects: list[Any] = []
    try:
        for obj in objs:
            objects.append(transformer(obj))  # noqa: PERF401 - the error names where it failed
    except Exception as error:
        raise ChangeError(len(objects), objs[len(objects)], error) from error
    return tuple(objects)
