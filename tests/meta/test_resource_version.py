"""Resource versions as numbers."""

from __future__ import annotations

import pytest

from clientgo.meta import compare_resource_versions, parse_resource_version


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


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("9", "10", -1),
        ("10", "9", 1),
        ("10", "10", 0),
        ("0", "1", -1),
        ("18446744073709551616", "18446744073709551615", 1),
        ("1" + "0" * 40, "9" * 40, 1),
    ],
)
def test_versions_are_compared_as_numbers(a: str, b: str, result: int) -> None:
    """UTL-05: of any length."""
    assert compare_resource_versions(a, b) == result


@pytest.mark.parametrize("version", ["", "abc", "-1", "1.5", " 1", "1_0", "0x1", "²", "1" * 5000])
def test_what_is_not_a_decimal_number_is_not_compared(version: str) -> None:
    """UTL-05: on either side, and also with itself."""
    for a, b in ((version, "1"), ("1", version), (version, version)):
        with pytest.raises(ValueError, match="is not a decimal number"):
            compare_resource_versions(a, b)
