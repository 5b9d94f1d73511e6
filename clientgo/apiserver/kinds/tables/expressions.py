"""The CEL expressions of tables: compiled on first use, and evaluated on plain JSON values.

Promises: an expression that reads a missing field has no value. Names are not checked when an
object is written; a test checks those of all tables.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from clientgo.cel import DYN, CelEvaluationError, Environment, Program

NO_VALUE: Final = object()

_ENVIRONMENT = Environment(dict.fromkeys(("self", "oldSelf", "object", "item"), DYN))
_MEMBER = re.compile(r"(self|item)\.(\w+)")
_READ = re.compile(r"\b(self|item)\.(\w+)(?!\w*\()")
_MAY_BE_MISSING = re.compile(r"\|\||\bhas\(|[^.]\?|\.\?|\borValue\b|\bin\b")


class Expression:
    """A CEL expression with the variables ``self``, ``oldSelf``, ``object`` and ``item``."""

    def __init__(self, source: str) -> None:
        self.source = source
        simple = _MEMBER.fullmatch(source)
        self._simple = simple.groups() if simple else None
        plain = not _MAY_BE_MISSING.search(source)
        reads = _READ.findall(source) if plain else []
        self._of_self = tuple(name for variable, name in reads if variable == "self")
        self._of_item = tuple(name for variable, name in reads if variable == "item")

    @functools.cached_property
    def program(self) -> Program:
        """The compiled expression."""
        return _ENVIRONMENT.compile(self.source)

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Return the value, or `NO_VALUE` if the expression reads a missing field."""
        if self._simple is not None:
            variable, name = self._simple
            return variables[variable].get(name, NO_VALUE)
        for names, variable in ((self._of_self, "self"), (self._of_item, "item")):
            if names:
                value = variables[variable]
                for name in names:
                    if name not in value:
                        return NO_VALUE
        try:
            return self.program.evaluate(variables)
        except CelEvaluationError:
            return NO_VALUE
