"""Quantities of Kubernetes, such as ``500m`` or ``1Gi``: their amount and canonical form.

Functions have no state and are safe for any number of threads.

Upstream: apimachinery ``pkg/api/resource/quantity.go``.
"""

from __future__ import annotations

import functools
import re
from decimal import ROUND_UP, Context, Decimal

_QUANTITY = re.compile(
    r"(?=.)([-+]?)([0-9]*\.?[0-9]*)([eE][-+]?[0-9]+|[KMGTPE]i|[numkMGTPE]?)", re.ASCII
)
_SHAPE = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eEinumkKMGTP]*[-+]?[0-9]*", re.ASCII)
"""A number and what may be a suffix."""
_WRONG_SHAPE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_DECIMAL_SUFFIXES = {
    3 * power: suffix
    for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
}
_BINARY_SUFFIXES = {power: f"{prefix}i" for power, prefix in enumerate("KMGTPE", 1)}
_FACTORS = {
    **{suffix: Decimal(10) ** power for power, suffix in _DECIMAL_SUFFIXES.items()},
    **{suffix: Decimal(1024) ** power for power, suffix in _BINARY_SUFFIXES.items()},
}
_MAX_EXPONENT = 1_000
_MAX_BINARY = Decimal(2**63 - 1)
_NANO = Decimal(1).scaleb(-9)
EXACT = Context(prec=2_100)
"""Exact for every number of a sensible length."""
_REMEMBERED = 1_024
"""Quantities whose amounts are remembered: most objects have the same few."""
_MAX_LENGTH = 1_000
"""Characters of a quantity; the real server reads longer ones, which are of no use."""


def parse_quantity(text: str) -> Decimal:
    """Return the exact amount of a quantity.

    Raises:
        ValueError: it is not a quantity.
    """
    return _parse(text)[0]


def is_whole(quantity: str) -> bool:
    """Return True if a quantity has no fraction, however many digits it has.

    Raises:
        ValueError: it is not a quantity.
    """
    amount = parse_quantity(quantity)
    return amount == amount.to_integral_value()


@functools.lru_cache(_REMEMBERED)
def canonical_quantity(text: str) -> str:
    """Return the form in which the API server writes a quantity: ``1024Mi`` as ``1Gi``.

    No fraction, the largest suffix of the same family, and at most nine decimal places (rounded
    away from zero).

    Raises:
        ValueError: it is not a quantity.
    """
    return format_quantity(*_parse(text))


def parse_quantity_with_suffix(text: str) -> tuple[Decimal, str]:
    """Return the exact amount of a quantity, and its suffix.

    Raises:
        ValueError: it is not a quantity.
    """
    return _parse(text)


def format_quantity(amount: Decimal, suffix: str) -> str:
    """Return the canonical form of an amount, in the family of a suffix."""
    binary = suffix in _BINARY_SUFFIXES.values()
    if binary:
        amount = min(amount, _MAX_BINARY)
    rounded = amount.quantize(_NANO, ROUND_UP, EXACT)
    if binary and abs(rounded) >= 1024 and rounded == rounded.to_integral_value():
        return _binary(int(rounded))
    return _decimal(rounded, exponent_form=len(suffix) > 1 and not binary)


@functools.lru_cache(_REMEMBERED)
def _parse(text: str) -> tuple[Decimal, str]:
    """Return the exact amount and the suffix."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        if len(text) > _MAX_LENGTH or _SHAPE.fullmatch(text) is None:
            raise ValueError(_WRONG_SHAPE)
        raise ValueError("unable to parse quantity's suffix")
    sign, digits, suffix = match.groups()
    number = Decimal(f"{sign}0{digits}")  # a server reads a number without digits as 0
    if suffix in _FACTORS:
        return EXACT.multiply(number, _FACTORS[suffix]), suffix
    exponent = int(suffix[1:])
    if abs(exponent) > _MAX_EXPONENT:
        raise ValueError("the exponent of the quantity is out of range")
    return number.scaleb(exponent, EXACT), suffix


def _binary(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < max(_BINARY_SUFFIXES):
        amount, power = amount // 1024, power + 1
    return f"{amount}{_BINARY_SUFFIXES.get(power, '')}"


def _decimal(amount: Decimal, *, exponent_form: bool) -> str:
    """Return an amount of at most nine decimal places with a suffix, or an exponent."""
    mantissa, power = int(amount.scaleb(9, EXACT)), -9
    if not mantissa:
        return "0"
    while mantissa % 1000 == 0 and (exponent_form or power < max(_DECIMAL_SUFFIXES)):
        mantissa, power = mantissa // 1000, power + 3
    if exponent_form:
        return f"{mantissa}e{power}"
    return f"{mantissa}{_DECIMAL_SUFFIXES[power]}"
