"""Runs an informer: a reflector fills a queue, a loop empties it into the store and the handlers.

Promises: :meth:`Controller.run` returns with the queue closed and the reflector's thread joined. A
reflector that fails because of a bug is started again. A controller runs once. The store changes
before a handler is called. The first sight of an object is an addition even if the server sent
MODIFIED. An object that the store refuses is logged and counted and causes no notification.

Differs from client-go (``tools/cache`` Controller, processDeltas): errors of processing are not
discarded, and a refused object does not keep the rest of its list out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeAlias

from clientgo.cache.hops import updated
from clientgo.cache.informer.notifications import Chunk, Kind, Notification
from clientgo.cache.queues.delta_fifo import DeltaFIFO
from clientgo.cache.queues.done_checker import DoneChecker
from clientgo.cache.queues.queue import (
    Deltas,
    ProcessBatchFunc,
    Queue,
    QueueClosedError,
)
from clientgo.cache.queues.real_fifo import RealFIFO
from clientgo.cache.reflector.list_watch import ListWatchError
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.reflector.reflector import Reflector
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType, Replacement
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import KeyFuncError, deletion_handling_meta_namespace_key
from clientgo.cache.store.parts import in_parts
from clientgo.cache.store.store import IndexFuncError
from clientgo.meta import NoMetadataError, metadata_of
from clientgo.observe.trace import active_trace
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.cache.controller")

RESTART_AFTER: Final = 1.0
"""Seconds until a reflector that failed is started again."""


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """A kind of queue for an informer; handlers get the same calls, in another order of objects.

    ``make`` creates the queue for a store; its other arguments (``name``, ``clock``, ``metrics``)
    are keywords of the queues. ``keeps_order`` is True if changes come out in the order of their
    resource versions, so that the store always has a single version.

    Upstream: ``tools/cache`` newQueueFIFO and its feature gates.
    """

    make: Callable[..., Queue]
    keeps_order: bool


def _delta_fifo(store: Indexer[Any], **options: Any) -> Queue:
    return DeltaFIFO(known_objects=store, **options)


def _real_fifo(_store: Indexer[Any], **options: Any) -> Queue:
    return RealFIFO(emit_bookmarks=True, **options)


DELTA_FIFO: Final = QueueChoice(_delta_fifo, keeps_order=False)
"""Keeps the changes of each object together."""

REAL_FIFO: Final = QueueChoice(_real_fifo, keeps_order=True)
"""Keeps all changes in order and compares lists when they are processed."""


@uncopyable("it has threads; make one in each process")
class Controller:
    """Runs ``reflector``, which writes to ``queue``, and passes its batches to ``process``.

    ``processed`` is called after each batch.

    Source: k8s.io/client-go/tools/cache, Controller.
    """

    def __init__(
        self,
        queue: Queue,
        reflector: Reflector,
        process: ProcessBatchFunc,
        *,
        processed: Callable[[], None] = lambda: None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._queue = queue
        self._reflector = reflector
        self._process = process
        self._processed = processed
        self._clock = clock
        self._wrong: ListWatchError | None = None

    def run(
        self,
        stop: threading.Event,
        start: Callable[[SupervisedThread], object] = SupervisedThread.start,
    ) -> None:
        """Run until ``stop`` is set. Blocks. ``start`` starts its thread, perhaps beside others.

        Raises what escapes from processing, and :class:`ListWatchError` for a list-watch that can
        never work.
        """
        ending = StopEvent()

        def end() -> None:
            ending.set()
            self._queue.close()

        registration = call_when_set(stop, end)
        thread = SupervisedThread(
            self._run_reflector,
            args=(ending, end),
            name=self._reflector.name,
            then="the cache is not updated any more",
        )
        try:
            start(thread)
        except BaseException:
            registration.cancel()
            raise
        try:
            while not ending.is_set():
                self._queue.pop_batch(self._process)
                self._processed()
        except QueueClosedError:
            pass
        finally:
            end()
            registration.cancel()
            thread.join()
        if self._wrong is not None:
            raise self._wrong

    def has_synced(self) -> bool:
        """Return True if the first list has been processed."""
        return self._queue.has_synced()

    def has_synced_checker(self) -> DoneChecker:
        """Return the condition of :meth:`has_synced`, to wait for it."""
        return self._queue.has_synced_checker()

    def last_sync_resource_version(self) -> str:
        """Return the version up to which the queue has everything."""
        return self._reflector.last_sync_resource_version()

    def _run_reflector(self, ending: threading.Event, end: Callable[[], None]) -> None:
        while not ending.is_set():
            try:
                self._reflector.run(ending)
            except ListWatchError as error:
                self._wrong = error
                end()
            except BaseException:  # noqa: BLE001 - supervised: the cache must not silently go stale
                _log.exception(
                    "%s failed; starting it again in %.0f s", self._reflector.name, RESTART_AFTER
                )
                self._clock.sleep(RESTART_AFTER, ending)


Before: TypeAlias = Any
"""What the store held before a change: an object, None, or the error that refused the change."""


class DeltaProcessor:
    """Applies batches of changes to ``store`` and calls ``notify`` with what happened.

    ``notify`` runs in the thread that processes; what it raises is raised.
    """

    def __init__(
        self,
        store: Indexer[Any],
        notify: Callable[[Chunk], None],
        *,
        quarantine: QuarantineLog,
        split_recreated: bool = False,
        name: str = "informer",
    ) -> None:
        self._store = store
        self._notify = notify
        self._quarantine = quarantine
        self._split_recreated = split_recreated
        self._name = name
        self._trace = active_trace()

    def process(self, batch: Sequence[Deltas], is_in_initial_list: bool) -> None:
        """Process the changes of several objects; see :meth:`~clientgo.cache.Queue.pop_batch`."""
        whole = batch[0][0]
        if whole.type is DeltaType.REPLACED_ALL:
            replaced, befores = self._replace(whole.object)
            # In parts, so that a million old objects are not freed in one go, which holds all
            # threads up.
            done = 0
            for part in in_parts(replaced):
                end = done + len(part)
                chunk = self._compared(part, befores[done:end], is_in_initial_list)
                befores[done:end] = [None] * len(part)
                self._notify_of(chunk)
                done = end
        elif whole.type is DeltaType.SYNC_ALL:
            for objs in in_parts(self._store.list()):
                syncs: list[Notification] = [(Kind.SYNC, obj, obj) for obj in objs]
                self._notify_of(Chunk(syncs, syncs=len(syncs)))
        elif whole.type is DeltaType.BOOKMARK:
            self._store.bookmark(whole.object)
        else:
            changes = [*chain.from_iterable(batch)]
            befores = self._store.apply(changes)
            self._notify_of(self._compared(changes, befores, is_in_initial_list))

    def _notify_of(self, chunk: Chunk) -> None:
        if self._split_recreated:
            chunk.notifications = _recreations_split(chunk.notifications)
        if chunk.notifications:
            self._notify(chunk)

    def _compared(
        self, changes: Sequence[Delta], befores: Sequence[Before], is_initial: bool
    ) -> Chunk:
        """Return the notifications for changes of the store. This loop runs for every event."""
        if self._trace is not None:
            self._trace.note_all(self._name, updated, changes, befores)
        notifications: list[Notification] = []
        append = notifications.append
        adds = syncs = 0
        add, update, sync, deleted = Kind.ADD, Kind.UPDATE, Kind.SYNC, DeltaType.DELETED
        for change, before in zip(changes, befores, strict=True):
            obj = change.object
            if isinstance(before, Exception):
                self._quarantine.report(obj, str(before))
            elif change.type is deleted:
                append((Kind.DELETE, _with_state(obj, before), None))
            elif before is None:
                adds += 1
                append((add, obj, is_initial))
            else:
                try:
                    same = before.metadata.resource_version == obj.metadata.resource_version
                except AttributeError:
                    same = _is_same_version(before, obj)
                same = same and _is_same_object(before, obj)
                syncs += same
                append((sync if same else update, before, obj))
        return Chunk(notifications, adds if is_initial else 0, syncs)

    def _replace(self, replacement: Replacement) -> tuple[Iterator[Delta], list[Before]]:
        """Apply a list; return its changes of the store and what the store held before."""
        store = self._store
        listed = self._keyed(replacement.objects)
        before = {key: store.get_by_key(key) for key in store.list_keys()}
        kept = replacement.unknown
        vanished = {
            key: obj for key, obj in before.items() if key not in listed and key not in kept
        }
        befores: list[Before]
        try:
            store.replace(list(listed.values()), replacement.resource_version, replacement.unknown)
            befores = [*vanished.values(), *map(before.get, listed)]
        except (KeyFuncError, IndexFuncError):
            # One by one, to leave out only the objects that are refused.
            befores = store.apply([*_replacing(vanished, listed)])
            store.bookmark(replacement.resource_version)
        return _replacing(vanished, listed), befores

    def _keyed(self, objs: Sequence[Any]) -> dict[str, Any]:
        """Return the objects of a list by key; of two with the same key the later one."""
        keyed = {}
        for obj in objs:
            try:
                keyed[deletion_handling_meta_namespace_key(obj)] = obj
            except NoMetadataError as error:
                self._quarantine.report(obj, str(error))
        return keyed


def _replacing(vanished: Mapping[str, Any], listed: Mapping[str, Any]) -> Iterator[Delta]:
    for key, obj in vanished.items():
        yield Delta(DeltaType.DELETED, DeletedFinalStateUnknown(key, obj))
    for obj in listed.values():
        yield Delta(DeltaType.REPLACED, obj)


def _recreations_split(notifications: list[Notification]) -> list[Notification]:
    """Replace the update of an object with another uid by a deletion and an addition."""
    split: list[Notification] = []
    for notification in notifications:
        kind, old, new = notification
        if kind is Kind.UPDATE and not _is_same_object(old, new):
            key = deletion_handling_meta_namespace_key(old)
            split.append((Kind.DELETE, DeletedFinalStateUnknown(key, old), None))
            split.append((Kind.ADD, new, False))
        else:
            split.append(notification)
    return split


def _with_state(deleted: Any, before: Any) -> Any:
    """Return a deleted object; a tombstone without a state is given the one before.

    The last state may be one that cannot be decoded.
    """
    if type(deleted) is DeletedFinalStateUnknown and deleted.obj is None and before is not None:
        return DeletedFinalStateUnknown(deleted.key, before)
    return deleted


def _is_same_version(before: Any, after: Any) -> bool:
    try:
        same: bool = metadata_of(before).resource_version == metadata_of(after).resource_version
    except NoMetadataError:
        return False
    return same


def _is_same_object(before: Any, after: Any) -> bool:
    """Return False for another object of the name; a new server may give it the same version."""
    same: bool = before is after or metadata_of(before).uid == metadata_of(after).uid
    return same
