"""Writing events of events.k8s.io/v1, and keeping their series up to date on the server.

An event is created, its series patched in, and created again if the server no longer has it. A
series is written again while it goes on, so that it does not expire, and once when it has ended.
Source: `tools/events` recordEvent, finishSeries, refreshExistingEventSeries.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clientgo.api.events_v1 import Event
from clientgo.meta import AlreadyExistsError, NotFoundError
from clientgo.record.delivery import Outcome, attempt, deliver
from clientgo.record.series.series_cache import SeriesCache, Snapshot
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable

if TYPE_CHECKING:
    from clientgo.client import Client


class SeriesSink(Protocol):
    """Writes events, as :class:`~clientgo.record.sink.Sink` does those of core/v1."""

    def create(self, event: Event) -> Event:
        """Create the event and return the server's copy."""

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        """Merge ``patch`` into the event of that name and return the server's copy."""


@uncopyable("it has connections to a server; make one in each process")
class EventSeriesSink:
    """Writes events to the API server of a client; see :class:`~clientgo.record.EventSink`."""

    def __init__(self, client: Client) -> None:
        self._events = client.resource(Event)

    def create(self, event: Event) -> Event:
        return self._events.create(event)

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        events = self._events.namespace(event.metadata.namespace)
        return events.patch(event.metadata.name, patch)


class SeriesWriter:
    """Writes the events of one cache to one sink. Thread-safe: several threads may write."""

    def __init__(
        self,
        sink: SeriesSink,
        cache: SeriesCache,
        *,
        stopping: threading.Event,
        retry_interval: float,
        clock: Clock,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._sink = sink
        self._cache = cache
        self._stopping = stopping
        self._retry_interval = retry_interval
        self._clock = clock
        self._random = random
        self._lock = threading.Lock()
        self._written = 0
        self._given_up = 0

    @property
    def written(self) -> int:
        return self._written

    @property
    def given_up(self) -> int:
        return self._given_up

    def write(self, event: Event) -> None:
        """Write an event, or count that it was given up. Blocks while it is being tried."""
        written = deliver(
            lambda: self._patch_or_create(event),
            _text(event),
            pause=lambda _: self._retry_interval * (1 + self._random() / 4),
            stopping=self._stopping,
            clock=self._clock,
        )
        with self._lock:
            self._written += written
            self._given_up += not written

    def refresh(self) -> None:
        """Rewrite every series that goes on, so that the server does not let it expire."""
        for snapshot in self._cache.series():
            attempt(partial(self._refresh, snapshot), _text(snapshot.event))

    def finish(self) -> None:
        """Write the final count of every series that has ended, and forget it.

        One that gets no answer is tried again next time.
        """
        for snapshot in self._cache.ended_series():
            event = snapshot.event
            outcome = attempt(partial(self._patch_or_create, event), _text(event))
            if outcome is not Outcome.UNANSWERED:
                self._cache.forget(snapshot)

    def _refresh(self, snapshot: Snapshot) -> None:
        self._cache.replace(snapshot, self._patch_or_create(snapshot.event))

    def _patch_or_create(self, event: Event) -> Event:
        if event.series is None:
            return self._sink.create(event)
        patch = {"series": msgspec.to_builtins(event.series)}
        try:
            return self._sink.patch(event, patch)
        except NotFoundError:
            event.metadata.resource_version = ""
        try:
            return self._sink.create(event)
        except AlreadyExistsError:
            # Another writer has created the first event in between. Patch it now: after a stop
            # there is no later try.
            return self._sink.patch(event, patch)


def _text(event: Event) -> str:
    about = event.regarding
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name
    return f"{event.type} {event.reason} of {about.kind} {name}"
