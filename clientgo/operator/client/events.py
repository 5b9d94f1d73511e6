"""Events about objects, as ``kubectl describe`` shows them.

Promises that no call blocks or raises, that equal events become a series, and that 25 different
Events of one type about one object are written, and one more every five minutes. A manager that
records nothing has no thread for it.

Source: controller-runtime pkg/recorder; client-go tools/record EventSourceObjectSpamFilter.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Hashable
from typing import Any, Final, TypedDict, Unpack

from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.record import (
    NORMAL,
    WARNING,
    EventSeriesSink,
    SeriesBroadcaster,
    SeriesRecorder,
    SeriesStatistics,
    same_series_and_note,
)
from clientgo.record.lru_cache import LRUCache
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable
from clientgo.util.flowcontrol import TokenBucket

SYNCED: Final = "Synced"
"""Reason: the object is as it should be."""

RESOURCE_EXISTS: Final = "ErrResourceExists"
"""Reason: an object of the wanted name has another owner."""

PROCESSING_ERROR: Final = "ProcessingError"
"""Reason: a run failed; the note says why."""

OUTSIDE_CACHE: Final = "OutsideCache"
"""Reason: an object exists that the cache does not have, because it lacks a label, for example."""

CLEANUP_ABANDONED: Final = "CleanupAbandoned"
"""Reason: the finalizer was removed although the clean-up kept failing."""

FINALIZER_ABANDONED: Final = "FinalizerAbandoned"
"""Reason: the object is being deleted, and nothing removes a finalizer of an earlier release."""

_log = logging.getLogger("clientgo.operator.events")

_LONGEST_NOTE: Final = 1024
"""Bytes; the API server refuses a longer one."""


class About(TypedDict, total=False):
    """Options of an Event."""

    regarding: Any
    related: Any
    action: str


@uncopyable("it has connections to a server; make one in each process")
class ObjectEvents:
    """Records Events, by default about one object. Thread-safe."""

    __slots__ = ("_obj", "_recorder")

    def __init__(self, recorder: SeriesRecorder, obj: Any) -> None:
        self._recorder = recorder
        self._obj = obj

    def normal(self, reason: str, note: str, **about: Unpack[About]) -> None:
        """Record what happened as it should: ``reason`` a CamelCase word, ``note`` a sentence."""
        self._record(NORMAL, reason, note, **about)

    def warning(self, reason: str, note: str, **about: Unpack[About]) -> None:
        """Record something that a user should look at."""
        self._record(WARNING, reason, note, **about)

    def _record(self, event_type: str, reason: str, note: str, **about: Unpack[About]) -> None:
        regarding, text = about.get("regarding"), shortened(note)
        _log.debug("%s Event %s: %s", event_type, reason, text)
        self._recorder.eventf(
            self._obj if regarding is None else regarding,
            about.get("related"),
            event_type,
            reason,
            about.get("action") or "Reconcile",
            "%s",
            text,
        )


def shortened(note: str) -> str:
    """Return a text as the API server takes it for a note: cut if it is longer than 1024 bytes."""
    encoded = note.encode()
    if len(encoded) <= _LONGEST_NOTE:
        return note
    return encoded[: _LONGEST_NOTE - 3].decode(errors="ignore") + "..."


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
        """Return a recorder in the name of a controller. Its calls never block."""
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
    """How many different Events of one type may be written about one object, and of one reason if
    they are warnings. Thread-safe.

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
            # Normal Events must not silence warnings, nor warnings those of another reason.
            event.type,
            event.type == "Warning" and event.reason,
            about and (about.kind, about.namespace, about.name, about.uid),
        )
        bucket = self._left.get(whose)
        if bucket is None:
            bucket = TokenBucket(PER_SECOND, BURST)
            self._left.put(whose, bucket)
        return bucket
