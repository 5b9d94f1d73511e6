"""Numbers as Go reads and writes them again."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from clientgo.meta.json_values import WholeFloat

LEAST_INTEGER: Final = -(2**63)
GREATEST_INTEGER: Final = 2**63 - 1

_SIXTY_FOUR_BITS: Final = 20
"""Digits of the largest integers, and their sign."""


def parse_int(text: str) -> int | float:
    """Return an integer, or a float beyond 64 bits."""
    if len(text) > _SIXTY_FOUR_BITS:
        return parse_float(text)
    number = int(text)
    return number if LEAST_INTEGER <= number <= GREATEST_INTEGER else parse_float(text)


def parse_float(text: str, whole: type[int] = WholeFloat) -> int | float:
    """Return a number as Go writes it back: as an integer if it has no fraction.

    Raises:
        ValueError: it is beyond what a float holds.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"cannot unmarshal number {text[:30]} into a float64")
    if number.is_integer() and LEAST_INTEGER <= number <= GREATEST_INTEGER:
        return whole(Decimal(repr(number)))  # with the digits that Go writes
    return number
