"""The variables and the cost budget of an evaluation.

Promises: an inner scope shares the budget of the outer one, so that nested loops share one limit.

Does not promise: cel-go's exact costs. Iterations and calls that read whole strings and lists are
counted, at their lowest cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.testcluster.cel.errors import BudgetExceededError
from clientgo.util.copies import uncopyable

EVALUATION_LIMIT = 1_000_000
"""The cost limit of one evaluation."""

OBJECT_LIMIT = 3_000_000
"""The cost limit of all rules for one object. Kubernetes allows three times as much, but a unit of
cost takes about a microsecond here."""

ITERATION = 3
"""The lowest cost of an iteration: its condition, its accumulator and its body."""


@uncopyable("it has locks; make one in each process")
class Budget:
    """The cost that is left."""

    __slots__ = ("left",)

    def __init__(self, left: int = EVALUATION_LIMIT) -> None:
        self.left = left

    def spend(self, cost: int) -> None:
        """Spend a cost.

        Raises:
            BudgetExceededError: the cost is greater than what is left.
        """
        self.left -= cost
        if self.left < 0:
            raise BudgetExceededError("operation cancelled: actual cost limit exceeded")


class Scope:
    """The visible variables. Only the loop that made an inner scope changes it."""

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
        """The variables of the expression, without those of its macros."""

    def inner(self) -> Scope:
        """Return a scope for the body of a loop."""
        return Scope(self.names, self.budget, self.variables)
