"""What an expression sees while it runs: its variables, and how much it may still cost.

Promises: an inner scope shares the budget of the outer one, so that nested loops are bounded as a
whole. Costs are in units of cel-go.

Does not promise: cel-go's exact costs. Only what can take long is counted, at what it costs at
least: turns of loops, and calls that look at whole texts and lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.cel.errors import BudgetExceededError

EVALUATION_LIMIT = 1_000_000
"""What one evaluation may cost."""

OBJECT_LIMIT = 3_000_000
"""What all rules may cost that one object is checked by. Kubernetes allows three times as much, but
here a unit takes about a microsecond, in which a server does nothing else."""

TURN = 3
"""What a turn of a loop costs at least: its condition, its result so far, and its body."""


class Budget:
    """What may still be spent."""

    __slots__ = ("left",)

    def __init__(self, left: int = EVALUATION_LIMIT) -> None:
        self.left = left

    def spend(self, cost: int) -> None:
        """Take a cost off.

        Raises:
            BudgetExceededError: there is not enough left.
        """
        self.left -= cost
        if self.left < 0:
            raise BudgetExceededError("operation cancelled: actual cost limit exceeded")


class Scope:
    """The variables in sight. An inner scope is changed only by the loop that made it."""

    __slots__ = ("budget", "names", "variables")

    def __init__(
        self,
        names: Mapping[str, Any],
        budget: Budget,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        self.names = dict(names)
        self.budget = budget
        self.variables = names if variables is None else variables
        """Those of the expression, without those of its macros."""

    def inner(self) -> Scope:
        """Return a scope for the body of a loop."""
        return Scope(self.names, self.budget, self.variables)
