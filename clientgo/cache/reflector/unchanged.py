"""Lists that come again, without keeping twice what has not changed.

Promises: an object that the server sends with the same JSON as before is replaced by the one that
the store holds, as soon as its page or event arrives. The list itself is still delivered whole.

Does not repair an object in the store that a program has changed against the rules.

In client-go the old and the new objects exist until the list is processed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from clientgo.meta import EventType, Resource, Unstructured, WatchEvent, is_same_json

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
