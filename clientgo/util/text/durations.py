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
_GO_PART = re.compile(r"(\d*)\.?(\d*)([^.\d]*)", re.ASCII)
_LONGEST_NUMBER = 19
"""Digits of 2**63 nanoseconds; those of a fraction that are further behind are ignored."""
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
        ValueError: it is not a duration, or longer than 292 years; with the message of Go's
            ``time.ParseDuration``.
    """
    unsigned = text[1:] if text.startswith(("-", "+")) else text
    if unsigned == "0":
        return 0
    total, at = Fraction(), 0
    while at < len(unsigned) or not unsigned:
        part = _GO_PART.match(unsigned, at)
        whole, fraction, unit = part.groups() if part else ("", "", "")
        if part is None or not (whole or fraction):
            raise ValueError(f"time: invalid duration {_quote_bytes(text)}")
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quote_bytes(text)}")
        if unit not in _GO_UNITS:
            unknown = f"unknown unit {_quote_bytes(unit)}"
            raise ValueError(f"time: {unknown} in duration {_quote_bytes(text)}")
        whole = whole.lstrip("0")
        if len(whole) <= _LONGEST_NUMBER:
            number = Fraction(f"{whole or 0}.{fraction[:_LONGEST_NUMBER] or 0}")
            total += number * _GO_UNITS[unit]
        if len(whole) > _LONGEST_NUMBER or total >= 2**63:
            raise ValueError(f"time: invalid duration {_quote_bytes(text)}")
        at = part.end()
    return -int(total) if text.startswith("-") else int(total)


def _quote_bytes(text: str) -> str:
    """Return a text in quotes as package time does: what is not ASCII as its bytes."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').encode(errors="surrogateescape")
    return '"' + "".join(chr(c) if 0x20 <= c < 0x80 else f"\\x{c:02x}" for c in quoted) + '"'


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
