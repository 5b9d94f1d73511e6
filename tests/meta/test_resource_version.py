"""A resource version as a number."""

from __future__ import annotations

import pytest

from clientgo.meta import parse_resource_version


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("0", 0),
        ("17", 17),
        ("9" * 30, int("9" * 30)),
        ("", None),
        ("abc", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("²", None),
        ("1" * 5000, None),
    ],
    ids=lambda value: str(value)[:8],
)
def test_only_a_decimal_number_can_be_compared(version: str, number: int | None) -> None:
    """STO-08."""
    assert parse_resource_version(version) == number
