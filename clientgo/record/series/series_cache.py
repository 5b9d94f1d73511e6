"""Series: repetitions are counted in one Event object (events.k8s.io/v1).

Promises: the first event of a kind is written, the second makes it a series, later ones only count
here until the series is refreshed or ends. Memory is bounded. Thread-safe; the lock is not held
during writes. Counts on the server are as of the last refresh.

Differs from client-go (`tools/events`): events are alike even if the object's resource version
differs, or a changing object would never have a series; evictions are counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from clientgo.api.core_v1 import ObjectReference
from clientgo.api.events_v1 import Event, EventSeries
from clientgo.meta import deep_copy
from clientgo.meta.timestamps import format_micro_time
from clientgo.record.lru_cache import LRUCache
from clientgo.util.clock import Clock

ENDS_AFTER: Final = 360.0
"""Seconds without an event after which a series has ended."""


def same_series(event: Event) -> Hashable:
    """The default: alike in type, action, reason, reporter and the objects that they are about."""
    return (
        event.type,
        event.action,
        event.reason,
        (event.reporting_controller, event.reporting_instance),
        _object_key(event.regarding),
        _object_key(event.related) if event.related is not None else None,
    )


def same_series_and_note(event: Event) -> Hashable:
    """Alike in the note too, so that no note is lost in the series of another one."""
    return same_series(event), event.note


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a cached event; ``revision`` tells whether the event has changed since."""

    key: Hashable
    event: Event
    revision: int


class SeriesCache:
    """The events of late, by what makes them alike."""

    def __init__(
        self, *, clock: Clock, key: Callable[[Event], Hashable] = same_series, size: int = 4096
    ) -> None:
        self._clock = clock
        self._key = key
        self._lock = threading.Lock()
        self._entries: LRUCache[Hashable, _Entry] = LRUCache(size)

    @property
    def evictions(self) -> int:
        return self._entries.evictions

    def observe(self, event: Event) -> Event | None:
        """Take in an event; return what is to be written now, as a copy, if anything is."""
        now = self._clock.monotonic()
        with self._lock:
            key = self._key(event)
            entry = self._entries.get(key)
            if entry is None:
                self._entries.put(key, _Entry(deep_copy(event), now))
                return event
            entry.observed_at = now
            entry.revision += 1
            series = entry.event.series
            if series is not None:
                series.count += 1
                series.last_observed_time = self._timestamp()
                return None
            entry.event.series = EventSeries(count=2, last_observed_time=self._timestamp())
            return deep_copy(entry.event)

    def series(self) -> list[Snapshot]:
        """All series that have not ended."""
        with self._lock:
            return [
                _snapshot(key, entry)
                for key, entry in self._entries.items()
                if entry.event.series is not None
            ]

    def ended_series(self) -> list[Snapshot]:
        """The series that have ended and wait for their final count to be written.

        Single events of the same age are forgotten: nothing is left to be written of them.
        """
        now = self._clock.monotonic()
        with self._lock:
            ended = [
                (key, entry)
                for key, entry in self._entries.items()
                if now - entry.observed_at > ENDS_AFTER
            ]
            for key, entry in ended:
                if entry.event.series is None:
                    self._entries.remove(key)
            return [_snapshot(key, entry) for key, entry in ended if entry.event.series is not None]

    def forget(self, snapshot: Snapshot) -> None:
        """Drop an entry, unless it has changed since the snapshot."""
        with self._lock:
            if self._unchanged_locked(snapshot) is not None:
                self._entries.remove(snapshot.key)

    def replace(self, snapshot: Snapshot, stored: Event) -> None:
        """Take the server's copy for an entry, unless it has changed since the snapshot."""
        with self._lock:
            entry = self._unchanged_locked(snapshot)
            if entry is not None:
                entry.event = deep_copy(stored)

    def _unchanged_locked(self, snapshot: Snapshot) -> _Entry | None:
        entry = self._entries.get(snapshot.key)
        return entry if entry is not None and entry.revision == snapshot.revision else None

    def _timestamp(self) -> str:
        return format_micro_time(self._clock.time())


@dataclass(slots=True)
class _Entry:
    event: Event
    observed_at: float
    revision: int = 0


def _snapshot(key: Hashable, entry: _Entry) -> Snapshot:
    return Snapshot(key, deep_copy(entry.event), entry.revision)


def _object_key(reference: ObjectReference) -> Hashable:
    return (
        reference.api_version,
        reference.kind,
        reference.namespace,
        reference.name,
        reference.uid,
        reference.field_path,
    )
