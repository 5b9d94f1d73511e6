"""Objects as encoded bytes, one resource version counter, and a bounded log of changes.

Promises: a write is one synchronous step on the event loop: take a version, encode the object once,
append to the log, wake every watcher. Nothing else runs in between, so there are no locks and no
lost events. Lists and watch events use the same bytes. The state at an earlier version is found by
undoing the log, as far as the log reaches back.

Does not promise validation or policy (``objects.writer``), nor durability (``Journal``).

Differs from etcd with a watch cache: there is one copy of an object, and a watcher is a position in
the log instead of a buffer. A watcher that does not read costs nothing; it is dropped when the log
no longer has its position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import msgspec
from sortedcontainers import SortedDict

from clientgo.meta.decoding import decode as decode_typed
from clientgo.meta.nesting import MAX_NESTING, is_deeper_than
from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.storage.deep_values import (
    MOST_LEVELS,
    decode_deep,
    encode,
    fold,
    is_deep,
)
from clientgo.testcluster.server.storage.journal import Entry, Journal, NoJournal

T = TypeVar("T")

Object = dict[str, Any]
"""A decoded API object; one request owns it, storage holds its encoded form."""

FIRST_VERSION = 1000
"""The first version; on a real server, version 1 is always too old to watch from."""

HISTORY_CHANGES = 20_000
"""Changes in a collection's log; a watch from before them gets a 410."""

HISTORY_BYTES = 64 * 1024 * 1024
"""Bytes of encoded objects in a collection's log."""

decode: Callable[[bytes], Any] = msgspec.json.decode


def encode_state(obj: Object) -> tuple[bytes, bool]:
    """Encode a new state of an object; tell whether it is deep.

    Raises:
        RecursionError: it has more levels than the API allows.
    """
    try:
        raw = encode(obj)
    except RecursionError:
        fold(obj)
        raw = encode(obj)
    if raw.count(b"{") + raw.count(b"[") <= MOST_LEVELS or not is_deep(obj):
        return raw, False
    if is_deeper_than(raw, MAX_NESTING):
        raise RecursionError(f"an object of more than {MAX_NESTING} levels")
    return raw, is_deeper_than(raw, MOST_LEVELS)


