"""ValidatingAdmissionPolicy: the validations that a write must pass.

Upstream: apiserver ``admission/plugin/policy/validating``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.testcluster.cel import Budget, Program
from clientgo.testcluster.cel.scope import OBJECT_LIMIT
from clientgo.testcluster.server.admission.evaluation import Evaluation
from clientgo.testcluster.server.admission.expression_errors import (
    ExpressionError,
    OutOfBudgetError,
)
from clientgo.testcluster.server.admission.policies.expressions import (
    Conditions,
    Inputs,
    PolicyExpressions,
)

_MAX_MESSAGE_BYTES = 5 * 1024


class Refusal(msgspec.Struct, frozen=True):
    """Why a write does not pass."""

    message: str
    reason: str = "Invalid"


class _Validation(msgspec.Struct, frozen=True):
    program: Program
    message: str
    message_program: Program | None
    reason: str


class ValidatingPolicy:
    """The compiled expressions of one policy."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Compile a ``spec`` that was validated.

        Raises:
            CelCompileError: an expression does not compile.
        """
        self._expressions = PolicyExpressions(spec)
        self._conditions = Conditions(self._expressions, spec.get("matchConditions", ()))
        self._validations = [self._validation(item) for item in spec.get("validations", ())]
        self._annotations = [
            self._expressions.compile(item["valueExpression"])
            for item in spec.get("auditAnnotations", ())
        ]

    def _validation(self, validation: Mapping[str, str]) -> _Validation:
        expression = validation.get("messageExpression")
        return _Validation(
            self._expressions.compile(validation["expression"]),
            validation.get("message", "").strip(),
            self._expressions.compile(expression, with_authorizer=False) if expression else None,
            validation.get("reason") or "Invalid",
        )

    def refusals(self, inputs: Inputs, *, fails: bool) -> list[Refusal]:
        """Return why a write does not pass; empty if it does, or if a condition does not hold.

        ``fails`` says that a validation that can't be evaluated refuses the write too.

        Raises:
            ExpressionError: the conditions can't be evaluated, or the validations cost too much.
        """
        if not self._conditions.hold(inputs):
            return []
        budget = Budget(OBJECT_LIMIT)
        evaluation = self._expressions.evaluation(inputs, budget)
        passed = [_evaluated(evaluation, item.program) for item in self._validations]
        try:
            messages = self._messages(self._expressions.evaluation(inputs, budget))
        except OutOfBudgetError as error:
            problem = ExpressionError(f"failed messageExpression: {error}")
            passed = [found if isinstance(found, ExpressionError) else problem for found in passed]
            messages = [""] * len(passed)
        refusals = []
        for item, found, message in zip(self._validations, passed, messages, strict=True):
            if isinstance(found, ExpressionError):
                refusals += [Refusal(str(found))] if fails else []
            elif found is not True:
                fixed = item.message or f"failed expression: {item.program.source.strip()}"
                refusals.append(Refusal(message or fixed, item.reason))
        return refusals

    def _messages(self, evaluation: Evaluation) -> list[str]:
        """Return the evaluated message of each validation; empty without one that can be used."""
        messages = []
        for item in self._validations:
            text = item.message_program and _evaluated(evaluation, item.message_program)
            text = text.strip() if isinstance(text, str) else ""
            usable = "\n" not in text and len(text.encode()) <= _MAX_MESSAGE_BYTES
            messages.append(text if usable else "")
        return messages

    def annotation_errors(self, inputs: Inputs) -> list[str]:
        """Evaluate the audit annotations; they are not kept, because there is no audit log.

        Return why some could not be evaluated, or are neither text nor null.

        Raises:
            OutOfBudgetError: they cost too much.
        """
        evaluation = self._expressions.evaluation(inputs)
        problems = []
        for program in self._annotations:
            value = _evaluated(evaluation, program)
            if isinstance(value, ExpressionError):
                problems.append(str(value))
            elif value is not None and not isinstance(value, str):
                problems.append(
                    f"valueExpression '{program.source}' resulted in unsupported return type. "
                    "Return type must be either string or null."
                )
        return problems


def _evaluated(evaluation: Evaluation, program: Program) -> Any:
    """Return the value of an expression, or the error if it has none.

    Raises:
        OutOfBudgetError: the expressions cost too much.
    """
    try:
        return evaluation.value_of(program)
    except OutOfBudgetError:
        raise
    except ExpressionError as error:
        return error
