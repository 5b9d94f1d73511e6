"""The hops of a reflector, for a tracer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clientgo.cache.reflector.quarantine import key_for_report
from clientgo.meta import EventType, WatchEvent
from clientgo.observe.trace import Described


def received(events: Sequence[WatchEvent[Any]]) -> Iterator[Described]:
    """A watch brought events."""
    for event in events:
        about_all = event.type in (EventType.BOOKMARK, EventType.ERROR)
        key = None if about_all else key_for_report(event.object)
        yield "watch.event", key, event.object, {"type": str(event.type)}
