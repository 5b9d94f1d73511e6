"""Amounts with a unit, as values that can be compared and added.

Fields of API objects hold quantities as text (``clientgo.api.wire.Quantity``), in the form in which
a client wrote them. Compare the amounts, not the texts: ``"9Gi" > "10Gi"`` for Python.

Upstream: apimachinery ``pkg/api/resource`` Quantity, which rounds amounts beyond 64 bits.
"""

from __future__ import annotations

from decimal import Decimal
from functools import total_ordering
from typing import TypeAlias

from clientgo.util.text.quantities import EXACT, format_quantity, parse_quantity_with_suffix

Number: TypeAlias = int | float | Decimal


@total_ordering
class Quantity:
    """An exact amount, such as ``Quantity("500m")`` or ``Quantity("1Gi")``. Immutable.

    Made of text, a number, or another quantity. Quantities with the same amount are equal, whatever
    their form: ``Quantity("1Gi") == Quantity("1024Mi")``. ``str`` is the form in which the API
    server writes it, for fields of objects. A sum has the unit of its first part, binary or
    decimal. Raises ``ValueError`` for what is no quantity.
    """

    __slots__ = ("_suffix", "amount")

    amount: Decimal
    """The number without a unit: bytes, cores."""

    def __init__(self, value: str | Number | Quantity) -> None:
        self._suffix: str
        if isinstance(value, Quantity):
            self.amount, self._suffix = value.amount, value._suffix
        else:
            self.amount, self._suffix = parse_quantity_with_suffix(str(value))

    def __str__(self) -> str:
        return format_quantity(self.amount, self._suffix)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __float__(self) -> float:
        return float(self.amount)

    def __int__(self) -> int:
        """Return the amount without its fraction."""
        return int(self.amount)

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __hash__(self) -> int:
        return hash(self.amount)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.amount == other.amount

    def __lt__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.amount < other.amount

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._with(EXACT.add(self.amount, other.amount))

    def __radd__(self, other: int) -> Quantity:
        """Let ``sum`` begin with 0."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._with(EXACT.subtract(self.amount, other.amount))

    def __neg__(self) -> Quantity:
        return self._with(EXACT.minus(self.amount))

    def __mul__(self, factor: Number) -> Quantity:
        if not isinstance(factor, int | float | Decimal):
            return NotImplemented
        return self._with(EXACT.multiply(self.amount, _exact(factor)))

    __rmul__ = __mul__

    def _with(self, amount: Decimal) -> Quantity:
        made = Quantity(self)
        made.amount = amount
        return made


def _exact(number: Number) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
