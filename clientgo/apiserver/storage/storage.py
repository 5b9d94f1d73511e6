"""Objects as encoded bytes, one resource version counter, and a bounded log of what changed.

Promises: a write is one synchronous step on the event loop: the version is taken, the object is
encoded once, the log is extended and every watcher is woken. There are no locks and no lost
events, because nothing else runs in between. Lists and watch events are made of the same bytes.
The state at an earlier version is found by undoing the log, as long as the log reaches back.

Does not promise validation or policy (``writes``). What outlives the process is up to the
``Journal``, which is told of each change.

Differs from etcd with a watch cache on top: there is one copy of an object, and a watcher is a
cursor in the log instead of a buffer of its own. A watcher that does not read costs nothing, and
is dropped when the log has moved past its cursor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Protocol

import msgspec
from sortedcontainers import SortedDict

from clientgo.apiserver.storage.journal import Entry, Journal, NoJournal
from clientgo.meta.decoding import decode as decode_typed

Object = dict[str, Any]
"""A decoded API object; one request owns it, storage holds its encoded form."""

FIRST_VERSION = 1000
"""Versions start here: 1 is long gone on any real server, and clients and tests rely on it."""

HISTORY_CHANGES = 20_000
"""Changes a collection remembers; beyond that a watch must start again from a list."""

HISTORY_BYTES = 64 * 1024 * 1024
"""Bytes of encoded objects that a collection's log may hold; a few huge objects reach it first."""

encode: Callable[[Any], bytes] = msgspec.json.encode
decode: Callable[[bytes], Any] = msgspec.json.decode


class EventType(StrEnum):
    """What happened to an object, in the words of the watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class StoredObject(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One state of one object. ``raw`` begins with its apiVersion and kind, in this order."""

    key: str
    resource_version: int
    raw: bytes
    uid: str
    labels: dict[str, str]
    fields: dict[str, str]
    """What field selectors of this resource may ask for."""
    owners: tuple[str, ...]
    """uids of the owner references."""

    def decode(self) -> Object:
        """A fresh dict of this state, the caller's to change."""
        decoded: Object = decode(self.raw)
        return decoded

    def at_version(self, version: int) -> StoredObject:
        """The same state under another resource version."""
        obj = self.decode()
        obj["metadata"]["resourceVersion"] = str(version)
        return msgspec.structs.replace(self, resource_version=version, raw=encode(obj))


class Change(msgspec.Struct, frozen=True, gc=False, eq=False):
    """An entry of the log.

    ``current`` of a deletion is the last state with the resource version of the deletion.
    """

    resource_version: int
    type: EventType
    current: StoredObject
    previous: StoredObject | None


class Watcher(Protocol):
    """Somebody who follows a collection's log."""

    def wake(self) -> None:
        """The log has grown."""

    @property
    def position(self) -> int:
        """Absolute index of the next change to read."""

    def drop(self) -> None:
        """The log has moved past the watcher's position: it can't go on."""


class _OwnerReference(msgspec.Struct, gc=False):
    uid: str


class _Metadata(msgspec.Struct, gc=False):
    """What storage itself reads of an object."""

    uid: str
    labels: dict[str, str] | None = None
    ownerReferences: list[_OwnerReference] | None = None  # noqa: N815 - the field's name


class _Head(msgspec.Struct, gc=False):
    metadata: _Metadata


def _restored(entry: Entry) -> StoredObject:
    metadata = decode_typed(entry.raw, _Head).metadata
    return StoredObject(
        entry.key,
        entry.version,
        entry.raw,
        metadata.uid,
        metadata.labels or {},
        entry.fields,
        tuple(reference.uid for reference in metadata.ownerReferences or ()),
    )


def object_key(namespace: str, name: str) -> str:
    """The key of an object within its collection; keys sort as a list answers them."""
    return f"{namespace}/{name}" if namespace else name


