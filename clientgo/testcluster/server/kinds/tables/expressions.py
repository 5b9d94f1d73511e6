"""The CEL expressions of tables: compiled on first use, and evaluated on plain JSON values.

Promises: an expression that reads a missing field has no value. Names are not checked when an
object is written; a test checks those of all tables.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # slow to import, and not needed to start
    from clientgo.testcluster.cel import Environment, Program

NO_VALUE: Final = object()
"""The result of an expression that reads a missing field."""


@functools.cache
def _environment() -> Environment:
    from clientgo.testcluster.cel import DYN, Environment

    return Environment(dict.fromkeys(("self", "oldSelf", "object", "item"), DYN))


@functools.cache
def _failures() -> type[Exception]:
    from clientgo.testcluster.cel import CelEvaluationError

    return CelEvaluationError


class Expression:
    """A CEL expression with the variables ``self``, ``oldSelf``, ``object`` and ``item``."""

    def __init__(self, source: str) -> None:
        self.source = source

    @functools.cached_property
    def program(self) -> Program:
        """The compiled expression."""
        return _environment().compile(self.source)

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Return the value, or `NO_VALUE` if the expression reads a missing field."""
        try:
            return self.program.evaluate(variables)
        except _failures():
            return NO_VALUE
