"""Check literal arguments when an expression is compiled.

Promises: what a real server refuses before it evaluates anything: malformed durations, timestamps
and patterns, and templates of ``format`` that do not fit their values.

Follows the validators and the constant folding of cel-go that Kubernetes enables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.library.formatting import literal_problem
from clientgo.testcluster.cel.syntax.nodes import ListLiteral, Literal, Node
from clientgo.testcluster.cel.types import CelType
from clientgo.testcluster.cel.values import Duration, Timestamp
from clientgo.util.text.durations import parse_go_duration
from clientgo.util.text.go_regexp import GoRegexpError, compile_go_regexp


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call whose types fit."""

    target: Node | None
    arguments: Sequence[Node]
    element_types: Sequence[CelType]
    """Of the elements of the last argument, if that is a list literal."""


Problem = tuple[str, Node | None]
"""What is wrong, and the node that it is about; None for the call."""

Check = Callable[[CheckedCall], Problem | None]


def _literal(
    name: str, parse: Callable[[str], object], read: Callable[[int], object] = int
) -> Check:
    """Return a check of a literal: `parse` raises for a wrong text, `read` for a number."""

    def check(call: CheckedCall) -> Problem | None:
        if not call.arguments or not isinstance(call.arguments[0], Literal):
            return None
        value = call.arguments[0].value
        try:
            if isinstance(value, str):
                parse(value)
            elif isinstance(value, int):
                read(value)
        except (ValueError, CelEvaluationError):
            return f"invalid {name} argument", call.arguments[0]
        return None

    return check


def _pattern(call: CheckedCall) -> Problem | None:
    pattern = call.arguments[0]
    if isinstance(pattern, Literal):
        try:
            compile_go_regexp(pattern.value)
        except GoRegexpError as error:
            return str(error), pattern
    return None


def _format(call: CheckedCall) -> Problem | None:
    (values,) = call.arguments
    if not isinstance(call.target, Literal) or not isinstance(values, ListLiteral):
        return None
    problem = literal_problem(call.target.value, call.element_types)
    if problem is None:
        return None
    text, position = problem
    return text, None if position is None else values.elements[position].value


CHECKS: Mapping[str, Check] = {
    "duration": _literal("duration", lambda text: Duration(parse_go_duration(text))),
    "timestamp": _literal("timestamp", Timestamp.parse, Timestamp.of_seconds),
    "matches": _literal("matches", compile_go_regexp),
    "find": _pattern,
    "findAll": _pattern,
    "format": _format,
}
"""The checks, by the name of the function or method."""
