"""Where events are written to.

One write for each call, in the event's namespace, without retries: the
:class:`~clientgo.record.event_writer.EventWriter` does those.

Differs from client-go (`tools/record` EventSink): a merge patch suffices, because only a number, a
time and a text change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from clientgo.api.core_v1 import Event
from clientgo.util.copies import uncopyable

if TYPE_CHECKING:
    from clientgo.client import Client


class Sink(Protocol):
    """Writes events; each call blocks until they are written.

    Raises :class:`~clientgo.meta.StatusError` for a refusal of the server, anything else where
    there was no answer.
    """

    def create(self, event: Event) -> Event:
        """Create the event and return the server's copy."""

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        """Merge ``patch`` into the event of that name and return the server's copy."""


@uncopyable("it has connections to a server; make one in each process")
class EventSink:
    """Writes events to the API server of a client.

    It must be allowed to create and patch events in every namespace whose objects it reports on,
    and in ``default`` for cluster-scoped ones.
    """

    def __init__(self, client: Client) -> None:
        self._events = client.resource(Event)

    def create(self, event: Event) -> Event:
        return self._events.create(event)

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        events = self._events.namespace(event.metadata.namespace)
        return events.patch(event.metadata.name, patch)
