"""The macros that visit every element of a list or map.

Promises: ``all`` and ``exists`` stop at the element that decides, and ignore errors of other
elements then, as ``&&`` and ``||`` do. Other loops fail with the first error. Every iteration has
a cost.

Does not promise: another order of a map than its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from clientgo.testcluster.cel.access import truth
from clientgo.testcluster.cel.errors import (
    BudgetExceededError,
    CelError,
    CelEvaluationError,
    NoSuchOverloadError,
)
from clientgo.testcluster.cel.scope import ITERATION, Scope
from clientgo.testcluster.cel.syntax.nodes import Loop
from clientgo.testcluster.cel.values import compare

Evaluator = Callable[[Scope], Any]


def loop_evaluator(
    loop: Loop,
    variables: tuple[str, ...],
    ranged: Evaluator,
    body: Evaluator,
    condition: Evaluator | None,
) -> Evaluator:
    """Return a function that runs a macro with these parts."""

    def iterations(scope: Scope) -> Iterator[Scope]:
        """Set the variables for each element that fulfils the condition."""
        inner = scope.inner()
        names, budget = inner.names, scope.budget
        for values in _elements(ranged(scope), len(variables)):
            budget.spend(ITERATION)
            names.update(zip(variables, values, strict=True))
            if condition is None or truth(condition(inner)):
                yield inner

    if loop is Loop.ALL or loop is Loop.EXISTS:
        decisive = loop is Loop.EXISTS
        return lambda scope: _quantify(iterations(scope), body, decisive)
    first = variables[0]
    match loop:
        case Loop.EXISTS_ONE:
            return lambda scope: sum(truth(body(inner)) for inner in iterations(scope)) == 1
        case Loop.FILTER:
            return lambda scope: [
                inner.names[first] for inner in iterations(scope) if truth(body(inner))
            ]
        case Loop.MAP:
            return lambda scope: [body(inner) for inner in iterations(scope)]
        case Loop.SORT_BY:
            return lambda scope: _sorted_by(
                [(body(inner), inner.names[first]) for inner in iterations(scope)]
            )
        case Loop.TRANSFORM_MAP:
            return lambda scope: {inner.names[first]: body(inner) for inner in iterations(scope)}
    return lambda scope: _merge_entries([body(inner) for inner in iterations(scope)])


def _elements(value: Any, count: int) -> Iterator[tuple[Any, ...]]:
    """Return the values of the variables for each iteration."""
    if isinstance(value, list):
        return iter(enumerate(value)) if count == 2 else ((item,) for item in value)
    if isinstance(value, dict):
        return iter(value.items()) if count == 2 else ((name,) for name in value)
    raise NoSuchOverloadError("no such overload")


def _quantify(iterations: Iterator[Scope], body: Evaluator, decisive: bool) -> bool:
    failure: CelError | None = None
    for inner in iterations:
        try:
            if truth(body(inner)) is decisive:
                return decisive
        except BudgetExceededError:
            raise
        except CelError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not decisive


def _sorted_by(keyed: list[tuple[Any, Any]]) -> list[Any]:
    sort_key = functools.cmp_to_key(compare)
    return [item for _, item in sorted(keyed, key=lambda pair: sort_key(pair[0]))]


def _merge_entries(maps: list[dict[Any, Any]]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for entries in maps:
        for name, value in entries.items():
            if name in result:
                raise CelEvaluationError(f"insert failed: key {name} already exists")
            result[name] = value
    return result
