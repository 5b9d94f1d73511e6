"""Durations as users write them: seconds, ``timedelta``, or text in configuration files.

Errors name the setting.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Final, TypeAlias

from clientgo.operator.errors import ConfigError

Duration: TypeAlias = float | int | timedelta
"""Seconds, or a ``timedelta``."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def seconds(duration: Duration, name: str = "a duration") -> float:
    """Return the length in seconds. Raises :class:`ConfigError` for what is no length."""
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise ConfigError(f"{name} must be seconds or a timedelta, not {duration!r}")
    if math.isnan(duration):
        raise ConfigError(f"{name} must be a number of seconds, not NaN")
    return float(duration)


def positive_seconds(duration: Duration, name: str = "a duration") -> float:
    """Like :func:`seconds`; raises :class:`ConfigError` unless it is greater than 0."""
    length = seconds(duration, name)
    if length <= 0:
        raise ConfigError(f"{name} must be greater than 0, not {duration!r}")
    return length


def instant(moment: float) -> float:
    """A sum of times as a clock shows it, in whole nanoseconds: what is due then is due, and not
    a rounding error later."""
    return round(moment, 9)


def parse_duration(text: str, name: str = "a duration") -> float:
    """Read ``2000ms``, ``1.5s``, ``10h`` or ``1h30m``. Raises :class:`ConfigError`."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise ConfigError(f"{name} is no duration: {text!r}; write it as 2000ms, 1.5s, 30m or 10h")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
