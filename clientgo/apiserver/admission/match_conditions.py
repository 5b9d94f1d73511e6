"""The match conditions of admission webhooks: CEL over the review's request.

A module of its own because importing CEL takes longer than the rest of the server, and few webhooks
have conditions.

Upstream: apiserver ``admission/plugin/webhook/matchconditions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clientgo.apiserver.http.webhook_client import WebhookCallError
from clientgo.apiserver.storage.storage import Object
from clientgo.cel import DYN, CelCompileError, CelEvaluationError, Environment
from clientgo.schema.field_errors import FieldError

_ENVIRONMENT = Environment({"object": DYN, "oldObject": DYN, "request": DYN, "authorizer": DYN})


class MatchConditions:
    """Compiled conditions, all of which must hold."""

    def __init__(self, conditions: Sequence[Mapping[str, str]]) -> None:
        """Compile conditions that were validated when they were registered."""
        self._programs = [
            (condition["name"], _ENVIRONMENT.compile(condition["expression"]))
            for condition in conditions
        ]

    def hold(self, request: Object) -> bool:
        """Return True if every condition holds for a review's request.

        Raises:
            WebhookCallError: one could not be evaluated, and none is false.
        """
        failures = []
        values: dict[str, Any] = {
            "object": request.get("object"),
            "oldObject": request.get("oldObject"),
            "request": request,
            "authorizer": None,
        }
        for name, program in self._programs:
            try:
                if program.evaluate(values) is not True:
                    return False
            except CelEvaluationError as error:
                failures.append(f"condition {name}: {error}")
        if failures:
            raise WebhookCallError("; ".join(failures))
        return True


def expression_errors(expression: str, path: str) -> list[FieldError]:
    """Return the errors of compiling an expression."""
    try:
        _ENVIRONMENT.compile(expression)
    except CelCompileError as error:
        return [FieldError.invalid(path, expression, str(error))]
    return []
