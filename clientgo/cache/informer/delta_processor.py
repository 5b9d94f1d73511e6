"""From the changes of a queue to the store and the handlers.

Promises: the store is changed first, with one lock for a batch, and what is told follows from what
the store held, not from what the server called the change: the first sight of an object is an
addition even if the server said MODIFIED. An object that the store refuses is logged, counted and
not told of; the others are not affected.

Does not promise that the store is no further than what is told.

Differs from client-go (``tools/cache`` processDeltas and its siblings): all errors are reported,
where client-go discards them; a list with an object that an index function refuses still replaces
the others; on request, an object that comes back with another uid is a deletion and an addition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from clientgo.cache.informer.notifications import Chunk, Kind, Notification
from clientgo.cache.queues.queue import Deltas, Replacement
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.store.changes import Change, DeletedFinalStateUnknown, DeltaType
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import KeyFuncError, deletion_handling_meta_namespace_key
from clientgo.cache.store.store import IndexFuncError
from clientgo.meta import NoMetadataError, metadata_of

Outcome: TypeAlias = Any
"""What the store held before a change: an object, None, or why the change was refused."""


class DeltaProcessor:
    """Applies batches of changes to ``store`` and passes what happened to ``tell``.

    ``tell`` is called in the thread that processes; what it raises passes through.
    """

    def __init__(
        self,
        store: Indexer[Any],
        tell: Callable[[Chunk], None],
        *,
        quarantine: QuarantineLog,
        split_recreated: bool = False,
    ) -> None:
        self._store = store
        self._tell = tell
        self._quarantine = quarantine
        self._split_recreated = split_recreated

    def process(self, batch: list[Deltas], is_in_initial_list: bool) -> None:
        """Process the changes of several objects; see :meth:`~clientgo.cache.Queue.pop_batch`."""
        whole = batch[0][0]
        if whole.type is DeltaType.REPLACED_ALL:
            chunk = self._replace(whole.object, is_in_initial_list)
        elif whole.type is DeltaType.SYNC_ALL:
            objs = self._store.list()
            chunk = Chunk([(Kind.SYNC, obj, obj) for obj in objs], syncs=len(objs))
        elif whole.type is DeltaType.BOOKMARK:
            self._store.bookmark(whole.object)
            return
        else:
            changes = [(delta.type, delta.object) for deltas in batch for delta in deltas]
            chunk = self._compared(changes, self._store.apply(changes), is_in_initial_list)
        if self._split_recreated:
            chunk.notifications = _recreations_split(chunk.notifications)
        if chunk.notifications:
            self._tell(chunk)

    def _compared(
        self, changes: Sequence[Change], outcomes: Sequence[Outcome], is_initial: bool
    ) -> Chunk:
        """What each change was to the store. This loop is run for every event."""
        notifications: list[Notification] = []
        append = notifications.append
        adds = syncs = 0
        add, update, sync, deleted = Kind.ADD, Kind.UPDATE, Kind.SYNC, DeltaType.DELETED
        for (kind, obj), before in zip(changes, outcomes, strict=True):
            if isinstance(before, Exception):
                self._quarantine.report(obj, str(before))
            elif kind is deleted:
                append((Kind.DELETE, obj, None))
            elif before is None:
                adds += 1
                append((add, obj, is_initial))
            else:
                try:
                    same = before.metadata.resource_version == obj.metadata.resource_version
                except AttributeError:
                    same = _is_same_version(before, obj)
                syncs += same
                append((sync if same else update, before, obj))
        return Chunk(notifications, adds if is_initial else 0, syncs)

    def _replace(self, replacement: Replacement, is_initial: bool) -> Chunk:
        """A list, compared with the store as it is now."""
        store = self._store
        listed = self._keyed(replacement.objects)
        keys = {key for key, _ in listed}
        before = {key: store.get_by_key(key) for key in store.list_keys()}
        vanished = {key: obj for key, obj in before.items() if key not in keys}
        changes: list[Change] = [
            (DeltaType.DELETED, DeletedFinalStateUnknown(key, obj)) for key, obj in vanished.items()
        ]
        changes += [(DeltaType.REPLACED, obj) for _, obj in listed]
        outcomes: Sequence[Outcome]
        try:
            store.replace([obj for _, obj in listed], replacement.resource_version)
            outcomes = [*vanished.values(), *(before.get(key) for key, _ in listed)]
        except (KeyFuncError, IndexFuncError):
            # One by one, so that only the objects at fault are left out.
            outcomes = store.apply(changes)
            store.bookmark(replacement.resource_version)
        return self._compared(changes, outcomes, is_initial)

    def _keyed(self, objs: Sequence[Any]) -> list[tuple[str, Any]]:
        keyed = []
        for obj in objs:
            try:
                keyed.append((deletion_handling_meta_namespace_key(obj), obj))
            except NoMetadataError as error:
                self._quarantine.report(obj, str(error))
        return keyed


def _recreations_split(notifications: list[Notification]) -> list[Notification]:
    """With a deletion and an addition for every object that came back with another uid."""
    split: list[Notification] = []
    for notification in notifications:
        kind, old, new = notification
        if kind is Kind.UPDATE and metadata_of(old).uid != metadata_of(new).uid:
            key = deletion_handling_meta_namespace_key(old)
            split.append((Kind.DELETE, DeletedFinalStateUnknown(key, old), None))
            split.append((Kind.ADD, new, False))
        else:
            split.append(notification)
    return split


def _is_same_version(before: Any, after: Any) -> bool:
    try:
        same: bool = metadata_of(before).resource_version == metadata_of(after).resource_version
    except NoMetadataError:
        return False
    return same
