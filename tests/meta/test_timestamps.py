"""Times as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.timestamps import (
    canonical_micro_time,
    canonical_time,
    format_micro_time,
    format_time,
    parse_time,
    to_datetime,
)


@given(st.integers(0, 4_000_000_000))
def test_whole_seconds_survive_their_text_form(seconds: int) -> None:
    assert parse_time(format_time(seconds)) == seconds


def test_the_two_forms_differ_in_their_decimals() -> None:
    assert format_time(1.9) == "1970-01-01T00:00:01Z"
    assert format_micro_time(1.25) == "1970-01-01T00:00:01.250000Z"


def test_any_offset_is_read() -> None:
    assert parse_time("1970-01-01T01:00:00+01:00") == 0.0


def test_a_datetime_is_in_utc() -> None:
    moment = to_datetime("2026-01-02T04:04:05+01:00")

    assert moment == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert moment.utcoffset() == timedelta(0)


def test_a_time_before_the_first_year_of_utc_is_named() -> None:
    with pytest.raises(ValueError, match="0001-01-01"):
        to_datetime("0001-01-01T00:00:00+01:00")


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-01T00:00:00"])
def test_what_is_no_time_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_time(text)


def test_an_early_year_has_four_digits() -> None:
    """Go's zero time, and a little later: what tests put into a Lease."""
    assert format_time(-62135596798) == "0001-01-01T00:00:02Z"
    assert format_micro_time(-62135596798) == "0001-01-01T00:00:02.000000Z"
    assert canonical_time("0001-01-01T01:00:02+01:00") == "0001-01-01T00:00:02Z"
    assert canonical_micro_time("0001-01-01T01:00:02.000000+01:00") == "0001-01-01T00:00:02.000000Z"
