"""What can go wrong with a CEL expression.

Promises: every failure of this package is one of the two errors below, under `CelError`.

Does not promise: stable texts; they follow cel-go where a Kubernetes user would see them.
"""

from __future__ import annotations


class CelError(ValueError):
    """An expression does not compile or cannot be evaluated."""


class CelCompileError(CelError):
    """The expression is malformed or its types do not fit; the text points at the place."""

    stage = "compilation failed"
    """What a real server calls the failure."""

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
    """A part of the expression that does not depend on variables has no value."""

    stage = "program instantiation failed"

    def __init__(self, problem: str, source: str, offset: int) -> None:
        super().__init__(problem, source, offset)
        self.args = (problem,)


class CelEvaluationError(CelError):
    """The expression has no value for these variables: no such key, overflow and the like."""


class NoSuchOverloadError(CelEvaluationError):
    """No variant of a function takes values of these types."""


class BudgetExceededError(CelEvaluationError):
    """The evaluation took more steps than one call may take."""
