"""How many different Events a controller may write about one object.

Promises that repetitions are free, since they make a series, and that of what is new each object
has 25 at once and one more every five minutes: a note with a counter in it floods no API server.
Bounded memory: of 4096 objects, and as many events, what was told last is known.

Source: k8s.io/client-go/tools/record EventSourceObjectSpamFilter, whose numbers these are; there
repetitions count as well.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from clientgo.api.events_v1 import Event
from clientgo.clock import Clock
from clientgo.flowcontrol import TokenBucket
from clientgo.record import same_series_and_note
from clientgo.record.lru_cache import LRUCache

BURST: Final = 25
PER_SECOND: Final = 1 / 300
_MOST_KNOWN: Final = 4096


class EventBudget:
    """Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: LRUCache[Hashable, bool] = LRUCache(_MOST_KNOWN)
        self._left: LRUCache[Hashable, TokenBucket] = LRUCache(_MOST_KNOWN)
        self.silenced = 0
        """How many events were not admitted."""

    def admits(self, event: Event) -> bool:
        """Whether an event may be told."""
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
