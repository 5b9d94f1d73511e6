"""The errors of CEL expressions.

Promises: every error of this package is a `CelError`.

Does not promise: stable messages. They follow cel-go where a user of Kubernetes sees them.
"""

from __future__ import annotations

from clientgo.util.copies import CopyableError


class CelError(CopyableError, ValueError):
    """An expression does not compile or cannot be evaluated."""


class CelCompileError(CelError):
    """The expression is malformed or its types do not fit; the message shows the place."""

    stage = "compilation failed"
    """What the message of a real server begins with."""

    def __init__(self, problem: str, source: str, offset: int) -> None:
        self.problem = problem
        self.offset = offset
        line_start = source.rfind("\n", 0, offset) + 1
        line_number = source.count("\n", 0, offset) + 1
        line = source[line_start:].partition("\n")[0]
        column = offset - line_start
        super().__init__(
            f"ERROR: <input>:{line_number}:{column + 1}: {problem}\n | {line}\n | {'.' * column}^"
        )


class CelProgramError(CelCompileError):
    """A constant part of the expression has no value."""

    stage = "program instantiation failed"

    def __init__(self, problem: str, source: str, offset: int) -> None:
        super().__init__(problem, source, offset)
        self.args = (problem,)


class CelEvaluationError(CelError):
    """The expression has no value for these variables: no such key, overflow and others."""


class NoSuchOverloadError(CelEvaluationError):
    """No overload of a function takes values of these types."""


class BudgetExceededError(CelEvaluationError):
    """The evaluation costs more than its budget."""
