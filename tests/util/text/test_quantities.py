"""Quantities: the amount and the canonical form."""

from __future__ import annotations

from decimal import Decimal

import pytest

from clientgo.util.text.quantities import canonical_quantity, is_whole, parse_quantity


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("1.5Gi", "1536Mi"),
        ("-1024Mi", "-1Gi"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("2000m", "2"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1000000E", "1000000E"),
        ("0Gi", "0"),
        ("+.5", "500m"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("9Ei", "9223372036854775807"),
        ("0.0000000001", "1n"),
        ("1e3", "1e3"),
        ("5E2", "500e0"),
        ("1.5e3", "1500e0"),
        ("0e3", "0"),
    ],
)
def test_a_quantity_has_one_canonical_form(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical
    assert canonical_quantity(canonical) == canonical


@pytest.mark.parametrize("text", ["Gi", "m", "-", ".", "e3"])
def test_a_number_without_digits_is_zero(text: str) -> None:
    assert canonical_quantity(text) == "0"


@pytest.mark.parametrize(("text", "amount"), [("1Ki", 1024), ("1k", 1000), ("1e3", 1000)])
def test_the_amount_is_independent_of_the_suffix(text: str, amount: int) -> None:
    assert parse_quantity(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "1 Gi", "1ki", "1e", "NaN", "1e1001", "1" * 2000])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        canonical_quantity(text)


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "1 Gi", "10Mo"])
def test_what_is_no_number_with_a_suffix_does_not_match(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression '"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["10Mm", "1K", "1ki", "1m5"])
def test_a_suffix_that_does_not_exist_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse quantity's suffix"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [("1", True), ("1500m", False), ("9" * 40, True), ("1e1000", True), ("1n", False)],
)
def test_a_whole_quantity_may_have_any_number_of_digits(text: str, whole: bool) -> None:
    assert is_whole(text) is whole
