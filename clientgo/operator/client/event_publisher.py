"""Where the Events of a manager's controllers go.

Promises that each text is an Event of its own, so that the last of them says how things are, and
its repetitions a series; that an object which has too much to say is silenced for a while (see
``event_budget.py``); and that a manager which records nothing, or is never started, has no thread
for it: the broadcaster is made for the first event.

Source: controller-runtime pkg/internal/recorder.
"""

from __future__ import annotations

import logging
import socket
import threading
from typing import Final

from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.clock import Clock
from clientgo.operator.client.event_budget import EventBudget
from clientgo.record import (
    EventSeriesSink,
    SeriesBroadcaster,
    SeriesRecorder,
    SeriesStatistics,
    same_series_and_note,
)

_log = logging.getLogger("clientgo.operator.events")

_LONGEST_NAME: Final = 128
"""Letters that the API server accepts as the name of a controller."""


class EventPublisher:
    """Gives recorders, and writes what they record. Thread-safe."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._broadcaster: SeriesBroadcaster | None = None
        self._closed = False
        self._budget = EventBudget(clock)

    def recorder(self, controller: str) -> SeriesRecorder:
        """A recorder in the name of a controller. Its calls never block."""
        name = controller[:_LONGEST_NAME]
        return SeriesRecorder(self._publish, name, socket.gethostname(), clock=self._clock)

    @property
    def silenced(self) -> int:
        """How many events were one too many about their object."""
        return self._budget.silenced

    def statistics(self) -> SeriesStatistics | None:
        """What became of the events; None if there were none."""
        with self._lock:
            return None if self._broadcaster is None else self._broadcaster.statistics()

    def shutdown(self) -> None:
        """Write what waits, for a few seconds at most, and take no more. Idempotent."""
        with self._lock:
            self._closed = True
            broadcaster = self._broadcaster
        if broadcaster is not None:
            broadcaster.shutdown()

    def _publish(self, event: Event) -> None:
        if not self._budget.admits(event):
            _log.debug("an Event about %s too many: %s", event.regarding, event.note)
            return
        with self._lock:
            if self._broadcaster is None:
                if self._closed:
                    return
                sink = EventSeriesSink(self._client)
                self._broadcaster = SeriesBroadcaster(
                    sink, clock=self._clock, series_key=same_series_and_note
                )
            broadcaster = self._broadcaster
        broadcaster.publish(event)
