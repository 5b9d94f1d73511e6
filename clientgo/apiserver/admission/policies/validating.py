"""ValidatingAdmissionPolicy: the validations that a write must pass.

Upstream: apiserver ``admission/plugin/policy/validating``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.apiserver.admission.policies.expressions import (
    Conditions,
    ExpressionError,
    Inputs,
    PolicyExpressions,
    evaluate,
)
from clientgo.cel import Program

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

    def refusals(self, inputs: Inputs) -> list[Refusal]:
        """Return why a write does not pass; empty if it does, or if a condition does not hold.

        Raises:
            ExpressionError: an expression could not be evaluated.
        """
        values = self._expressions.values(inputs)
        if not self._conditions.hold(values):
            return []
        return [
            Refusal(_message(validation, values), validation.reason)
            for validation in self._validations
            if evaluate(validation.program, values) is not True
        ]

    def check_annotations(self, inputs: Inputs) -> None:
        """Evaluate the audit annotations; they are not kept, because there is no audit log.

        Raises:
            ExpressionError: one could not be evaluated, or is neither text nor null.
        """
        values = self._expressions.values(inputs)
        for program in self._annotations:
            value = evaluate(program, values)
            if value is not None and not isinstance(value, str):
                raise ExpressionError(
                    f"valueExpression '{program.source}' resulted in unsupported return type. "
                    "Return type must be either string or null."
                )


def _message(validation: _Validation, values: Mapping[str, Any]) -> str:
    """Return the evaluated message, else the fixed one, else the expression."""
    if validation.message_program is not None:
        try:
            text = evaluate(validation.message_program, values)
        except ExpressionError:
            text = None
        text = text.strip() if isinstance(text, str) else ""
        if text and "\n" not in text and len(text.encode()) <= _MAX_MESSAGE_BYTES:
            return text
    return validation.message or f"failed expression: {validation.program.source.strip()}"
