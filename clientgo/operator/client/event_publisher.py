"""Where the Events of a manager's controllers go.

Promises that each text is an Event of its own, so that the last of them says how things are, and
its repetitions a series; that about one object 25 different Events are written, and one more every
five minutes, so that a note with a counter in it floods no API server; and that a manager which
records nothing has no thread for it: the broadcaster is made for the first event.

Source: controller-runtime pkg/internal/recorder; client-go tools/record
EventSourceObjectSpamFilter, whose numbers these are, and which counts repetitions as well.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Hashable
from typing import Final

from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.clock import Clock
from clientgo.flowcontrol import TokenBucket
from clientgo.record import (
    EventSeriesSink,
    SeriesBroadcaster,
    SeriesRecorder,
    SeriesStatistics,
    same_series_and_note,
)
from clientgo.record.lru_cache import LRUCache

_log = logging.getLogger("clientgo.operator.events")

_LONGEST_NAME: Final = 128
"""Letters that the API server accepts as the name of a controller."""

BURST: Final = 25
PER_SECOND: Final = 1 / 300
_MOST_KNOWN: Final = 4096


class EventPublisher:
    """Gives recorders, and writes what they record. Thread-safe."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._broadcaster: SeriesBroadcaster | None = None
        self._closed = False
        self._budget = _Budget(clock)

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


class _Budget:
    """How many different Events may be written about one object. Thread-safe.

    Of 4096 objects, and as many Events, the last ones are known.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: LRUCache[Hashable, bool] = LRUCache(_MOST_KNOWN)
        self._left: LRUCache[Hashable, TokenBucket] = LRUCache(_MOST_KNOWN)
        self.silenced = 0
        """How many events were not admitted."""

    def admits(self, event: Event) -> bool:
        """Return True if an event may be written."""
        key = same_series_and_note(event)
        with self._lock:
            if self._told.get(key):
                return True
            if not self._bucket_of(event).take(self._clock.monotonic()):
                self.silenced += 1
                return False
            self._told.put(key, True)
            return True

    def _bucket_of(self, event: Event) -> TokenBucket:
        about = event.regarding
        whose = (
            event.reporting_controller,
            about and (about.kind, about.namespace, about.name, about.uid),
        )
        bucket = self._left.get(whose)
        if bucket is None:
            bucket = TokenBucket(PER_SECOND, BURST)
            self._left.put(whose, bucket)
        return bucket
