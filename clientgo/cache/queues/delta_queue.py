"""What the queues of changes have in common: keys, transformers, and what the consumer knows.

Promises: keys are taken and transformers run before the lock is acquired, once for each object;
while entries are being processed they count as known, with their newest state, because that is
what the consumer's store is about to hold.

Does not promise a bound: changes queue up as long as their consumer is slower than the producers.
When more than ``HIGH_WATER`` entries wait, though, a producer
lets the batch that is being processed be finished first, so that a slow consumer slows the watch
down.

Differs from client-go (``tools/cache`` DeltaFIFO, RealFIFO), where nothing is ever in flight,
because the lock is held, or where that does not matter, because there are no known objects.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from clientgo.cache.queues.consumer_queue import ConsumerQueue
from clientgo.cache.queues.queue import (
    DEFAULT_BATCH_SIZE,
    ChangeError,
    Delta,
    Deltas,
    ProcessBatchFunc,
    ProcessFunc,
    QueueMetrics,
)
from clientgo.cache.store.changes import Change, DeletedFinalStateUnknown, DeltaType
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling
from clientgo.clock import Clock

_log = logging.getLogger("clientgo.cache")

Transformer = Callable[[Any], Any]
"""Takes an object before it is queued and returns the one to queue; may change it in place."""

KeyedDelta = tuple[str, Delta]


class KnownObjects(Protocol):
    """The consumer's store, as far as a queue reads it. It is called with the queue's lock held."""

    def list_keys(self) -> list[str]: ...

    def get_by_key(self, key: str) -> Any | None: ...


class EmptyDeltasError(ValueError):
    """A key was asked of Deltas without a single delta."""


class DeltaQueue(ConsumerQueue[Deltas]):
    """Base of the two queues of changes; see :class:`~clientgo.cache.Queue`."""

    def __init__(
        self,
        key_func: KeyFunc,
        known_objects: KnownObjects | None,
        transformer: Transformer | None,
        name: str,
        clock: Clock,
        metrics: QueueMetrics | None,
    ) -> None:
        super().__init__(name, clock, metrics)
        self._key_func = deletion_handling(key_func)
        self._known_objects = known_objects
        self._transformer = transformer
        self._in_flight: dict[str, Deltas] = {}

    # producers

    def add(self, obj: Any) -> None:
        """Queue an added object. Raises :class:`KeyFuncError` or what the transformer raises."""
        self._queue_one(DeltaType.ADDED, obj)

    def update(self, obj: Any) -> None:
        """Queue a changed object. Raises :class:`KeyFuncError` or what the transformer raises."""
        self._queue_one(DeltaType.UPDATED, obj)

    def delete(self, obj: Any) -> None:
        """Queue a deleted object or tombstone. Raises like :meth:`add`."""
        self._queue_one(DeltaType.DELETED, obj)

    def apply(self, changes: Sequence[Change]) -> None:
        """Queue several changes under one acquisition of the lock.

        Raises :class:`ChangeError` for the first that has no key or that the transformer refuses.
        """
        failure = self._queue_many(changes)
        if failure is not None:
            index, error = failure
            raise ChangeError(index, changes[index][1], error) from error

    def bookmark(self, resource_version: str) -> None:
        """Ignored, unless the queue says otherwise."""

    @abstractmethod
    def replace(self, objs: Sequence[Any], resource_version: str) -> None: ...

    @abstractmethod
    def resync(self) -> None: ...

    # the consumer

    def pop(self, process: ProcessFunc) -> Deltas:
        """Block until there is an entry, process it and return it.

        What ``process`` raises is raised here; the entry is gone all the same. Raises
        :class:`QueueClosedError` when the queue is closed and empty, ``RuntimeError`` when called
        from a process function.
        """
        popped: list[Deltas] = []

        def process_popped(batch: list[Deltas], is_in_initial_list: bool) -> None:
            popped.extend(batch)
            process(batch[0], is_in_initial_list)

        while not popped:
            self._consume(process_popped, limit=1)
        return popped[0]

    def pop_batch(
        self,
        process_batch: ProcessBatchFunc,
        process_single: ProcessFunc | None = None,
        limit: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Like :meth:`pop`, for up to ``limit`` entries; all keys of a batch differ.

        A batch of one goes to ``process_single`` where there is one. Entries of the initial list
        and later ones never share a batch. Returns without a call when an empty first list has
        brought the queue in sync.
        """

        def process(batch: list[Deltas], is_in_initial_list: bool) -> None:
            if len(batch) == 1 and process_single is not None:
                process_single(batch[0], is_in_initial_list)
            else:
                process_batch(batch, is_in_initial_list)

        self._consume(process, limit)

    def key_of(self, obj: Any) -> str:
        """The key of an object, of a tombstone, or of Deltas (that of their newest object).

        Raises :class:`KeyFuncError`.
        """
        if isinstance(obj, list):
            if not obj:
                cause = EmptyDeltasError("Deltas without a delta have no key")
                raise KeyFuncError(obj, cause) from cause
            obj = obj[-1].object
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error

    # for the queues

    @abstractmethod
    def _append_locked(self, prepared: list[KeyedDelta]) -> None: ...

    def _drops_locked(self, kind: DeltaType, obj: Any) -> bool:
        """Tell whether a change would not be queued at all."""
        return False

    def _forget_taken_locked(self) -> None:
        self._in_flight = {}

    def _queue_one(self, kind: DeltaType, obj: Any) -> None:
        failure = self._queue_many(((kind, obj),))
        if failure is not None:
            raise failure[1]

    def _queue_many(self, changes: Sequence[Change]) -> tuple[int, Exception] | None:
        """Queue changes up to the first that fails; return its index and why."""
        start = 0
        while True:
            prepared, error = self._prepare(changes[start:] if start else changes)
            failed = start + len(prepared)
            with self._lock:
                self._wait_for_room_locked()
                self._append_locked(prepared)
                self._populate_locked(0)
                self._announce_locked()
                if error is None:
                    return None
                if isinstance(error, KeyFuncError) or not self._drops_locked(*changes[failed]):
                    return failed, error
            start = failed + 1

    def _prepare(self, changes: Iterable[Change]) -> tuple[list[KeyedDelta], Exception | None]:
        """Take keys and transform, up to the first failure; tombstones are not transformed."""
        prepared: list[KeyedDelta] = []
        append, key_func, transformer = prepared.append, self._key_func, self._transformer
        obj: Any = None
        try:
            for kind, obj in changes:
                key = key_func(obj)
                if transformer is None or type(obj) is DeletedFinalStateUnknown:
                    append((key, Delta(kind, obj)))
                else:
                    append((key, Delta(kind, transformer(obj))))
        except Exception as error:  # noqa: BLE001 - user code may raise anything; told to the caller
            try:
                self.key_of(obj)
            except KeyFuncError as key_error:
                return prepared, key_error
            return prepared, error
        return prepared, None

    def _is_known_locked(self, key: str) -> bool:
        """Whether the consumer's store holds the key, or will when it has processed its batch.

        A failing look-up counts as known: a deletion too many does no harm.
        """
        if self._known_objects is None:
            return False
        in_flight = self._in_flight.get(key)
        if in_flight is not None:
            return in_flight[-1].type is not DeltaType.DELETED
        try:
            return self._known_objects.get_by_key(key) is not None
        except Exception:  # noqa: BLE001 - the store is the user's
            _log.exception("Looking up a known object failed; it is taken for known: %s", key)
            return True

    def _known_keys_locked(self) -> Iterator[str]:
        """The keys that the consumer's store holds or is about to hold."""
        if self._known_objects is None:
            return
        for key, deltas in self._in_flight.items():
            if deltas[-1].type is not DeltaType.DELETED:
                yield key
        for key in self._known_objects.list_keys():
            if key not in self._in_flight:
                yield key

    def _known_tombstone_locked(self, key: str) -> DeletedFinalStateUnknown:
        """A tombstone with the known state of an object, without one where it is not found."""
        in_flight = self._in_flight.get(key)
        if in_flight is not None:
            return tombstone_of(key, in_flight[-1])
        return DeletedFinalStateUnknown(key, self._known_object_locked(key))

    def _known_object_locked(self, key: str) -> Any | None:
        assert self._known_objects is not None
        try:
            obj = self._known_objects.get_by_key(key)
        except Exception:  # noqa: BLE001 - the store is the user's
            _log.exception("Looking up a known object failed; going on without its state: %s", key)
            return None
        if obj is None:
            _log.info("A listed object is not in the store; going on without its state: %s", key)
        return obj


def tombstone_of(key: str, last: Delta) -> DeletedFinalStateUnknown:
    """A tombstone with the object of the last change; one inside another is unwrapped."""
    obj = last.object
    if type(obj) is DeletedFinalStateUnknown:
        obj = obj.obj
    return DeletedFinalStateUnknown(key, obj)
