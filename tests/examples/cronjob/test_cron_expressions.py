"""Cron expressions: what can be written, and when it is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.util.text.cron import CronError
from clientgo.util.text.cron_schedule import Cron

NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


def due(schedule: str, after: str, tz: tzinfo | None = None) -> str:
    """When a schedule is due next, as text."""
    found = Cron.parse(schedule, tz=tz).next(datetime.fromisoformat(after))
    return found.isoformat() if found is not None else "never"


# What can be written


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-03-01T10:00:00+00:00", "2026-03-01T10:01:00+00:00"),
        ("? ? ? ? ?", "2026-03-01T10:00:59+00:00", "2026-03-01T10:01:00+00:00"),
        ("*/15 * * * *", "2026-03-01T10:00:00+00:00", "2026-03-01T10:15:00+00:00"),
        ("5/15 * * * *", "2026-03-01T10:50:00+00:00", "2026-03-01T11:05:00+00:00"),
        ("7-20/6 * * * *", "2026-03-01T10:14:00+00:00", "2026-03-01T10:19:00+00:00"),
        ("1,2,30 3 * * *", "2026-03-01T03:02:00+00:00", "2026-03-01T03:30:00+00:00"),
        ("0 0 1 JAN *", "2026-03-01T10:00:00+00:00", "2027-01-01T00:00:00+00:00"),
        ("0 0 1 feb-apr/2 ?", "2026-03-01T10:00:00+00:00", "2026-04-01T00:00:00+00:00"),
        ("0 0 * * SUN", "2026-03-01T10:00:00+00:00", "2026-03-08T00:00:00+00:00"),
        ("0 0 * * 1-5", "2026-03-06T10:00:00+00:00", "2026-03-09T00:00:00+00:00"),
        ("0 0 * * fri,MON", "2026-03-03T10:00:00+00:00", "2026-03-06T00:00:00+00:00"),
        ("59 23 31 12 *", "2026-12-31T23:59:00+00:00", "2027-12-31T23:59:00+00:00"),
    ],
)
def test_fields_are_lists_of_values_ranges_and_steps(
    schedule: str, after: str, expected: str
) -> None:
    """CRON-51, CRON-54: strictly later, at whole minutes."""
    assert due(schedule, after) == expected


@pytest.mark.parametrize(
    ("schedule", "complaint"),
    [
        ("", "expected 5 fields"),
        ("* * * *", "found 4"),
        ("0 * * * * *", "found 6"),
        ("60 * * * *", "60 is not within 0 to 59"),
        ("* 24 * * *", "the hour '24'"),
        ("* * 0 * *", "the day of month '0'"),
        ("* * 32 * *", "not within 1 to 31"),
        ("* * * 13 *", "the month"),
        ("* * * 0 *", "the month"),
        ("* * * * 7", "7 is not within 0 to 6"),
        ("* * * * MONDAY", "'MONDAY' is no number"),
        ("JAN * * * *", "'JAN' is no number"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "goes nowhere"),
        ("1-2-3 * * * *", "no value, range or step"),
        ("*/2/3 * * * *", "no value, range or step"),
        ("*-5 * * * *", "no value, range or step"),
        ("1,,2 * * * *", "no value, range or step"),
        ("-1 * * * *", "no value, range or step"),
        ("+1 * * * *", "no value, range or step"),
        ("1.5 * * * *", "no value, range or step"),
        ("² * * * *", "is no number"),
        ("*/99999999999999999999 * * * *", "no value, range or step"),
        ("every day at noon please", "the minute 'every'"),
        ("@fortnightly", "no descriptor"),
        ("@every", "no descriptor"),
        ("@every often", "no duration"),
        ("@every -5s", "no duration"),
        ("@every 99999999999999h", "no duration"),
    ],
)
def test_what_is_none_is_refused_with_the_part_at_fault(schedule: str, complaint: str) -> None:
    """CRON-51, CRON-52."""
    with pytest.raises(CronError, match=complaint):
        Cron.parse(schedule)


@pytest.mark.parametrize(
    ("descriptor", "schedule"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ],
)
def test_descriptors_are_other_words_for_schedules(descriptor: str, schedule: str) -> None:
    """CRON-52."""
    assert Cron.parse(descriptor) == Cron.parse(schedule)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("@every 90s", "2026-03-01T10:01:30+00:00"),
        ("@every 1h30m", "2026-03-01T11:30:00+00:00"),
        ("@every 2500ms", "2026-03-01T10:00:02+00:00"),
        ("@every 10ms", "2026-03-01T10:00:01+00:00"),
    ],
)
def test_an_interval_counts_from_the_time_asked_about(schedule: str, expected: str) -> None:
    """CRON-52: in whole seconds, and one at least."""
    assert due(schedule, "2026-03-01T10:00:00.700000+00:00") == expected


# Days


@pytest.mark.parametrize(
    ("schedule", "days"),
    [
        ("0 0 13 * FRI", [3, 10, 13, 17, 24]),  # either
        ("0 0 13 * *", [13]),
        ("0 0 * * FRI", [3, 10, 17, 24]),
        ("0 0 ? * FRI", [3, 10, 17, 24]),
        ("0 0 13 * ?", [13]),
        ("0 0 */14 * FRI", [1, 3, 10, 15, 17, 24, 29]),  # a step says something
        ("0 0 13 * 0-6", list(range(1, 31))),  # and so do all values by name
        ("0 0 13 * FRI,*", [13]),
    ],
)
def test_of_two_kinds_of_days_either_will_do(schedule: str, days: list[int]) -> None:
    """CRON-53: where one says nothing, the other decides."""
    cron = Cron.parse(schedule)
    moment = datetime(2026, 3, 31, 12, tzinfo=UTC)
    found = []
    while (following := cron.next(moment)) is not None and following.month == 4:
        found.append(following.day)
        moment = following
    assert found == days


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("0 12 29 2 *", "2026-03-01T00:00:00+00:00", "2028-02-29T12:00:00+00:00"),
        ("0 12 29 2 *", "2028-02-29T12:00:00+00:00", "2032-02-29T12:00:00+00:00"),
        ("0 12 29 2 *", "2097-01-01T00:00:00+00:00", "never"),  # 2100 has none
        ("0 0 30 2 *", "2026-03-01T00:00:00+00:00", "never"),
        ("0 0 31 4,6,9,11 *", "2026-03-01T00:00:00+00:00", "never"),
    ],
)
def test_what_does_not_come_within_five_years_never_comes(
    schedule: str, after: str, expected: str
) -> None:
    """CRON-50, CRON-55."""
    assert due(schedule, after) == expected


# Clocks that are changed


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        # On 8 March 2026 it is 3 o'clock after 1:59.
        ("30 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-09T02:30:00-04:00"),
        ("0 * * * *", "2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00"),
        ("*/30 * * * *", "2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00"),
        ("0 3 * * *", "2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00"),
        # On 1 November 2026 it is 1 o'clock again after 1:59.
        ("30 1 * * *", "2026-11-01T00:00:00-04:00", "2026-11-01T01:30:00-04:00"),
        ("30 1 * * *", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"),
        ("30 1-2 * * *", "2026-11-01T01:30:00-04:00", "2026-11-01T02:30:00-05:00"),
        ("30 * * * *", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"),
        ("0 0 * * *", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"),
    ],
)
def test_hours_that_are_skipped_or_repeated(schedule: str, after: str, expected: str) -> None:
    """CRON-50, CRON-54: what is due at certain hours is due once, or not at all."""
    assert due(schedule, after, NEW_YORK) == expected


def test_half_hours_can_be_skipped_too() -> None:
    """CRON-54."""
    # On 4 October 2026 it is 2:30 after 1:59.
    assert due("15 2 * * *", "2026-10-04T00:00:00+10:30", LORD_HOWE).startswith("2026-10-05T02:15")
    assert due("30 2 * * *", "2026-10-04T00:00:00+10:30", LORD_HOWE).startswith("2026-10-04T02:30")


def test_midnight_itself_can_be_skipped() -> None:
    """CRON-54: in Cairo, on 24 April 2026."""
    cairo = ZoneInfo("Africa/Cairo")
    assert due("0 0 * * *", "2026-04-23T12:00:00+02:00", cairo) == "2026-04-25T00:00:00+03:00"
    assert due("0 1 * * *", "2026-04-23T12:00:00+02:00", cairo) == "2026-04-24T01:00:00+03:00"


def test_the_zone_is_that_of_the_time_unless_it_is_said() -> None:
    """CRON-54."""
    later = timezone(timedelta(hours=5))
    after = datetime(2026, 3, 1, 10, tzinfo=later)
    found = Cron.parse("0 12 * * *").next(after)
    assert found is not None
    assert (found.isoformat(), found.tzinfo) == ("2026-03-01T12:00:00+05:00", later)
    assert due("0 12 * * *", after.isoformat(), UTC) == "2026-03-01T12:00:00+00:00"


def test_a_time_without_a_zone_is_refused() -> None:
    """CRON-54: what it means would depend on the machine."""
    for schedule in ("@every 5s", "0 0 * * *"):
        with pytest.raises(ValueError, match="no time zone"):
            Cron.parse(schedule).next(datetime(2026, 3, 1))


# Against a model that tries every minute

_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


@st.composite
def _field(draw: st.DrawFn, lowest: int, highest: int) -> tuple[str, set[int] | None]:
    """A field and the values that it means; None for all of them, said by a star."""
    values: set[int] = set()
    parts = []
    has_star = False
    for _ in range(draw(st.integers(1, 3))):
        step = draw(st.integers(1, highest))
        first = draw(st.integers(lowest, highest))
        last = draw(st.integers(first, highest))
        text, allowed, is_star = draw(
            st.sampled_from(
                [
                    ("*", range(lowest, highest + 1), True),
                    (f"*/{step}", range(lowest, highest + 1, step), step == 1),
                    (f"{first}", range(first, first + 1), False),
                    (f"{first}-{last}", range(first, last + 1), False),
                    (f"{first}-{last}/{step}", range(first, last + 1, step), False),
                    (f"{first}/{step}", range(first, highest + 1, step), False),
                ]
            )
        )
        parts.append(text)
        values |= set(allowed)
        has_star |= is_star
    return ",".join(parts), None if has_star else values


_FIELDS = st.tuples(*(_field(lowest, highest) for lowest, highest in _BOUNDS))
_MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2029, 12, 31), timezones=st.just(UTC))


def _is_due(fields: tuple[tuple[str, set[int] | None], ...], wall: datetime) -> bool:
    minutes, hours, days, months, weekdays = (values for _, values in fields)
    by_month = days is None or wall.day in days
    by_week = weekdays is None or wall.isoweekday() % 7 in weekdays
    either = days is not None and weekdays is not None
    return (
        (minutes is None or wall.minute in minutes)
        and (hours is None or (wall.hour in hours and (not wall.fold or len(hours) == 24)))
        and (months is None or wall.month in months)
        and (by_month or by_week if either else by_month and by_week)
    )


def _first_by_trying(
    fields: tuple[tuple[str, set[int] | None], ...], after: datetime, zone: tzinfo, minutes: int
) -> datetime | None:
    moment = after.astimezone(UTC).replace(second=0, microsecond=0)
    for _ in range(minutes):
        moment += timedelta(minutes=1)
        if _is_due(fields, moment.astimezone(zone)):
            return moment
    return None


@settings(max_examples=150, deadline=None)
@given(_FIELDS, _MOMENTS)
def test_the_first_time_is_the_first_that_fits(
    fields: tuple[tuple[str, set[int] | None], ...], after: datetime
) -> None:
    """CRON-51, CRON-53, CRON-54."""
    found = Cron.parse(" ".join(text for text, _ in fields)).next(after)
    tried = _first_by_trying(fields, after, UTC, 4000)
    if tried is not None:
        assert found == tried
    elif found is not None:
        assert found > after + timedelta(minutes=3999)
        assert _is_due(fields, found)


@settings(max_examples=100, deadline=None)
@given(
    _field(0, 59),
    _field(0, 23),
    st.sampled_from([NEW_YORK, LORD_HOWE, ZoneInfo("Africa/Cairo"), ZoneInfo("America/Havana")]),
    st.sampled_from([(2026, 3, 7), (2026, 10, 31), (2026, 4, 4), (2026, 10, 3), (2026, 4, 23)]),
    st.integers(0, 2880),
)
def test_it_is_so_where_clocks_are_changed(
    minutes: tuple[str, set[int] | None],
    hours: tuple[str, set[int] | None],
    zone: tzinfo,
    day: tuple[int, int, int],
    offset: int,
) -> None:
    """CRON-54: at every minute of the days around."""
    after = datetime(*day, tzinfo=UTC) + timedelta(minutes=offset)
    fields = (minutes, hours, ("*", None), ("*", None), ("*", None))
    found = Cron.parse(f"{minutes[0]} {hours[0]} * * *", tz=zone).next(after)
    assert found is not None
    assert found.astimezone(UTC) == _first_by_trying(fields, after, zone, 3 * 1440)
