"""When each handler is due for a resync, by client-go's rules.

At every tick of the check period a handler is due if its own period has passed since it was last
due. Until the next tick it then counts as syncing, as a new handler does. Thread-safe.

Upstream: ``tools/cache`` sharedIndexInformer, sharedProcessor (resync).
"""

from __future__ import annotations

import logging
import math
from typing import Final

from clientgo.util.clock import Clock, nanoseconds

_log = logging.getLogger("clientgo.cache.informer")

SHORTEST_PERIOD: Final = 1.0
"""Seconds; more frequent resyncs are a mistake in the unit."""


class ResyncSchedule:
    """When one handler is due: every ``requested`` seconds, 0 for never."""

    def __init__(self, requested: float, check_period: float, clock: Clock) -> None:
        self._requested = requested
        self._clock = clock
        self.is_syncing = True
        self._period_ns = nanoseconds(_effective(requested, check_period))
        self._next_ns = nanoseconds(clock.monotonic()) + self._period_ns

    def check_period_changed(self, check_period: float) -> None:
        """Compute the handler's period again."""
        self._period_ns = nanoseconds(_effective(self._requested, check_period))

    def tick(self, now_ns: int) -> bool:
        """Return True if the handler is due, and remember it until the next tick."""
        self.is_syncing = self._period_ns > 0 and now_ns >= self._next_ns
        if self.is_syncing:
            self._next_ns = now_ns + self._period_ns
        return self.is_syncing


def checked_period(period: float) -> float:
    """Return a handler's period, raised to the shortest. Raises ``ValueError`` for NaN."""
    if math.isnan(period):
        raise ValueError("a resync period must be a number of seconds, not NaN; 0 means never")
    if 0 < period < SHORTEST_PERIOD:
        _log.warning("A resync period of %s s is raised to %s s", period, SHORTEST_PERIOD)
        return SHORTEST_PERIOD
    return period


def _effective(requested: float, check_period: float) -> float:
    if requested == 0:
        return 0.0
    if check_period == 0:
        _log.warning("A handler asks for resyncs, but its informer has no resync period")
        return 0.0
    return max(requested, check_period)
