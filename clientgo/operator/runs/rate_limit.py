"""How often one object may be reconciled.

A sliding window, where Java Operator SDK (``LinearRateLimiter``) has fixed ones, which let nearly
twice as many runs pass.
"""

from __future__ import annotations

from typing import NamedTuple

from clientgo.operator.errors import ConfigError
from clientgo.operator.settings.durations import Duration, positive_seconds, seconds


class RateLimit(NamedTuple):
    """At most ``runs`` runs of one object in any ``per`` seconds.

    With ``debounce`` events that come within so many seconds of the first are served together.
    """

    runs: int
    per: Duration = 10.0
    debounce: Duration = 0.0

    def checked(self) -> RateLimit:
        """Return the same in plain seconds. Raises ``ConfigError``."""
        if self.runs < 1:
            raise ConfigError(f"a rate limit allows at least one run, not {self.runs}")
        debounce = seconds(self.debounce, "debounce")
        if debounce < 0:
            raise ConfigError(f"debounce must not be negative, as {debounce} s is")
        return RateLimit(self.runs, positive_seconds(self.per, "per"), debounce)
