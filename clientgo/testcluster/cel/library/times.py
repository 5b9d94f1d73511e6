"""Parts of timestamps and durations."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, method
from clientgo.testcluster.cel.types import DURATION, INT, STRING, TIMESTAMP
from clientgo.testcluster.cel.values import Duration, Timestamp

_OFFSET = re.compile(r"([-+]?)(\d{1,2}):(\d{2})", re.ASCII)
_PARTS: dict[str, Callable[[datetime.datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}
_UNITS = {
    "getHours": 3600 * 10**9,
    "getMinutes": 60 * 10**9,
    "getSeconds": 10**9,
    "getMilliseconds": 10**6,
}


def _in_zone(moment: Timestamp, name: str) -> datetime.datetime:
    offset = _OFFSET.fullmatch(name)
    if offset is not None:  # may be a day and more
        minutes = int(offset[2]) * 60 + int(offset[3])
        signed = -minutes if offset[1] == "-" else minutes
        return moment.in_zone() + datetime.timedelta(minutes=signed)
    try:
        return moment.in_zone(zoneinfo.ZoneInfo("UTC" if name in ("", "Local") else name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise CelEvaluationError(f"unknown time zone {name}") from error


def _part(take: Callable[[datetime.datetime], int]) -> Callable[..., int]:
    def part(moment: Timestamp, zone: str = "UTC") -> int:
        try:
            return take(moment.in_zone() if zone == "UTC" else _in_zone(moment, zone))
        except OverflowError as error:
            raise CelEvaluationError("timestamp overflow") from error

    return part


def _whole(unit: int) -> Callable[[Duration], int]:
    def whole(span: Duration) -> int:
        count = abs(span.nanoseconds) // unit
        return -count if span.nanoseconds < 0 else count

    return whole


def _timestamp_milliseconds(moment: Timestamp, *_zone: str) -> int:
    """Return the milliseconds of the second; no zone changes them."""
    return moment.fraction // 10**6


OVERLOADS: tuple[Overload, ...] = (
    *(method(name, TIMESTAMP, [], INT, _part(take)) for name, take in _PARTS.items()),
    *(method(name, TIMESTAMP, [STRING], INT, _part(take)) for name, take in _PARTS.items()),
    method("getMilliseconds", TIMESTAMP, [], INT, _timestamp_milliseconds),
    method("getMilliseconds", TIMESTAMP, [STRING], INT, _timestamp_milliseconds),
    *(method(name, DURATION, [], INT, _whole(unit)) for name, unit in _UNITS.items()),
)
