"""The hop of a recorded event, for a tracer."""

from __future__ import annotations

from clientgo.api.core_v1 import ObjectReference
from clientgo.observe.trace import Trace


def note_event(
    trace: Trace, component: str, about: ObjectReference, reason: str, message: str
) -> None:
    """Note that ``component`` reported an event about an object."""
    name = about.name or ""
    key = f"{about.namespace}/{name}" if about.namespace else name
    trace.note("event.recorded", component, key, reason=reason, message=message)
