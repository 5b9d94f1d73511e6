"""Parse durations in Go's notation (``1h30m``) and in words (``2 days``).

Promises: exact nanoseconds.

Does not promise: years or months, which have no fixed length.
"""

from __future__ import annotations

import re
from fractions import Fraction

_GO_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_GO_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_GO_DURATION = re.compile(rf"([-+]?)(0|(?:{_GO_PART.pattern})+)", re.ASCII)
_WORDY_PART = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_DAY = 24 * _GO_UNITS["h"]
# Short names, which must match completely, and the beginning of long ones ("minute", "minutes").
_WORDY_UNITS = (
    (("ns",), "nano", 1),
    (("us", "µs"), "micro", _GO_UNITS["us"]),
    (("ms",), "milli", _GO_UNITS["ms"]),
    (("s",), "sec", _GO_UNITS["s"]),
    (("m",), "min", _GO_UNITS["m"]),
    (("h", "hr"), "hour", _GO_UNITS["h"]),
    (("d",), "day", _DAY),
    (("w", "wk"), "week", 7 * _DAY),
)


def parse_go_duration(text: str) -> int:
    """Return a duration such as ``-1h2.5s`` in nanoseconds.

    Raises:
        ValueError: it is not a duration, or longer than 292 years.
    """
    match = _GO_DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"time: invalid duration {text!r}")
    total = sum(Fraction(amount) * _GO_UNITS[unit] for amount, unit in _GO_PART.findall(match[2]))
    nanoseconds = int(total)
    if nanoseconds >= 2**63:
        raise ValueError(f"time: invalid duration {text!r}")
    return -nanoseconds if match[1] == "-" else nanoseconds


def parse_duration(text: str) -> int:
    """Return a duration as a schema of format ``duration`` takes it, in nanoseconds.

    Raises:
        ValueError: it is not a duration.
    """
    try:
        return parse_go_duration(text)
    except ValueError:
        parts = [
            int(amount) * unit
            for amount, word in _WORDY_PART.findall(text)
            if (unit := _wordy_unit(word.lower())) is not None
        ]
        if not parts:
            raise
        return sum(parts)


def _wordy_unit(word: str) -> int | None:
    for names, prefix, nanoseconds in _WORDY_UNITS:
        if word in names or word.startswith(prefix):
            return nanoseconds
    return None
