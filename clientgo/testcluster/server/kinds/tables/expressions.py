"""The CEL expressions of tables: compiled on first use, and evaluated on plain JSON values.

Promises: an expression that reads a missing field has no value. Names are not checked when an
object is written; a test checks those of all tables.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from clientgo.testcluster.server.kinds.tables.comparisons import (
    MISSING,
    compile_comparison,
    path_reader,
)

if TYPE_CHECKING:  # slow to import, and not needed to start
    from clientgo.testcluster.cel import Environment, Program

NO_VALUE: Final = MISSING

_PATH = re.compile(r"(self|item)((?:\.\w+)+)")
_FIELD = re.compile(r"\bself\.\??(\w+)")
_MORE_THAN_FIELDS = re.compile(r"\b(oldSelf|object|item)\b|\bself\b(?!\.)|\bself\.\w+\(")
"""Other variables, and what depends on all of ``self``."""
_MOST_VALUES = 256
"""How many values of an expression are remembered, such as those for images."""
_SCALARS = frozenset({str, int, float, bool, object})
"""The types of field values that results are remembered for; `MISSING` is an ``object``."""
_LONGEST = 1024
"""Characters of a text that is remembered; an image has no limit."""
_READ = re.compile(r"\b(self|item)\.(\w+)(?!\w*\()")
_MAY_BE_MISSING = re.compile(r"\|\||\bhas\(|[^.]\?|\.\?|\borValue\b|\bin\b")


@functools.cache
def _environment() -> Environment:
    from clientgo.testcluster.cel import DYN, Environment

    return Environment(dict.fromkeys(("self", "oldSelf", "object", "item"), DYN))


@functools.cache
def _failures() -> type[Exception]:
    from clientgo.testcluster.cel import CelEvaluationError

    return CelEvaluationError


def _may_be_remembered(value: Any) -> bool:
    return type(value) in _SCALARS and not (isinstance(value, str) and len(value) > _LONGEST)


class Expression:
    """A CEL expression with the variables ``self``, ``oldSelf``, ``object`` and ``item``."""

    def __init__(self, source: str) -> None:
        self.source = source
        of_self = not _MORE_THAN_FIELDS.search(source)
        self._fields = tuple(dict.fromkeys(_FIELD.findall(source))) if of_self else ()
        """The fields that decide on the result, if nothing else does."""
        self._of_fields = functools.lru_cache(_MOST_VALUES, typed=True)(self._evaluate_fields)
        path = _PATH.fullmatch(source)
        self.evaluate: Callable[[Mapping[str, Any]], Any] = (
            path_reader(path[1], path[2][1:].split("."))
            if path
            else compile_comparison(source) or self._evaluate_with_cel
        )
        """Returns the value, or `NO_VALUE` if the expression reads a missing field."""
        plain = not _MAY_BE_MISSING.search(source)
        reads = _READ.findall(source) if plain else []
        self._of_self = tuple(name for variable, name in reads if variable == "self")
        self._of_item = tuple(name for variable, name in reads if variable == "item")

    @functools.cached_property
    def program(self) -> Program:
        """The compiled expression."""
        return _environment().compile(self.source)

    def _evaluate_with_cel(self, variables: Mapping[str, Any]) -> Any:
        if self._fields:
            holder = variables["self"]  # a text, if the only field is a method of it
            if isinstance(holder, dict):
                values = [holder.get(name, MISSING) for name in self._fields]
                if all(map(_may_be_remembered, values)):
                    return self._of_fields(*values)
        return self._evaluate(variables)

    def _evaluate_fields(self, *values: Any) -> Any:
        """Return the value for plain values of the fields; `_of_fields` remembers it."""
        fields = zip(self._fields, values, strict=True)
        holder = {name: value for name, value in fields if value is not MISSING}
        return self._evaluate({"self": holder, "oldSelf": None, "object": None, "item": None})

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