class Collection:
    """All objects of one resource, ordered by key, with the log of their changes."""

    def __init__(self, group: str, plural: str, version: int) -> None:
        self.group = group
        self.plural = plural
        self.expired = version
        """Newest version whose change the log no longer has: nothing can start before it."""
        self.watchers: set[Watcher] = set()
        self._objects: SortedDict[str, StoredObject] = SortedDict()
        self._log: list[Change] = []
        self._log_start = 0
        self._log_bytes = 0

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: str) -> StoredObject | None:
        """The object's current state."""
        found: StoredObject | None = self._objects.get(key)
        return found

    def scan(self, namespace: str = "", after: str = "") -> Iterator[StoredObject]:
        """Current objects in key order; of one namespace, and beyond a key, if given."""
        objects = self._objects
        if not namespace and not after:
            return iter(objects.values())
        low = max(f"{namespace}/" if namespace else "", after)
        high = f"{namespace}0" if namespace else None  # "0" follows "/" in ASCII
        keys = objects.irange(low or None, high, inclusive=(low != after, False))
        return (objects[key] for key in keys)

    def scan_at(self, version: int, namespace: str = "", after: str = "") -> list[StoredObject]:
        """The objects as they were at ``version``, which must not have expired."""
        undone: dict[str, StoredObject | None] = {}
        for change in reversed(self._log):
            if change.resource_version <= version:
                break
            undone[change.current.key] = change.previous
        if not undone:
            return list(self.scan(namespace, after))
        found = [item for item in self.scan(namespace, after) if item.key not in undone]
        prefix = f"{namespace}/" if namespace else ""
        found += [
            item
            for key, item in undone.items()
            if item is not None and key.startswith(prefix) and key > after
        ]
        return sorted(found, key=lambda item: item.key)

    # -- the log

    @property
    def log_end(self) -> int:
        """Absolute index that the next change will have."""
        return self._log_start + len(self._log)

    def position_after(self, version: int) -> int:
        """Absolute index of the first change beyond ``version``."""
        return self._log_start + bisect_right(
            self._log, version, key=lambda change: change.resource_version
        )

    def changes_from(self, position: int, limit: int) -> list[Change]:
        """Up to ``limit`` changes from an absolute index on."""
        start = position - self._log_start
        return self._log[start : start + limit]

    def expire(self, version: int) -> None:
        """Forget the log: whoever has not read it to its end must list again."""
        self._forget(len(self._log))
        self.expired = max(self.expired, version)

    def restore(self, stored: StoredObject) -> None:
        """Have an object whose change is history no longer."""
        self._objects[stored.key] = stored

    def apply(self, change: Change) -> None:
        """Make a change the newest one, and tell the watchers."""
        if change.type is EventType.DELETED:
            del self._objects[change.current.key]
        else:
            self._objects[change.current.key] = change.current
        self._log.append(change)
        self._log_bytes += len(change.current.raw)
        if len(self._log) > HISTORY_CHANGES or self._log_bytes > HISTORY_BYTES:
            self._forget(max(1, len(self._log) // 4))
        for watcher in self.watchers:
            watcher.wake()

    def _forget(self, count: int) -> None:
        """Drop the oldest ``count`` changes, and the watchers that still need them."""
        if count == 0:
            return
        self.expired = self._log[count - 1].resource_version
        self._log_bytes -= sum(len(change.current.raw) for change in self._log[:count])
        del self._log[:count]
        self._log_start += count
        for watcher in [item for item in self.watchers if item.position < self._log_start]:
            watcher.drop()


Observer = Callable[[Collection, Change], None]


class Storage:
    """All collections and the one counter of resource versions.

    Used on the server's event loop only.
    """

    def __init__(self, journal: Journal | None = None) -> None:
        """Take up what a journal has kept; observers are told later, by ``announce``.

        Raises:
            DataDirectoryError: what was kept is damaged.
        """
        self.version = FIRST_VERSION
        self._collections: dict[tuple[str, str], Collection] = {}
        self._observers: list[Observer] = []
        self._journal = journal or NoJournal()
        self._restore()
        self._restored = self.collections()
        self.restored_version = self.version
        """Version of the last change that was restored."""

    def _restore(self) -> None:
        history = self._journal.history()
        self.version = newest = max(self.version, history.compacted)
        for entry in history.entries:
            collection = self.collection(entry.collection)
            stored = _restored(entry)
            newest = max(newest, entry.version)
            if entry.version <= history.compacted:
                collection.restore(stored)
                continue
            previous = collection.get(entry.key)
            collection.apply(Change(entry.version, _event(previous, entry), stored, previous))
        self.version = newest

    def take_restored(self) -> list[Collection]:
        """The collections that were restored and not yet announced; empty from the next call on."""
        restored, self._restored = self._restored, []
        return restored

    def announce(self, collection: Collection) -> None:
        """Tell the observers of restored objects, as if they were new."""
        for stored in list(collection.scan()):
            change = Change(stored.resource_version, EventType.ADDED, stored, None)
            for observer in self._observers:
                observer(collection, change)

    async def durable(self) -> None:
        """Wait until every change so far will survive; answers go out after that.

        Raises:
            JournalError: changes can't be kept any more.
        """
        await self._journal.durable()

    def close(self) -> None:
        """Let others have what the journal keeps; nothing can be written any more."""
        self._journal.close()

    def observe(self, observer: Observer) -> None:
        """Call ``observer`` with every change, at once, after it has been applied."""
        self._observers.append(observer)

    def collection(self, key: tuple[str, str]) -> Collection:
        """The collection of a (group, plural), made when first asked for."""
        found = self._collections.get(key)
        if found is None:
            found = self._collections[key] = Collection(*key, version=self.version)
        return found

    def collections(self) -> list[Collection]:
        """Every collection that was ever asked for."""
        return list(self._collections.values())

    def drop(self, key: tuple[str, str]) -> None:
        """Forget a collection whose resource is no longer served."""
        self._collections.pop(key, None)

    def expire_history(self) -> None:
        """Forget every log."""
        for collection in self._collections.values():
            collection.expire(self.version)
        self._journal.forget(self.version)

    def put(
        self, collection: Collection, key: str, obj: Object, fields: dict[str, str]
    ) -> StoredObject:
        """Store a new state of an object; ``obj`` is given its resource version."""
        previous = collection.get(key)
        stored = self._encode(key, obj, fields)
        kind = EventType.ADDED if previous is None else EventType.MODIFIED
        self._publish(collection, Change(stored.resource_version, kind, stored, previous))
        return stored

    def delete(self, collection: Collection, key: str, last: Object | None = None) -> StoredObject:
        """Remove an object; ``last`` is its final state if it differs from the stored one."""
        previous = collection.get(key)
        if previous is None:
            raise KeyError(key)
        final = self._encode(
            key, previous.decode() if last is None else last, fields=previous.fields
        )
        self._publish(
            collection, Change(final.resource_version, EventType.DELETED, final, previous)
        )
        return final

    def _encode(self, key: str, obj: Object, fields: dict[str, str]) -> StoredObject:
        self.version += 1
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(self.version)
        return StoredObject(
            key,
            self.version,
            encode(obj),
            metadata["uid"],
            metadata.get("labels") or {},
            fields,
            tuple(reference["uid"] for reference in metadata.get("ownerReferences") or ()),
        )

    def _publish(self, collection: Collection, change: Change) -> None:
        current = change.current
        self._journal.record(
            Entry(
                change.resource_version,
                change.previous.resource_version if change.previous else 0,
                change.type is EventType.DELETED,
                (collection.group, collection.plural),
                current.key,
                current.raw,
                current.fields,
            )
        )
        collection.apply(change)
        for observer in self._observers:
            observer(collection, change)


def _event(previous: StoredObject | None, entry: Entry) -> EventType:
    if entry.deleted:
        return EventType.DELETED
    return EventType.ADDED if previous is None else EventType.MODIFIED
