"""Applies the changes of a queue to the store and notifies the handlers.

Promises: the store changes first. Notifications follow from what the store held: the first sight of
an object is an addition even if the server sent MODIFIED. An object that the store refuses is
logged and counted and causes no notification.

Differs from client-go (``tools/cache`` processDeltas): errors are reported, not discarded, and a
refused object does not keep the rest of its list out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from clientgo.cache.informer.hops import updated
from clientgo.cache.informer.notifications import Chunk, Kind, Notification
from clientgo.cache.queues.queue import Deltas, Replacement
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import KeyFuncError, deletion_handling_meta_namespace_key
from clientgo.cache.store.parts import in_parts
from clientgo.cache.store.store import IndexFuncError
from clientgo.meta import NoMetadataError, metadata_of
from clientgo.observe.trace import active_trace

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
        vanished = {key: obj for key, obj in before.items() if key not in listed}
        befores: list[Before]
        try:
            store.replace(list(listed.values()), replacement.resource_version)
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
