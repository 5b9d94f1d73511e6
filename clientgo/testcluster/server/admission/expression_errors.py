"""The errors of expressions that admission evaluates, in a module that does not load CEL."""

from __future__ import annotations


class ExpressionError(Exception):
    """An expression could not be evaluated."""


class OutOfBudgetError(ExpressionError):
    """The expressions cost more than their budget."""
