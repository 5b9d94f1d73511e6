"""The hops of an event on its way through a cache, for a tracer.

All but :func:`trace_queue` and :class:`TracedIndexer` are called after the fact, in the thread of
the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from clientgo.cache.store.changes import (
    WHOLE_STORE_TYPES,
    DeletedFinalStateUnknown,
    Delta,
    DeltaType,
    Replacement,
)
from clientgo.cache.store.indexer import Indexer, ViewedIndexer
from clientgo.cache.store.keys import deletion_handling_meta_namespace_key, key_for_report
from clientgo.meta import EventType, Status, WatchEvent
from clientgo.observe.trace import Described, Trace

T = TypeVar("T")

# The reflector


def received(events: Sequence[WatchEvent[Any]]) -> Iterator[Described]:
    """A watch brought events."""
    for event in events:
        about_all = event.type in (EventType.BOOKMARK, EventType.ERROR)
        key = None if about_all else key_for_report(event.object)
        details: dict[str, Any] = {"type": str(event.type)}
        if isinstance(event.object, Status):
            details["status"] = event.object.code
        yield "watch.event", key, event.object, details


# The queue


def trace_queue(queue: Any, name: str, trace: Trace) -> None:
    """Note what enters and leaves a ``HandOver``, in the order in which its lock is taken.

    Replaces its methods, so that a queue that is not traced does not know of traces.
    """
    append, take, consume = queue._append_locked, queue._take_locked, queue._consume
    queue_fill: Any = getattr(queue, "_fill_locked", None)

    def noted_append(changes: Iterable[tuple[str, Delta]], **how: bool) -> int:
        kept = [change for change in changes if append([change], **how)]
        if kept:
            trace.note_all(name, appended, kept)
        return len(kept)

    def noted_fill(listed: dict[str, Any]) -> None:
        kept = [
            (key, delta)
            for key, waiting in listed.items()
            for delta in (waiting if isinstance(waiting, list) else [waiting])
        ]
        if kept:
            trace.note_all(name, appended, kept)
        queue_fill(listed)

    def noted_take(limit: int) -> Any:
        batch = take(limit)
        trace.note_all(name, popped, batch, queue.key_of)
        return batch

    def held_consume(*arguments: Any, **how: Any) -> None:
        with queue._lock:
            queue._wait_for_turn_locked()
        trace.before("fifo.take", name)
        consume(*arguments, **how)

    queue._append_locked, queue._take_locked = noted_append, noted_take
    if queue_fill is not None:
        queue._fill_locked = noted_fill
    if trace.holds:
        queue._consume = held_consume


def appended(changes: Iterable[tuple[str, Delta]]) -> Iterator[Described]:
    """Changes were added to the queue."""
    for key, delta in changes:
        details: dict[str, Any] = {"delta": delta.type}
        if type(delta.object) is DeletedFinalStateUnknown:
            details["tombstone"] = True
        yield "fifo.append", key, versioned(delta.object), details


def popped(batch: Iterable[list[Delta]], key_of: Callable[[Any], str]) -> Iterator[Described]:
    """The consumer took the changes of several keys."""
    for deltas in batch:
        key = None if deltas[0].type in WHOLE_STORE_TYPES else key_of(deltas)
        types = [delta.type for delta in deltas]
        yield "fifo.pop", key, versioned(deltas[-1].object), {"deltas": types}


# The informer


def updated(changes: Sequence[Delta], befores: Sequence[Any]) -> Iterator[Described]:
    """The cache was changed; a change that it refused is no hop."""
    for change, before in zip(changes, befores, strict=True):
        if not isinstance(before, Exception):
            obj, action = change.object, _action(change.type, before)
            key = deletion_handling_meta_namespace_key(obj)
            yield "index.update", key, versioned(obj), {"action": action}


def _action(kind: DeltaType, before: object) -> str:
    if kind is DeltaType.DELETED:
        return "delete"
    return "add" if before is None else "update"


class TracedIndexer(ViewedIndexer[T]):
    """The content of an informer's indexer, for its users: each read of a key is a hop.

    The informer itself reads ``stored``. An indexer that is not traced does not know of traces.
    """

    def __init__(
        self, stored: Indexer[Any], view: Callable[[Any], T], name: str, trace: Trace
    ) -> None:
        super().__init__(stored, view)
        self._name = name
        self._trace = trace

    def get(self, obj: Any) -> T | None:
        return self.get_by_key(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        found = self._storage.get(key)
        missing: dict[str, Any] = {"missing": True} if found is None else {}
        self._trace.note("cache.get", self._name, key, found, **missing)
        return self._viewed(found)


def as_stored(obj: Any) -> Any:
    """Return an object: the view of an indexer that has no other."""
    return obj


def called(handler: str, event: str, obj: Any) -> Iterator[Described]:
    """A handler is called."""
    details: dict[str, Any] = {"handler": handler, "event": event}
    if isinstance(obj, DeletedFinalStateUnknown):
        details["tombstone"] = True
    yield "handler.call", deletion_handling_meta_namespace_key(obj), versioned(obj), details


def versioned(obj: object) -> object:
    """Return what has the resource version of a delta's object."""
    if type(obj) is DeletedFinalStateUnknown:
        return obj.obj
    return obj.resource_version if type(obj) is Replacement else obj
