"""Quantities of Kubernetes, such as ``500m`` or ``1Gi``."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import BOOL, DOUBLE, INT, STRING, CelType
from clientgo.testcluster.cel.values import INT_RANGE
from clientgo.util.text.quantities import parse_quantity

QUANTITY = CelType("kubernetes.Quantity")


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
        return cls(parse_quantity(text))

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