class StoredObject(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One state of one object. ``raw`` begins with its apiVersion and kind, in this order."""

    key: str
    resource_version: int
    raw: bytes
    uid: str
    labels: dict[str, str]
    fields: dict[str, str]
    """Values that field selectors compare."""
    owners: tuple[str, ...]
    """uids of the owner references, each once."""
    is_deep: bool = False
    """It has more levels than a value in memory."""

    def decode(self) -> Object:
        """Return a new dict of this state; the caller may change it."""
        decoded: Object = decode_deep(self.raw) if self.is_deep else decode(self.raw)
        return decoded

    def read(self, into: type[T]) -> T:
        """Decode what a type has of this state: the kind and parts of the metadata."""
        return _read(self.raw, into, is_deep=self.is_deep)

    def with_body(self, obj: Object) -> StoredObject:
        """Return the same state with another body: the object in another version."""
        return msgspec.structs.replace(self, raw=encode(obj))

    def at_version(self, version: int) -> StoredObject:
        """Return the same state with another resource version."""
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
    """Follows a collection's log."""

    def wake(self) -> None:
        """Be called when the log has grown."""

    @property
    def position(self) -> int:
        """Return the absolute index of the next change to read."""

    def drop(self) -> None:
        """Be called when the log no longer has the watcher's position: end the watch."""


class _OwnerReference(msgspec.Struct, gc=False):
    uid: str


class _Metadata(msgspec.Struct, gc=False):
    """The metadata that storage itself reads."""

    uid: str
    labels: dict[str, str] | None = None
    ownerReferences: list[_OwnerReference] | None = None  # noqa: N815 - the field's name


class _Head(msgspec.Struct, gc=False):
    metadata: _Metadata


def _read(raw: bytes, into: type[T], *, is_deep: bool) -> T:
    if is_deep:  # decoded as what it is in memory, and encoded without its body
        obj = decode_deep(raw)
        raw = encode({key: obj[key] for key in ("apiVersion", "kind", "metadata")})
    return decode_typed(raw, into)


def _restored(entry: Entry) -> StoredObject:
    deep = is_deeper_than(entry.raw, MOST_LEVELS)
    metadata = _read(entry.raw, _Head, is_deep=deep).metadata
    return StoredObject(
        entry.key,
        entry.version,
        entry.raw,
        metadata.uid,
        metadata.labels or {},
        entry.fields,
        _owners(reference.uid for reference in metadata.ownerReferences or ()),
        deep,
    )


def _owners(uids: Iterable[str]) -> tuple[str, ...]:
    """Return each uid once; several references may name the same owner."""
    return tuple(dict.fromkeys(uids))


def object_key(namespace: str, name: str) -> str:
    """Return the key of an object within its collection; keys sort in the order of lists."""
    return f"{namespace}/{name}" if namespace else name


class Collection:
    """All objects of one resource, ordered by key, with the log of their changes."""

    def __init__(self, group: str, plural: str, version: int) -> None:
        self.group = group
        self.plural = plural
        self.key = (group, plural)
        self.expired = version
        """Newest version whose change is no longer in the log; no watch starts before it."""
        self.watchers: set[Watcher] = set()
        self._objects: SortedDict[str, StoredObject] = SortedDict()
        self._log: list[Change] = []
        self._log_start = 0
        self._log_bytes = 0

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: str) -> StoredObject | None:
        """Return the object's current state, or None."""
        found: StoredObject | None = self._objects.get(key)
        return found

    def scan(self, namespace: str = "", after: str = "") -> Iterator[StoredObject]:
        """Iterate over objects in key order; of one namespace, and after a key, if given."""
        objects = self._objects
        if not namespace and not after:
            return iter(objects.values())
        low = max(f"{namespace}/" if namespace else "", after)
        high = f"{namespace}0" if namespace else None  # "0" follows "/" in ASCII
        keys = objects.irange(low or None, high, inclusive=(low != after, False))
        return (objects[key] for key in keys)

    def scan_at(self, version: int, namespace: str = "", after: str = "") -> list[StoredObject]:
        """Return the objects as they were at ``version``, which must not have expired."""
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
    def log_start(self) -> int:
        """Return the absolute index of the oldest change that the log has."""
        return self._log_start

    @property
    def log_end(self) -> int:
        """Return the absolute index that the next change will have."""
        return self._log_start + len(self._log)

    def position_after(self, version: int) -> int:
        """Return the absolute index of the first change after ``version``."""
        return self._log_start + bisect_right(
            self._log, version, key=lambda change: change.resource_version
        )

    def changes_from(self, position: int, limit: int) -> list[Change]:
        """Return up to ``limit`` changes from an absolute index on."""
        start = position - self._log_start
        return self._log[start : start + limit]

    def expire(self, version: int) -> None:
        """Clear the log: a watcher that has not read it to its end must list again."""
        self._forget(len(self._log))
        self.expired = max(self.expired, version)

    def restore(self, stored: StoredObject) -> None:
        """Add an object whose change is no longer in the history."""
        self._objects[stored.key] = stored

    def apply(self, change: Change) -> None:
        """Apply a change, append it to the log, and wake the watchers."""
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
        """Remove the oldest ``count`` changes and drop the watchers that need them."""
        if count == 0:
            return
        self.expired = self._log[count - 1].resource_version
        self._log_bytes -= sum(len(change.current.raw) for change in self._log[:count])
        del self._log[:count]
        self._log_start += count
        for watcher in [item for item in self.watchers if item.position < self._log_start]:
            watcher.drop()


CollectionKey = tuple[str, str]
"""Group and plural of a resource."""

Observer = Callable[[Collection, Change], None]


