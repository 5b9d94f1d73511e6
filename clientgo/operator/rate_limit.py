"""How often one object may be reconciled.

Promises a true sliding window: in no stretch of ``per`` seconds does an object run more than
``runs`` times. Differs from Java Operator SDK (``LinearRateLimiter``), whose fixed windows let
through nearly twice as many across a boundary.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from clientgo.operator.durations import Duration, instant, positive_seconds, seconds
from clientgo.operator.errors import ConfigError

SHORTEST_POSTPONEMENT: Final = 0.05
"""A run that is put off is put off by at least this many seconds."""


class RateLimit(NamedTuple):
    """At most ``runs`` runs of one object in any ``per`` seconds.

    With ``debounce`` events that come within so many seconds of the first are served together.
    """

    runs: int
    per: Duration = 10.0
    debounce: Duration = 0.0

    def checked(self) -> RateLimit:
        """The same in plain seconds. Raises :class:`~clientgo.operator.errors.ConfigError`."""
        if self.runs < 1:
            raise ConfigError(f"a rate limit allows at least one run, not {self.runs}")
        debounce = seconds(self.debounce, "debounce")
        if debounce < 0:
            raise ConfigError(f"debounce must not be negative, as {debounce} s is")
        return RateLimit(self.runs, positive_seconds(self.per, "per"), debounce)


class RunWindow:
    """When one object has run lately. Not thread-safe: its controller's lock guards it."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began: deque[float] = deque()

    def admits_at(self, now: float, limit: RateLimit) -> float:
        """The earliest instant for the next run: ``now``, or later if the window is full."""
        per = float(limit.per)  # type: ignore[arg-type]  # checked() made it seconds
        while self._began and instant(self._began[0] + per) <= now:
            self._began.popleft()
        if len(self._began) < limit.runs:
            return now
        return instant(max(self._began[0] + per, now + SHORTEST_POSTPONEMENT))

    def began(self, now: float) -> None:
        self._began.append(now)
