"""What lists and batches of watch events contain: changes, bookmarks, what is left out and why.

Reads a batch in one pass and keeps the server's order. client-go (``tools/cache`` handleAnyWatch)
reads one event at a time.

When a list comes again, an object that the server sends with the same JSON as before is replaced by
the one that the store holds, so that no list is kept twice. That does not repair an object in the
store that a program has changed against the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Any, Final, TypeAlias

from msgspec import Struct

from clientgo.cache.reflector.errors import (
    UnexpectedObjectError,
)
from clientgo.cache.reflector.state import (
    Apply,
    Bookmark,
    Expected,
    Message,
    Quarantine,
    Skip,
)
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.keys import deletion_handling_meta_namespace_key
from clientgo.cache.store.parts import Parts, PartTuple
from clientgo.meta import (
    INITIAL_EVENTS_END,
    EventType,
    Resource,
    Status,
    Undecodable,
    Unstructured,
    WatchEvent,
    annotations_of,
    error_from_status,
    is_same_json,
    metadata_of,
    object_key,
)


class Reading(Struct):
    """The content of a batch of events: messages, and the number accepted up to an error, if any.

    ``version`` is the last resource version of an accepted object, empty if there is none.
    """

    messages: list[Message]
    accepted: int
    version: str
    only_adds: bool
    error: Exception | None


_DELTA_TYPES: Final[dict[str, DeltaType]] = {
    EventType.ADDED.value: DeltaType.ADDED,
    EventType.MODIFIED.value: DeltaType.UPDATED,
    EventType.DELETED.value: DeltaType.DELETED,
}
_BOOKMARK: Final = EventType.BOOKMARK.value
"""Plain text, because it is compared with the type of every event, and because before Python 3.12
access to a member of an enum costs as much as a function call."""


_uid: Final = attrgetter("metadata.uid")


def read_events(expected: Expected, events: Sequence[WatchEvent[Any]]) -> Reading:
    """Sort the events of one batch. This loop runs for every event: it avoids calls."""
    python_type: Any = expected.python_type
    kind, api_version = expected.kind, expected.api_version
    delta_types, added = _DELTA_TYPES, DeltaType.ADDED
    messages: list[Message] = []
    changes: list[Delta] = []
    accepted, last, only_adds = 0, None, True
    error: Exception | None = None
    event: WatchEvent[Any]
    obj: Any
    for event in events:
        obj = event.object
        delta_type = delta_types.get(event.type)
        if (
            delta_type is None
            or type(obj) is not python_type
            or (kind and (obj.kind != kind or obj.api_version != api_version))
        ):
            # Rare, unless any type of object is expected.
            if event.type == EventType.ERROR:
                error = _error_of(obj)
                break
            if isinstance(obj, Undecodable):
                if changes:
                    messages.append(Apply(changes))
                    changes = []
                messages.append(Quarantine(obj))
                if delta_type is DeltaType.DELETED and obj.metadata.name:
                    # The name is enough to remove an older state that did decode.
                    gone = DeletedFinalStateUnknown(object_key(obj), None)
                    changes.append(Delta(delta_type, gone))
                    only_adds = False
                continue
            reason = expected.misfit(obj)
            if reason:
                messages.append(Skip(obj, reason))
                continue
        accepted += 1
        last = obj
        if delta_type is not None:
            changes.append(Delta(delta_type, obj))
            if delta_type is not added:
                only_adds = False
            continue
        only_adds = False
        if changes:
            messages.append(Apply(changes))
            changes = []
        if event.type == _BOOKMARK:
            version = metadata_of(obj).resource_version
            if version:
                messages.append(Bookmark(version))
        else:
            messages.append(Skip(obj, f"unknown type of event {event.type!r}"))
    if changes:
        messages.append(Apply(changes))
    version = "" if last is None else metadata_of(last).resource_version or _version_in(messages)
    return Reading(messages, accepted, version, only_adds, error)


def _version_in(messages: Sequence[Message]) -> str:
    """Find the last resource version when the last object does not carry one."""
    for message in reversed(messages):
        if isinstance(message, Bookmark):
            return message.version
        if isinstance(message, Apply):
            for change in reversed(message.changes):
                obj = change.object
                if isinstance(obj, DeletedFinalStateUnknown):
                    continue
                version: str = metadata_of(obj).resource_version
                if version:
                    return version
    return ""


def _error_of(obj: Any) -> Exception:
    if isinstance(obj, Status):
        return error_from_status(obj)
    return UnexpectedObjectError(f"an ERROR event carries no Status but {obj!r:.200}")


def end_of_initial_events(events: Sequence[WatchEvent[Any]]) -> int | None:
    """Return the index of the bookmark that ends a streamed list; None if it is not there."""
    for index, event in enumerate(events):
        if (
            event.type == _BOOKMARK
            and not isinstance(event.object, Undecodable)
            and annotations_of(event.object).get(INITIAL_EVENTS_END) == "true"
        ):
            return index
    return None


def keys_of_undecodable(objs: Iterable[Undecodable]) -> frozenset[str]:
    """Return the keys of objects that did not decode, as far as their names could be read."""
    return frozenset(object_key(obj) for obj in objs if obj.metadata.name)


def final_objects(
    added: PartTuple, batches: Sequence[Sequence[Delta]]
) -> tuple[Sequence[Any], frozenset[str]]:
    """Return the objects that exist after these were added and then changed.

    The keys are those of objects that exist too, and whose last state did not decode.

    A server sends most lists as additions only, each of another object: then there is nothing to
    work out, and uids show that in a fraction of the time.
    """
    objects = Parts(added)
    if not batches and _are_different(added):
        return objects, frozenset()
    unknown: dict[str, Undecodable] = {}
    by_key = {deletion_handling_meta_namespace_key(obj): obj for obj in objects}
    for change in chain.from_iterable(batches):
        key = deletion_handling_meta_namespace_key(change.object)
        if isinstance(change.object, Undecodable):
            unknown[key] = change.object
        elif change.type is DeltaType.DELETED:
            by_key.pop(key, None)
            unknown.pop(key, None)
        else:
            by_key[key] = change.object
    return list(by_key.values()), keys_of_undecodable(unknown.values()).difference(by_key)


def _are_different(added: PartTuple) -> bool:
    """Return True if no two objects have the same uid, False if that does not show."""
    # No set: see store/parts.py.
    uids: dict[str, None] = {}
    try:
        for part in added:
            uids.update(zip(map(_uid, part), repeat(None)))
    except AttributeError:
        return False
    return len(uids) == sum(map(len, added))


Stored: TypeAlias = Callable[[Any], Any | None]
"""Returns what the store holds under the key of an object, or None."""


def sharing_unchanged(objs: Iterable[Any], stored: Stored) -> list[Any]:
    """Return the objects of a list; what has not changed is the object in the store."""
    return [_shared(obj, stored) for obj in objs]


def sharing_unchanged_events(
    events: Iterable[WatchEvent[Any]], stored: Stored
) -> list[WatchEvent[Any]]:
    """Do the same for a list that is streamed as events."""
    return [
        WatchEvent(event.type, _shared(event.object, stored))
        if event.type == EventType.ADDED
        else event
        for event in events
    ]


_COMPARABLE: Final = (Resource, Unstructured)


def _shared(obj: Any, stored: Stored) -> Any:
    known = stored(obj) if isinstance(obj, _COMPARABLE) else None
    return known if known is not None and is_same_json(known, obj) else obj