class Storage:
    """All collections and the counter of resource versions.

    Used on the server's event loop only.
    """

    def __init__(self, journal: Journal | None = None) -> None:
        """Load what a journal has kept; ``announce`` calls the observers for it.

        Raises:
            DataDirectoryError: what was kept is damaged.
        """
        self.version = FIRST_VERSION
        self._collections: dict[CollectionKey, Collection] = {}
        self._observers: list[tuple[Observer, tuple[CollectionKey, ...]]] = []
        """With the collections that each follows; none: all."""
        self._observers_of: dict[CollectionKey, list[Observer]] = {}
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
        """Return the restored collections; later calls return none."""
        restored, self._restored = self._restored, []
        return restored

    def announce(self, collection: Collection) -> None:
        """Call the observers for the objects of a restored collection, as if they were new."""
        for stored in list(collection.scan()):
            change = Change(stored.resource_version, EventType.ADDED, stored, None)
            self._call_observers(collection, change)

    async def durable(self) -> None:
        """Wait until every change so far is kept; responses are sent after that.

        Raises:
            JournalError: changes can't be kept any more.
        """
        await self._journal.durable()

    def close(self) -> None:
        """Close the journal; nothing can be written any more."""
        self._journal.close()

    def observe(self, observer: Observer, *keys: CollectionKey) -> None:
        """Call ``observer`` with every change, in the same step, after it was applied.

        With ``keys`` it is called for changes in these collections only.
        """
        self._observers.append((observer, keys))
        self._observers_of.clear()

    def _call_observers(self, collection: Collection, change: Change) -> None:
        observers = self._observers_of.get(collection.key)
        if observers is None:
            observers = self._observers_of[collection.key] = [
                observer for observer, keys in self._observers if not keys or collection.key in keys
            ]
        for observer in observers:
            observer(collection, change)

    def collection(self, key: CollectionKey) -> Collection:
        """Return the collection of a (group, plural); create it if it does not exist."""
        found = self._collections.get(key)
        if found is None:
            found = self._collections[key] = Collection(*key, version=self.version)
        return found

    def collections(self) -> list[Collection]:
        """Return every collection."""
        return list(self._collections.values())

    def drop(self, key: CollectionKey) -> None:
        """Remove a collection whose resource is no longer served."""
        self._collections.pop(key, None)
        self._observers_of.pop(key, None)

    def expire_history(self) -> None:
        """Clear every log."""
        for collection in self._collections.values():
            collection.expire(self.version)
        self._journal.forget(self.version)

    def put(
        self,
        collection: Collection,
        key: str,
        obj: Object,
        fields: dict[str, str],
        check: Callable[[Object, bytes], None] | None = None,
    ) -> StoredObject:
        """Store a new state of an object and set its resource version in ``obj``.

        ``check`` is given the object and its encoded form, and raises to refuse them.
        """
        previous = collection.get(key)
        stored = self._encode(key, obj, fields, check)
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

    def _encode(
        self,
        key: str,
        obj: Object,
        fields: dict[str, str],
        check: Callable[[Object, bytes], None] | None = None,
    ) -> StoredObject:
        version = self.version + 1
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(version)
        raw, deep = encode_state(obj)
        if check is not None:
            check(obj, raw)
        self.version = version  # not before: a version without its change would be a gap
        return StoredObject(
            key,
            version,
            raw,
            metadata["uid"],
            metadata.get("labels") or {},
            fields,
            _owners(reference["uid"] for reference in metadata.get("ownerReferences") or ()),
            deep,
        )

    def _publish(self, collection: Collection, change: Change) -> None:
        current = change.current
        self._journal.record(
            Entry(
                change.resource_version,
                change.previous.resource_version if change.previous else 0,
                change.type is EventType.DELETED,
                collection.key,
                current.key,
                current.raw,
                current.fields,
            )
        )
        collection.apply(change)
        self._call_observers(collection, change)


def _event(previous: StoredObject | None, entry: Entry) -> EventType:
    if entry.deleted:
        return EventType.DELETED
    return EventType.ADDED if previous is None else EventType.MODIFIED
