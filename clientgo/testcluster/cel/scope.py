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
from clientgo.util.process import current_cpu_time_limit

EVALUATION_LIMIT = 1_000_000
"""The cost limit of one evaluation."""

OBJECT_LIMIT = 3_000_000
"""The cost limit of all rules for one object. Kubernetes allows three times as much, but a unit of
cost takes about a microsecond here."""

_PART = 1000
"""The cost after which the processor time is checked."""

ITERATION = 3
"""The lowest cost of an iteration: its condition, its accumulator and its body."""


@uncopyable("it has locks; make one in each process")
class Budget:
    """The cost that is left, in parts: after each, and at the beginning, the time is checked.

    Its methods raise ``CpuTimeExceededError`` if the work has a limit of processor time.
    """

    __slots__ = ("_left_later", "_left_now", "_time")

    def __init__(self, left: int = EVALUATION_LIMIT) -> None:
        self._time = current_cpu_time_limit()
        self._left_now, self._left_later = left, 0
        self._divide()

    @property
    def left(self) -> int:
        """Return what is left; it may be negative."""
        return self._left_now + self._left_later

    def spend(self, cost: int) -> None:
        """Spend a cost.

        Raises:
            BudgetExceededError: the cost is greater than what is left.
        """
        self._left_now -= cost
        if self._left_now < 0:
            if self.left < 0:
                raise BudgetExceededError("operation cancelled: actual cost limit exceeded")
            self._divide()

    def charge(self, cost: int) -> None:
        """Spend a cost that another budget had; what is left may be negative afterwards."""
        self._left_now -= cost

    def _divide(self) -> None:
        if self._time is not None:
            self._time.check()
        left = self.left
        self._left_now = min(left, _PART)
        self._left_later = left - self._left_now


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
