"""The hops of a queue of changes, for a tracer. Called after the fact, without a lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from clientgo.cache.queues.queue import Deltas, Replacement
from clientgo.cache.store.changes import WHOLE_STORE_TYPES, DeletedFinalStateUnknown, Delta
from clientgo.observe.trace import Described


def appended(changes: Iterable[tuple[str, Delta]]) -> Iterator[Described]:
    """Changes were added to the queue."""
    for key, delta in changes:
        details: dict[str, Any] = {"delta": delta.type}
        if type(delta.object) is DeletedFinalStateUnknown:
            details["tombstone"] = True
        yield "fifo.append", key, versioned(delta.object), details


def popped(batch: Sequence[Deltas], key_of: Callable[[Deltas], str]) -> Iterator[Described]:
    """The consumer took the changes of several keys."""
    for deltas in batch:
        key = None if deltas[0].type in WHOLE_STORE_TYPES else key_of(deltas)
        types = [delta.type for delta in deltas]
        yield "fifo.pop", key, versioned(deltas[-1].object), {"deltas": types}


def versioned(obj: object) -> object:
    """Return what has the resource version of a delta's object."""
    if type(obj) is DeletedFinalStateUnknown:
        return obj.obj
    return obj.resource_version if type(obj) is Replacement else obj
