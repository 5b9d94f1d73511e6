"""Durations as Go writes them (``1m30s``), which is how the API wants them in query parameters."""

from __future__ import annotations

from clientgo.util.clock import nanoseconds


def go_duration(seconds: float) -> str:
    """The text of a duration that is not negative, exact to the nanosecond."""
    total = nanoseconds(seconds)
    if total == 0:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if total < size * 1000:
            return f"{_decimal(total, size)}{unit}"
    minutes, rest = divmod(total, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _decimal(value: int, unit: int) -> str:
    """``value / unit`` without trailing zeros."""
    whole, fraction = divmod(value, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if unit > 1 else ""
    return f"{whole}.{digits}" if digits else str(whole)
