"""Amounts that can be compared and added."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from typing import Any

import pytest

from clientgo.meta import Quantity


def test_amounts_are_compared_and_not_texts() -> None:
    assert Quantity("10Gi") < Quantity("20Gi")
    assert Quantity("9Gi") < Quantity("10Gi") <= Quantity("10240Mi")
    assert Quantity("1k") < Quantity("1Ki")
    assert max(map(Quantity, ("500m", "2", "1e-1"))) == Quantity(2)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1Gi", "1024Mi"), ("1", "1000m"), ("0.1", "100m"), ("1e3", "1k"), ("-1", "-1000m")],
)
def test_the_same_amount_is_equal_in_every_form(one: str, other: str) -> None:
    assert Quantity(one) == Quantity(other)
    assert hash(Quantity(one)) == hash(Quantity(other))
    assert Quantity(one) != one


@pytest.mark.parametrize(
    ("value", "text"),
    [("1024Mi", "1Gi"), (0.5, "500m"), (3, "3"), (Decimal("0.25"), "250m"), (1e-3, "1m")],
)
def test_the_text_is_what_a_server_writes(value: Any, text: str) -> None:
    assert str(Quantity(value)) == text
    assert repr(Quantity(value)) == f"Quantity({text!r})"
    assert str(Quantity(Quantity(value))) == text


def test_sums_are_exact_and_keep_the_unit_of_the_first() -> None:
    assert str(Quantity("1Gi") + Quantity("512Mi")) == "1536Mi"
    assert str(Quantity("1") - Quantity("300m")) == "700m"
    assert str(sum(map(Quantity, ("100m", "200m", "700m")))) == "1"
    assert str(Quantity("1Gi") * 3) == str(3 * Quantity("1Gi")) == "3Gi"
    assert str(-Quantity("2") * 0.1) == "-200m"
    great = Quantity("12345678901234567890123456789") + Quantity("1m")
    assert great.amount - Decimal("12345678901234567890123456789") != 0


def test_amounts_are_numbers() -> None:
    assert Quantity("1Gi").amount == 1024**3
    assert (int(Quantity("1500m")), float(Quantity("1500m"))) == (1, 1.5)
    assert not Quantity("0Gi")


def test_what_is_no_quantity_is_refused() -> None:
    for value in ("", "1GiB", "ten", float("nan"), float("inf"), "1 Gi"):
        with pytest.raises(ValueError, match="quantit"):
            Quantity(value)
    mixed: Any = "1Gi"
    with pytest.raises(TypeError):
        assert Quantity("1Gi") < mixed
    with pytest.raises(TypeError):
        Quantity("1Gi") + mixed


def test_copies_are_equal() -> None:
    one = Quantity("1Gi")
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
