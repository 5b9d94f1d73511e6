"""The evaluation of several expressions for one write, which share a cost budget.

A module of its own because importing CEL takes longer than the rest of the server.

Upstream: apiserver ``admission/plugin/cel/activation.go`` and ``webhook/matchconditions``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clientgo.testcluster.cel import Budget, CelEvaluationError, Program
from clientgo.testcluster.server.admission.expression_errors import (
    ExpressionError,
    OutOfBudgetError,
)

CONDITIONS_LIMIT = 2_500_000
"""The cost limit of all match conditions of a webhook, or of a policy with a binding."""


class Evaluation:
    """Evaluates expressions for the same values, with a limit for each and a budget for all."""

    def __init__(self, values: Mapping[str, Any], budget: Budget) -> None:
        self._values = values
        self._budget = budget

    def value_of(self, program: Program) -> Any:
        """Return the value of an expression.

        Raises:
            OutOfBudgetError: it costs more than what is left; no further one can be evaluated.
            ExpressionError: it has none.
        """
        try:
            value = program.evaluate_within(self._values, self._budget)
        except CelEvaluationError as error:
            self._check_budget()
            problem = f"expression '{program.source}' resulted in error: {error}"
            raise ExpressionError(problem) from error
        self._check_budget()
        return value

    def _check_budget(self) -> None:
        if self._budget.left < 0:
            raise OutOfBudgetError(
                "validation failed due to running out of cost budget, no further validation rules "
                "will be run"
            )

    def all_hold(self, conditions: Iterable[Program]) -> bool:
        """Return True if every condition holds. All are evaluated.

        Raises:
            ExpressionError: one could not be evaluated, and none is false; or they cost too much.
        """
        failures: dict[str, None] = {}
        is_refused = False
        for program in conditions:
            try:
                is_refused |= self.value_of(program) is not True
            except OutOfBudgetError:
                raise
            except ExpressionError as error:
                failures[str(error)] = None
        if failures and not is_refused:
            text = ", ".join(failures)
            raise ExpressionError(f"[{text}]" if len(failures) > 1 else text)
        return not is_refused
