"""Durations in Go's notation."""

from __future__ import annotations

import pytest

from clientgo.util.text.durations import parse_go_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5s", 5 * 10**9),
        ("-1h2.5s", -3602_500_000_000),
        ("5.s", 5 * 10**9),
        (".5ms", 500_000),
        ("1.000000000999999999999999s", 10**9),
        ("0" * 5000 + "1us", 1000),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)
def test_a_duration_is_read_exactly(text: str, nanoseconds: int) -> None:
    assert parse_go_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        ("--1s", 'invalid duration "--1s"'),
        (".", 'invalid duration "."'),
        (" ", 'invalid duration " "'),
        ("5", 'missing unit in duration "5"'),
        ("1s5", 'missing unit in duration "1s5"'),
        ("1.h.5m.", 'invalid duration "1.h.5m."'),
        ("1S", 'unknown unit "S" in duration "1S"'),
        ("1e3s", 'unknown unit "e" in duration "1e3s"'),
        ("1\u00e9", r'unknown unit "\xc3\xa9" in duration "1\xc3\xa9"'),
        ("1\\", r'unknown unit "\\" in duration "1\\"'),
        ('a"\x01\x7f\udcff', 'invalid duration "a\\"\\x01\x7f\\xff"'),
        ("9223372036854775808ns", 'invalid duration "9223372036854775808ns"'),
        ("99999999999999999999h", 'invalid duration "99999999999999999999h"'),
    ],
)
def test_a_bad_duration_is_refused_as_by_go(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="time: ") as caught:
        parse_go_duration(text)

    assert str(caught.value) == f"time: {message}"
