"""The CEL expressions of tables: compiled on first use, and evaluated on plain JSON values.

Promises: an expression that reads a missing field has no value. Names are not checked when an
object is written; a test checks those of all tables.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from clientgo.apiserver.kinds.tables.comparisons import MISSING, compile_comparison

if TYPE_CHECKING:  # slow to import, and not needed to start
    from clientgo.cel import Environment, Program

NO_VALUE: Final = MISSING

_MEMBER = re.compile(r"(self|item)\.(\w+)")
_FIELD = re.compile(r"\bself\.\??(\w+)")
_OTHER_VARIABLE = re.compile(r"\b(oldSelf|object|item)\b|\bself\b(?!\.)")
_MOST_VALUES = 256
"""How many values of an expression of one field are remembered, such as those for images."""
_READ = re.compile(r"\b(self|item)\.(\w+)(?!\w*\()")
_MAY_BE_MISSING = re.compile(r"\|\||\bhas\(|[^.]\?|\.\?|\borValue\b|\bin\b")


@functools.cache
def _environment() -> Environment:
    from clientgo.cel import DYN, Environment

    return Environment(dict.fromkeys(("self", "oldSelf", "object", "item"), DYN))


@functools.cache
def _failures() -> type[Exception]:
    from clientgo.cel import CelEvaluationError

    return CelEvaluationError


class Expression:
    """A CEL expression with the variables ``self``, ``oldSelf``, ``object`` and ``item``."""

    def __init__(self, source: str) -> None:
        self.source = source
        fields = {*_FIELD.findall(source)}
        only_one = len(fields) == 1 and not _OTHER_VARIABLE.search(source)
        self._only_field = fields.pop() if only_one else None
        self._of_text = functools.lru_cache(_MOST_VALUES)(self._evaluate_text)
        simple = _MEMBER.fullmatch(source)
        self._simple = simple.groups() if simple else None
        self._comparison = compile_comparison(source)
        plain = not _MAY_BE_MISSING.search(source)
        reads = _READ.findall(source) if plain else []
        self._of_self = tuple(name for variable, name in reads if variable == "self")
        self._of_item = tuple(name for variable, name in reads if variable == "item")

    @functools.cached_property
    def program(self) -> Program:
        """The compiled expression."""
        return _environment().compile(self.source)

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Return the value, or `NO_VALUE` if the expression reads a missing field."""
        if self._simple is not None:
            variable, name = self._simple
            return variables[variable].get(name, NO_VALUE)
        if self._comparison is not None:
            return self._comparison(variables)
        if self._only_field is not None:
            holder = variables["self"]  # a text, if the only field is a method of it
            text = holder.get(self._only_field) if isinstance(holder, dict) else None
            if isinstance(text, str):
                return self._of_text(text)
        return self._evaluate(variables)

    def _evaluate_text(self, text: str) -> Any:
        """Return the value for a text in the only field; `_of_text` remembers it."""
        return self._evaluate({"self": {self._only_field: text}, "item": None})

    def _evaluate(self, variables: Mapping[str, Any]) -> Any:
        for names, variable in ((self._of_self, "self"), (self._of_item, "item")):
            if names:
                value = variables[variable]
                for name in names:
                    if name not in value:
                        return NO_VALUE
        try:
            return self.program.evaluate(variables)
        except _failures():
            return NO_VALUE
