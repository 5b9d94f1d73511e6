"""The match conditions of admission webhooks: CEL over the review's request.

A module of its own because importing CEL takes longer than the rest of the server, and few webhooks
have conditions.

Upstream: apiserver ``admission/plugin/webhook/matchconditions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.cel import (
    BOOL,
    DYN,
    Budget,
    CelCompileError,
    CelEvaluationError,
    Environment,
)
from clientgo.testcluster.cel.library.authorizers import (
    AUTHORIZER,
    Access,
    AccessDecision,
    AuthorizerValue,
)
from clientgo.testcluster.server.admission.evaluation import CONDITIONS_LIMIT, Evaluation
from clientgo.testcluster.server.admission.expression_types import type_errors
from clientgo.testcluster.server.admission.input_types import REQUEST
from clientgo.testcluster.server.storage.storage import Object

_ENVIRONMENT = Environment(
    {"object": DYN, "oldObject": DYN, "request": REQUEST, "authorizer": AUTHORIZER}
)


class MatchConditions:
    """Compiled conditions, all of which must hold."""

    def __init__(self, conditions: Sequence[Mapping[str, str]]) -> None:
        """Compile conditions that were validated when they were registered."""
        self._programs = [_ENVIRONMENT.compile(item["expression"]) for item in conditions]

    def hold(self, request: Object) -> bool:
        """Return True if every condition holds for a review's request.

        Raises:
            ExpressionError: one could not be evaluated, and none is false; or they cost too much.
        """
        values: dict[str, Any] = {
            "object": request.get("object"),
            "oldObject": request.get("oldObject"),
            "request": request,
            "authorizer": AuthorizerValue(_no_authorizer),
        }
        return Evaluation(values, Budget(CONDITIONS_LIMIT)).all_hold(self._programs)


def expression_errors(expression: str, path: str) -> list[FieldError]:
    """Return the errors of compiling an expression."""
    try:
        program = _ENVIRONMENT.compile(expression)
    except CelCompileError as error:
        return [FieldError.invalid(path, expression, f"compilation failed: {error}")]
    return type_errors(expression, path, (BOOL,), program.result_type)


def _no_authorizer(_: Access) -> AccessDecision:
    raise CelEvaluationError("the conditions of webhooks have no authorizer here")
