"""A queue of changes: everything but how the changes that wait are kept.

Promises: keys are computed and transformers run once for each object, before the lock is taken.
The queue has no bound, but when more than ``HIGH_WATER`` entries wait, a producer waits until the
current batch is processed, which slows the watch down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from clientgo.cache.queues.batch import Waiting
from clientgo.cache.queues.consumer_gate import ConsumerGate, GatedQueue
from clientgo.cache.queues.hops import appended, popped
from clientgo.cache.queues.queue import (
    DEFAULT_BATCH_SIZE,
    ChangeError,
    Deltas,
    ProcessBatchFunc,
    ProcessFunc,
    QueueMetrics,
)
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling
from clientgo.cache.store.parts import in_parts
from clientgo.util.clock import Clock
from clientgo.util.copies import CopyableError

Transformer = Callable[[Any], Any]
"""Takes an object before it is queued and returns the one to queue. May change it in place."""

KeyedDelta = tuple[str, Delta]


class EmptyDeltasError(CopyableError, ValueError):
    """A key was asked of Deltas without a single delta."""


Note = Callable[[list[KeyedDelta]], None]
"""Is called with changes that were added, if a tracer is to see them."""


class ListedChanges(Struct):
    """A list, ready to be queued up to ``error``."""

    error: ChangeError | None


Listed = TypeVar("Listed", bound=ListedChanges)


class PendingChanges(Protocol[Listed]):
    """How changes wait; :class:`DeltaFIFO` and :class:`RealFIFO` have one implementation each.

    Not thread-safe: all but :meth:`prepare_list` is called with the queue's lock held.
    """

    def __len__(self) -> int: ...

    def take(self, limit: int) -> Sequence[Deltas]: ...

    def processed(self) -> None: ...

    def append(self, changes: list[KeyedDelta]) -> None:
        """Add changes at the end."""

    def drops(self, kind: DeltaType, key: str) -> bool:
        """Return True if a change would not be queued."""

    def prepare_list(
        self, preparation: ChangePreparation, objs: Sequence[Any], resource_version: str
    ) -> Listed:
        """Prepare a list. Raises :class:`ChangeError` if none of it can be queued."""

    def append_list(self, listed: Listed, note: Note | None) -> None:
        """Add a list, and the deletion of everything that is not in it."""

    def append_resync(self, note: Note | None) -> None:
        """Add every known object once more, except those with changes pending or in flight."""

    def append_bookmark(self, resource_version: str) -> None:
        """Add a note that everything up to ``resource_version`` has been seen, if supported."""


class ChangePreparation:
    """Computes keys and transforms objects, outside of every lock."""

    def __init__(self, key_func: KeyFunc, transformer: Transformer | None) -> None:
        self._key_func = deletion_handling(key_func)
        self.transformer = transformer

    def key_of(self, obj: Any) -> str:
        """Return a key. Raises :class:`KeyFuncError`."""
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error

    def keys_of(self, objs: Sequence[Any]) -> set[str]:
        """Return the keys of a list. Raises :class:`ChangeError` for the first that fails."""
        keys: set[str] = set()
        for index, obj in enumerate(objs):
            try:
                keys.add(self._key_func(obj))
            except Exception as error:
                raise ChangeError(index, obj, error) from error
        return keys

    def prepared(self, changes: Iterable[Delta]) -> tuple[list[KeyedDelta], Exception | None]:
        """Prepare changes up to the first failure. Tombstones are not transformed."""
        prepared: list[KeyedDelta] = []
        append, key_func, transformer = prepared.append, self._key_func, self.transformer
        obj: Any = None
        try:
            for change in changes:
                obj = change.object
                key = key_func(obj)
                if transformer is None or type(obj) is DeletedFinalStateUnknown:
                    append((key, change))
                else:
                    append((key, Delta(change.type, transformer(obj))))
        except Exception as error:  # noqa: BLE001 - user code may raise anything; the caller reports it
            try:
                self.key_of(obj)
            except KeyFuncError as key_error:
                return prepared, key_error
            return prepared, error
        return prepared, None

    def listed_by_key(self, kind: DeltaType, objs: Sequence[Any]) -> dict[str, Waiting] | None:
        """Prepare a list in one go.

        Returns None if that is not possible: a key fails or occurs twice, or a transformer is to
        be called.
        """
        if self.transformer is not None:
            return None
        try:
            deltas = map(Delta, repeat(kind), objs)
            changes: dict[str, Waiting] = dict(zip(map(self._key_func, objs), deltas, strict=True))
        except Exception:  # noqa: BLE001 - one by one it is found and reported
            return None
        return changes if len(changes) == len(objs) else None

    def listed(self, kind: DeltaType, objs: Sequence[Any]) -> Iterator[list[KeyedDelta]]:
        """Prepare a list as changes of one kind, part by part.

        Raises :class:`ChangeError` for the first failure, after the part that ends before it.
        """
        done = 0
        for part in in_parts(objs):
            changes, cause = self.prepared(Delta(kind, obj) for obj in part)
            yield changes
            if cause is not None:
                failed = len(changes)
                raise ChangeError(done + failed, part[failed], cause) from cause
            done += len(part)


class ChangeQueue(GatedQueue):
    """A :class:`~clientgo.cache.Queue` over ``pending`` changes. Thread-safe."""

    def __init__(
        self,
        pending: PendingChanges[Any],
        key_func: KeyFunc,
        transformer: Transformer | None,
        *,
        name: str,
        clock: Clock,
        metrics: QueueMetrics | None,
    ) -> None:
        self._pending = pending
        self._preparation = ChangePreparation(key_func, transformer)
        self._gate: ConsumerGate[Deltas] = ConsumerGate(
            pending,
            name=name,
            clock=clock,
            metrics=metrics,
            popped=lambda batch: popped(batch, self.key_of),
        )

    # Producers

    def add(self, obj: Any) -> None:
        """Queue an added object. Raises :class:`KeyFuncError` or what the transformer raises."""
        self._queue_one(DeltaType.ADDED, obj)

    def update(self, obj: Any) -> None:
        """Queue a changed object. Raises :class:`KeyFuncError` or what the transformer raises."""
        self._queue_one(DeltaType.UPDATED, obj)

    def delete(self, obj: Any) -> None:
        """Queue a deleted object or tombstone. Raises like :meth:`add`."""
        self._queue_one(DeltaType.DELETED, obj)

    def apply(self, changes: Sequence[Delta]) -> None:
        """Queue several changes under one acquisition of the lock.

        Raises :class:`ChangeError` for the first that has no key or that the transformer refuses.
        """
        failure = self._queue_many(changes)
        if failure is not None:
            index, error = failure
            raise ChangeError(index, changes[index].object, error) from error

    def replace(self, objs: Sequence[Any], resource_version: str) -> None:
        """Queue the content of a list, and the deletion of everything that is not in it.

        Raises :class:`ChangeError` for the first object that has no key or that the transformer
        refuses. What is queued then, the class says.
        """
        listed = self._pending.prepare_list(self._preparation, objs, resource_version)
        gate = self._gate
        with gate.lock:
            self._pending.append_list(listed, self._noting())
            if listed.error is None:
                gate.populate_locked(len(self._pending))
            gate.announce_locked()
        if listed.error is not None:
            raise listed.error

    def resync(self) -> None:
        """Queue every known object once more, except those with changes pending or in flight."""
        with self._gate.lock:
            self._pending.append_resync(self._noting())
            self._gate.announce_locked()

    def bookmark(self, resource_version: str) -> None:
        """Queue a note that everything up to ``resource_version`` has been seen, if supported."""
        with self._gate.lock:
            self._pending.append_bookmark(resource_version)
            self._gate.announce_locked()

    # The consumer

    def pop(self, process: ProcessFunc) -> Deltas:
        """Block until there is an entry, process it and return it.

        Raises what ``process`` raises; the entry is gone anyway. Raises
        :class:`QueueClosedError` when the queue is closed and empty, ``RuntimeError`` when called
        from a process function.
        """
        return self._gate.pop(process)

    def pop_batch(
        self,
        process_batch: ProcessBatchFunc,
        process_single: ProcessFunc | None = None,
        limit: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Process up to ``limit`` entries, all with different keys; otherwise like :meth:`pop`.

        ``process_single``, if given, gets a batch of one. Entries of the initial list and later
        ones never share a batch. Returns without a call if an empty first list brought the queue
        in sync.
        """

        def process(batch: Sequence[Deltas], is_in_initial_list: bool) -> None:
            if len(batch) == 1 and process_single is not None:
                process_single(batch[0], is_in_initial_list)
            else:
                process_batch(batch, is_in_initial_list)

        self._gate.consume(process, limit)

    def key_of(self, obj: Any) -> str:
        """Return the key of an object, of a tombstone, or of Deltas (that of their newest object).

        Raises :class:`KeyFuncError`.
        """
        if isinstance(obj, list):
            if not obj:
                cause = EmptyDeltasError("Deltas without a delta have no key")
                raise KeyFuncError(obj, cause) from cause
            obj = obj[-1].object
        return self._preparation.key_of(obj)

    def _queue_one(self, kind: DeltaType, obj: Any) -> None:
        failure = self._queue_many((Delta(kind, obj),))
        if failure is not None:
            raise failure[1]

    def _queue_many(self, changes: Sequence[Delta]) -> tuple[int, Exception] | None:
        """Queue changes up to the first that fails; return its index and the reason."""
        gate = self._gate
        start = 0
        while True:
            prepared, error = self._preparation.prepared(changes[start:] if start else changes)
            failed = start + len(prepared)
            with gate.lock:
                gate.wait_for_room_locked()
                if gate.trace is None:
                    self._pending.append(prepared)
                else:
                    self._append_noted_locked(prepared)
                gate.populate_locked(0)
                gate.announce_locked()
                if error is None:
                    return None
                if isinstance(error, KeyFuncError) or not self._drops_locked(changes[failed]):
                    return failed, error
            start = failed + 1

    def _append_noted_locked(self, changes: list[KeyedDelta]) -> None:
        """Append changes, and note those that are not dropped."""
        kept = []
        for change in changes:
            key, delta = change
            if not self._pending.drops(delta.type, key):
                self._pending.append([change])
                kept.append(change)
        self._note_locked(kept)

    def _noting(self) -> Note | None:
        return None if self._gate.trace is None else self._note_locked

    def _note_locked(self, changes: list[KeyedDelta]) -> None:
        if self._gate.trace is not None and changes:
            self._gate.trace.note_all(self._gate.synced.name, appended, changes)

    def _drops_locked(self, change: Delta) -> bool:
        return self._pending.drops(change.type, self._preparation.key_of(change.object))
