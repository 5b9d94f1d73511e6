"""An event recorder that keeps events in a list instead of writing them.

Promises the checks of the real recorder, because it is the same class. Differs from client-go
(``tools/record``, FakeRecorder), whose bounded channel blocks the code under test when it is full.
"""

from __future__ import annotations

from clientgo.api.core_v1 import Event
from clientgo.record import EventRecorder
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class FakeRecorder(EventRecorder):
    """``recorded`` holds the events in order; ``lines()`` is what tests usually compare."""

    def __init__(self, component: str = "fake", *, clock: Clock = REAL_CLOCK) -> None:
        self.recorded: list[Event] = []
        super().__init__(self.recorded.append, component, clock=clock)

    def lines(self, *, with_object: bool = False, with_annotations: bool = False) -> list[str]:
        """The events as ``Normal Synced Foo synced``, with more on request."""
        return [_line(event, with_object, with_annotations) for event in self.recorded]


def _line(event: Event, with_object: bool, with_annotations: bool) -> str:
    parts = [f"{event.type} {event.reason} {event.message}"]
    if with_object:
        about = event.involved_object
        parts.append(f"{{kind={about.kind},apiVersion={about.api_version}}}")
    if with_annotations and event.metadata.annotations:
        parts.append(str(event.metadata.annotations))
    return " ".join(parts)
