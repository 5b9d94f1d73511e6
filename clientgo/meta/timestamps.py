"""Conversion between the API's time texts, Unix seconds and ``datetime``.

The API has two forms: ``Time`` in whole seconds (``2026-01-02T03:04:05Z``) and ``MicroTime`` with
six decimals. Both are always UTC when written here; any RFC 3339 offset is read.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_MICROSECONDS = 7
"""Characters of a fraction with six decimals."""


def format_time(unix_seconds: float) -> str:
    """The API's ``Time`` form: whole seconds, cut off, not rounded."""
    return _format_second(int(unix_seconds // 1))


@functools.lru_cache(maxsize=16)
def _format_second(second: int) -> str:
    """Format a second; many objects are written in the same one."""
    return _written(datetime.fromtimestamp(second, UTC), "seconds")


def format_micro_time(unix_seconds: float) -> str:
    """The API's ``MicroTime`` form: six decimals."""
    return _written(datetime.fromtimestamp(unix_seconds, UTC), "microseconds")


def _written(moment: datetime, unit: str) -> str:
    """Write a time in UTC; the year has four digits, which ``strftime`` does not promise."""
    return moment.replace(tzinfo=None).isoformat(timespec=unit) + "Z"


def parse_time(text: str) -> float:
    """Unix seconds of an RFC 3339 text; ``ValueError`` names a text that is none."""
    return to_datetime(text).timestamp()


def to_datetime(text: str) -> datetime:
    """An RFC 3339 text as a ``datetime`` in UTC; ``ValueError`` names a text that is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"not an RFC 3339 time: {text!r}") from error
    if moment.tzinfo is None:
        raise ValueError(f"not an RFC 3339 time: {text!r} has no offset; append Z for UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"not a time in UTC between the years 1 and 9999: {text!r}") from error


def canonical_time(text: str) -> str:
    """An RFC 3339 text as the API writes a ``Time``; ``ValueError`` names a text that is none."""
    found = _RFC_3339.fullmatch(text)
    if found is None:
        raise ValueError(f"not an RFC 3339 time: {text[:50]!r}")
    moment = to_datetime(text)
    if text.endswith("Z") and found[1] is None:
        return text
    return _written(moment, "seconds")


def canonical_micro_time(text: str) -> str:
    """A text with six decimals as the API writes a ``MicroTime``; ``ValueError`` if it is none."""
    found = _RFC_3339.fullmatch(text)
    if found is None or len(found[1] or "") != _MICROSECONDS:
        raise ValueError(f"not a time with six decimals: {text[:50]!r}")
    moment = to_datetime(text)
    return text if text.endswith("Z") else _written(moment, "microseconds")
