"""Quantities of Kubernetes, such as ``500m`` or ``1Gi``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from clientgo.cel.errors import CelEvaluationError
from clientgo.cel.functions import Overload, function, method
from clientgo.cel.types import BOOL, DOUBLE, INT, STRING, CelType
from clientgo.cel.values import INT_RANGE

QUANTITY = CelType("kubernetes.Quantity")

_QUANTITY = re.compile(
    r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([eE][-+]?[0-9]+|[KMGTPE]i|[numkMGTPE]?)", re.ASCII
)
_DECIMAL = {
    suffix: Decimal(10) ** (3 * power)
    for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
}
_BINARY = {f"{prefix}i": Decimal(1024) ** power for power, prefix in enumerate("KMGTPE", 1)}
_MAX_EXPONENT = 64


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount, independent of its suffix."""

    cel_type: ClassVar[CelType] = QUANTITY
    amount: Decimal

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Parse a quantity.

        Raises:
            ValueError: it is not one.
        """
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise ValueError("quantities must match the regular expression of Kubernetes")
        number, suffix = Decimal(match[1]), match[2]
        if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
            exponent = int(suffix[1:])
            if abs(exponent) > _MAX_EXPONENT:
                raise ValueError("the exponent of the quantity is out of range")
            return cls(number.scaleb(exponent))
        return cls(number * {**_DECIMAL, **_BINARY}[suffix])

    @property
    def is_integer(self) -> bool:
        """True if it is an integer of 64 bits."""
        return self.amount == self.amount.to_integral_value() and int(self.amount) in INT_RANGE


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ValueError as error:
        raise CelEvaluationError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _as_integer(quantity: Quantity) -> int:
    if not quantity.is_integer:
        raise CelEvaluationError("cannot convert value to integer")
    return int(quantity.amount)


def _compare(left: Quantity, right: Quantity) -> int:
    return (left > right) - (left < right)


def _integer(value: int) -> Quantity:
    return Quantity(Decimal(value))


OVERLOADS: tuple[Overload, ...] = (
    function("quantity", [STRING], QUANTITY, _quantity),
    function("isQuantity", [STRING], BOOL, _is_quantity),
    function("sign", [QUANTITY], INT, lambda quantity: _compare(quantity, _integer(0))),
    method("isInteger", QUANTITY, [], BOOL, lambda quantity: quantity.is_integer),
    method("asInteger", QUANTITY, [], INT, _as_integer),
    method("asApproximateFloat", QUANTITY, [], DOUBLE, lambda quantity: float(quantity.amount)),
    method("add", QUANTITY, [QUANTITY], QUANTITY, lambda a, b: Quantity(a.amount + b.amount)),
    method("add", QUANTITY, [INT], QUANTITY, lambda a, b: Quantity(a.amount + b)),
    method("sub", QUANTITY, [QUANTITY], QUANTITY, lambda a, b: Quantity(a.amount - b.amount)),
    method("sub", QUANTITY, [INT], QUANTITY, lambda a, b: Quantity(a.amount - b)),
    method("compareTo", QUANTITY, [QUANTITY], INT, _compare),
    method("isLessThan", QUANTITY, [QUANTITY], BOOL, lambda a, b: a < b),
    method("isGreaterThan", QUANTITY, [QUANTITY], BOOL, lambda a, b: a > b),
)
