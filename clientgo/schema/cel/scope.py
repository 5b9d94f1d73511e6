"""What an expression sees while it runs: its variables, and how far it may still go.

Promises: an inner scope shares the budget of the outer one, so that nested loops are bounded as a
whole.

Does not promise: cel-go's cost model; a step is one turn of a loop, not one unit of cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import BudgetExceededError

MAX_STEPS = 1_000_000
"""Turns of loops in one evaluation: what cel-go's limit allows the cheapest of bodies."""


class Budget:
    """Counts the turns of all loops of one evaluation."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def spend(self) -> None:
        """Count one turn.

        Raises:
            BudgetExceededError: there have been too many.
        """
        self._left -= 1
        if self._left < 0:
            raise BudgetExceededError("operation cancelled: actual cost limit exceeded")


class Scope:
    """The variables in sight. An inner scope is changed only by the loop that made it."""

    __slots__ = ("budget", "names")

    def __init__(self, names: Mapping[str, Any], budget: Budget) -> None:
        self.names = dict(names)
        self.budget = budget

    def inner(self) -> Scope:
        """Return a scope for the body of a loop."""
        return Scope(self.names, self.budget)
