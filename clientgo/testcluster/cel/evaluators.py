"""Closures that evaluate the parts of an expression: calls, logic and maps.

Promises: a call does not get null for a parameter that does not take it; a call that has a cost
spends it before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.testcluster.cel import types
from clientgo.testcluster.cel.access import truth
from clientgo.testcluster.cel.costs import Cost
from clientgo.testcluster.cel.errors import (
    BudgetExceededError,
    CelError,
    CelEvaluationError,
    NoSuchOverloadError,
)
from clientgo.testcluster.cel.functions import Overload, dispatch
from clientgo.testcluster.cel.scope import Scope
from clientgo.testcluster.cel.types import DYN, CelType

Evaluator = Callable[[Scope], Any]
"""Computes a value in the scope of one evaluation."""


def takes_null(parameter: CelType) -> bool:
    """Return True if a parameter of a type accepts null."""
    return parameter.is_variable or parameter in (DYN, types.NULL)


def direct_call(
    call: Callable[..., Any], evaluators: list[Evaluator], nullable: list[bool]
) -> Evaluator:
    """Return the fastest closure for a call; an argument can be null although its type is not."""
    if len(evaluators) == 1:
        (only,), (only_nullable,) = evaluators, nullable

        def call_with_one(scope: Scope) -> Any:
            value = only(scope)
            if value is None and not only_nullable:
                raise NoSuchOverloadError("no such overload")
            return call(value)

        return call_with_one
    if len(evaluators) == 2:
        (first, second), (first_nullable, second_nullable) = evaluators, nullable

        def call_with_two(scope: Scope) -> Any:
            left, right = first(scope), second(scope)
            if (left is None and not first_nullable) or (right is None and not second_nullable):
                raise NoSuchOverloadError("no such overload")
            return call(left, right)

        return call_with_two
    return lambda scope: call(*_values(evaluators, nullable, scope))


def _values(evaluators: list[Evaluator], nullable: list[bool], scope: Scope) -> list[Any]:
    values = [evaluate(scope) for evaluate in evaluators]
    for value, can_be_null in zip(values, nullable, strict=True):
        if value is None and not can_be_null:
            raise NoSuchOverloadError("no such overload")
    return values


def dispatching(overloads: list[Overload]) -> Callable[..., Any]:
    """Return a function that chooses among overloads by the values that it gets."""
    return lambda *values: dispatch(overloads, values)


def counted_call(
    call: Callable[..., Any], cost: Cost, evaluators: list[Evaluator], nullable: list[bool]
) -> Evaluator:
    """Return a call that spends its cost first."""

    def spend_and_call(scope: Scope) -> Any:
        values = _values(evaluators, nullable, scope)
        scope.budget.spend(cost(values))
        return call(*values)

    return spend_and_call


def logical_call(left: Evaluator, right: Evaluator, decisive: bool) -> Evaluator:
    """Return ``||`` (true decides) or ``&&`` (false decides).

    An error on one side does not matter if the other side decides.
    """

    def evaluate(scope: Scope) -> bool:
        try:
            if truth(left(scope)) is decisive:
                return decisive
        except BudgetExceededError:
            raise
        except CelError:
            if truth(right(scope)) is decisive:
                return decisive
            raise
        return truth(right(scope))

    return evaluate


def build_map(entries: list[tuple[Evaluator, Evaluator, bool]], scope: Scope) -> dict[Any, Any]:
    """Return the map of a literal; an optional value can be absent, the last of a key counts."""
    result: dict[Any, Any] = {}
    for get_key, get_value, optional in entries:
        key, value = get_key(scope), get_value(scope)
        if optional:
            if not value.present:
                continue
            value = value.value
        if isinstance(key, list | dict):
            raise CelEvaluationError(f"unsupported key type: {key!r}")
        result[key] = value
    return result
