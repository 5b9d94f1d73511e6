"""Cron expressions.

Promises the standard form of the Go library that Kubernetes uses: five fields, the descriptors
``@yearly`` ... ``@hourly``, and ``@every 90s``. There are no seconds, years, ``L``, ``W`` or ``#``,
and no time zone in the text: the zone is an argument.

Differs from that library (robfig/cron ``ParseStandard``) where clocks are set back: a time at a
certain hour is due once, in the first of two equal hours. Times that clocks skip are not due that
day, in both. Text that the library accepts by accident (``1,,2``, ``*-5``) is refused.
"""

from __future__ import annotations

import abc
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from clientgo.util.text.cron import CronError
from clientgo.util.text.durations import parse_go_duration

YEARS: Final = 5
"""How many years ahead a date is searched; 30 February is never found."""

_MINUTE: Final = timedelta(minutes=1)


class Cron(abc.ABC):
    """A schedule. Immutable."""

    @staticmethod
    def parse(text: str, *, tz: tzinfo | None = None) -> Cron:
        """Parse an expression; its hours are in ``tz``, by default in the zone of each given time.

        Raises :class:`CronError`.
        """
        if text.startswith(_EVERY):
            return IntervalCron(_interval(text), tz)
        if text.startswith("@"):
            if text not in _DESCRIPTORS:
                raise CronError(
                    f"{text!r} is no descriptor: write {', '.join(_DESCRIPTORS)} or @every 90s"
                )
            text = _DESCRIPTORS[text]
        parts = text.split()
        if len(parts) != len(_FIELDS):
            raise CronError(
                f"expected 5 fields (minute, hour, day of month, month, day of week), found "
                f"{len(parts)}: {text!r}"
            )
        minutes, hours, days_of_month, months, days_of_week = (
            field.parse(part) for field, part in zip(_FIELDS, parts, strict=True)
        )
        return CalendarCron(minutes, hours, days_of_month, months, days_of_week, tz)

    @abc.abstractmethod
    def next(self, after: datetime) -> datetime | None:
        """Return the first time after the given one, or None if there is none within five years.

        Raises ``ValueError`` for a time without a zone.
        """


@dataclass(frozen=True, slots=True)
class _Choice:
    """The values that one field allows."""

    values: frozenset[int]
    is_star: bool
    """True for ``*`` or ``?``, which is not the same as all values."""


@dataclass(frozen=True, slots=True)
class CalendarCron(Cron):
    """Due at certain minutes of certain hours of certain days."""

    minutes: _Choice
    hours: _Choice
    days_of_month: _Choice
    months: _Choice
    days_of_week: _Choice
    zone: tzinfo | None = None

    def next(self, after: datetime) -> datetime | None:
        # Count in UTC and compare with the wall clock: hours that clocks skip never appear, and
        # hours that they repeat appear twice.
        zone = _zone(self.zone, after)
        moment = after.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        last_year = after.astimezone(zone).year + YEARS
        while (wall := moment.astimezone(zone)).year <= last_year:
            if not self._has_day(wall):
                moment = _midnight_after(wall)
            elif not self._has_hour(wall):
                moment += _MINUTE * (60 - wall.minute)
            elif wall.minute not in self.minutes.values:
                later = (minute for minute in self.minutes.values if minute > wall.minute)
                moment += _MINUTE * (min(later, default=60) - wall.minute)
            else:
                return wall
        return None

    def _has_day(self, day: date) -> bool:
        if day.month not in self.months.values:
            return False
        by_month = day.day in self.days_of_month.values
        by_week = day.isoweekday() % 7 in self.days_of_week.values
        if self.days_of_month.is_star or self.days_of_week.is_star:
            return by_month and by_week
        return by_month or by_week

    def _has_hour(self, wall: datetime) -> bool:
        is_every_hour = len(self.hours.values) == 24
        return is_every_hour or (wall.hour in self.hours.values and not wall.fold)


@dataclass(frozen=True, slots=True)
class IntervalCron(Cron):
    """Due an interval after the given time, at a whole second."""

    interval: timedelta
    zone: tzinfo | None = None

    def next(self, after: datetime) -> datetime | None:
        zone = _zone(self.zone, after)
        return (after.astimezone(UTC) + self.interval).replace(microsecond=0).astimezone(zone)


def _zone(zone: tzinfo | None, after: datetime) -> tzinfo:
    if after.tzinfo is None:
        raise ValueError(f"{after} has no time zone; write datetime(..., tzinfo=UTC)")
    return zone or after.tzinfo


def _midnight_after(wall: datetime) -> datetime:
    """The beginning of the next day, in UTC."""
    return datetime.combine(
        wall.date() + timedelta(days=1), datetime.min.time(), wall.tzinfo
    ).astimezone(UTC)


# Reading


_RANGE: Final = re.compile(
    r"(?:(?P<star>[*?])|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>[0-9]{1,4}))?"
)


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five fields: its name, its bounds, and names for its values."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()

    def parse(self, text: str) -> _Choice:
        """Read a list of values, ranges and steps. Raises :class:`CronError`."""
        ranges = [self._range(part) for part in text.split(",")]
        return _Choice(
            frozenset().union(*(choice.values for choice in ranges)),
            any(choice.is_star for choice in ranges),
        )

    def _range(self, text: str) -> _Choice:
        found = _RANGE.fullmatch(text)
        if found is None:
            raise self._error(text, "it is no value, range or step")
        step = int(found["step"] or 1)
        if step == 0:
            raise self._error(text, "a step of 0 goes nowhere")
        if found["star"]:
            values = range(self.lowest, self.highest + 1, step)
            return _Choice(frozenset(values), is_star=step == 1)
        first = self._value(found["first"], text)
        if found["last"]:
            last = self._value(found["last"], text)
        else:
            last = self.highest if found["step"] else first
        if first > last:
            raise self._error(text, "the range ends before it begins")
        return _Choice(frozenset(range(first, last + 1, step)), is_star=False)

    def _value(self, text: str, whole: str) -> int:
        if text.lower() in self.names:
            return self.lowest + self.names.index(text.lower())
        if not (text.isascii() and text.isdecimal()):
            raise self._error(whole, f"{text!r} is no number")
        if not self.lowest <= int(text) <= self.highest:
            raise self._error(whole, f"{text} is not within {self.lowest} to {self.highest}")
        return int(text)

    def _error(self, text: str, why: str) -> CronError:
        return CronError(f"the {self.name} {text!r} cannot be: {why}")


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field(
        "month",
        1,
        12,
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    _Field("day of week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_EVERY: Final = "@every "


def _interval(text: str) -> timedelta:
    """Return whole seconds, rounded down, at least one."""
    try:
        length = parse_go_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise CronError(f"the interval is no duration: {error}") from None
    if length < 0:
        raise CronError(f"the interval is no duration, it is negative: {text!r}")
    try:
        return timedelta(seconds=max(length // 10**9, 1))
    except OverflowError:
        raise CronError(f"the interval is longer than any calendar: {text!r}") from None
