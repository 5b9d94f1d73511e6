"""How a reflector is doing: counts, ages and the last error, for probes, people and metrics.

Promises consistent snapshots from any thread. Does not judge: what age is too old is for the
probe to say; a quiet watch is heard of at least every few minutes, when the server ends it.

Differs from client-go, which offers none of it: a reflector that is refused for ever looks there
like one that is still listing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from clientgo.cache.reflector.metrics import ReflectorMetrics
from clientgo.cache.reflector.state import State, Watching
from clientgo.clock import Clock


@dataclass(frozen=True, slots=True)
class ReflectorStatistics:
    """A reflector at one instant; ages are in seconds, None for what has not been yet.

    ``state`` names the state of the machine. ``is_watching`` says that a watch is open which
    keeps the store up to date. ``seconds_since_heard`` is the age of the server's last answer,
    event or, where the stream tells, byte. ``skipped`` counts events of a foreign kind,
    ``quarantined`` what did not decode.
    """

    state: str
    is_watching: bool
    resource_version: str
    lists: int
    watches: int
    short_watches: int
    events: int
    skipped: int
    quarantined: int
    last_error: Exception | None
    seconds_since_error: float | None
    seconds_since_heard: float | None


class ReflectorHealth:
    """The books of one reflector, which writes them in its own thread."""

    def __init__(self, metrics: ReflectorMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._lock = threading.Lock()
        self._lists = self._watches = self._short_watches = self._events = self._skipped = 0
        self._last_error: Exception | None = None
        self._failed_at: float | None = None
        self._heard_at: float | None = None

    def listed(self, seconds: float, items: int) -> None:
        """A page of a list came."""
        with self._lock:
            self._lists += 1
            self._heard_at = self._clock.monotonic()
        self._metrics.listed(seconds, items)

    def heard(self, events: int) -> None:
        """A watch was opened or brought events."""
        with self._lock:
            self._events += events
            self._heard_at = self._clock.monotonic()

    def skipped(self) -> None:
        """An event was of a foreign kind."""
        with self._lock:
            self._skipped += 1

    def watched(self, seconds: float, events: int, *, short: bool) -> None:
        """A watch ended."""
        with self._lock:
            self._watches += 1
            self._short_watches += short
        self._metrics.watched(seconds, events, short=short)

    def failed(self, error: Exception) -> None:
        """Something went wrong."""
        with self._lock:
            self._last_error = error
            self._failed_at = self._clock.monotonic()

    def statistics(
        self, state: State, quarantined: int, last_byte_at: float | None
    ) -> ReflectorStatistics:
        """Everything at this instant; ``last_byte_at`` is what the open stream says, if it does."""
        now = self._clock.monotonic()
        with self._lock:
            heard = [at for at in (self._heard_at, last_byte_at) if at is not None]
            return ReflectorStatistics(
                state=type(state).__name__,
                is_watching=isinstance(state, Watching),
                resource_version=state.memory.version,
                lists=self._lists,
                watches=self._watches,
                short_watches=self._short_watches,
                events=self._events,
                skipped=self._skipped,
                quarantined=quarantined,
                last_error=self._last_error,
                seconds_since_error=None if self._failed_at is None else now - self._failed_at,
                seconds_since_heard=now - max(heard) if heard else None,
            )
