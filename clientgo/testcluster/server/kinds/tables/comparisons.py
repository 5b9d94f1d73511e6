"""The plain comparisons of tables without CEL: with texts or numbers, and whether fields exist.

Promises: `compile_comparison` returns a function with the results of CEL for expressions such as
``self.type != 'A' || item.port in ['B', 'C'] || has(self.d)``, and None for all others. They are
most of what is evaluated in a write, and twenty times as fast.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

MISSING: Final = object()
"""The result of an expression that reads a missing field."""

Variables = Mapping[str, Any]
Comparison = Callable[[Variables], Any]

_PATH = r"(self|item|object)((?:\.\w+)+)"
_TEXT = r"'([^'\\]*)'"
_TEXTS = r"\[('[^'\\]*'(?:, '[^'\\]*')*)\]"
_EQUALS = re.compile(rf"{_PATH} (==|!=) {_TEXT}")
_NUMBER = re.compile(rf"{_PATH} (==|!=) ([0-9]+)")
_SIZE = re.compile(rf"size\({_PATH}\) (==|!=|<|<=|>|>=) ([0-9]+)")
_OPTIONAL = re.compile(rf"(self|item)\.\?(\w+)\.orValue\({_TEXT}\) (==|!=) {_TEXT}")
_IN = re.compile(rf"(!?)(\(?){_PATH} in {_TEXTS}\)?")
_HAS = re.compile(rf"(!?)has\({_PATH}\)")


def compile_comparison(source: str) -> Comparison | None:
    """Return a function for comparisons joined by ``||`` or by ``&&``; None for other sources."""
    for joint, decides in ((" || ", True), (" && ", False)):
        parts = source.split(joint)
        atoms = [_atom(part) for part in parts]
        known = [atom for atom in atoms if atom is not None]
        if len(known) == len(parts):
            return known[0] if len(known) == 1 else _joined(known, decides)
    return None


def _joined(atoms: list[Comparison], decides: bool) -> Comparison:
    """Join atoms: one with the deciding result outweighs one that can't be evaluated."""

    def evaluate(variables: Variables) -> Any:
        result: Any = not decides
        for atom in atoms:
            found = atom(variables)
            if found is decides:
                return decides
            if found is MISSING:
                result = MISSING
        return result

    return evaluate


def _atom(source: str) -> Comparison | None:
    if found := _EQUALS.fullmatch(source):
        variable, path, sign, text = found.groups()
        return _among(variable, _names(path), frozenset({text}), sign == "==")
    if found := _NUMBER.fullmatch(source):
        variable, path, sign, number = found.groups()
        return _equals_number(variable, _names(path), int(number), sign == "==")
    if found := _SIZE.fullmatch(source):
        variable, path, sign, number = found.groups()
        return _has_size(variable, _names(path), int(number), _OPERATORS[sign])
    if found := _IN.fullmatch(source):
        negation, parenthesis, variable, path, texts = found.groups()
        if bool(negation) == bool(parenthesis):
            wanted = frozenset(re.findall(_TEXT, texts))
            return _among(variable, _names(path), wanted, not negation)
    if found := _HAS.fullmatch(source):
        negation, variable, path = found.groups()
        return _has(variable, _names(path), not negation)
    if found := _OPTIONAL.fullmatch(source):
        variable, name, default, sign, text = found.groups()
        return _optional(variable, name, default, text, sign == "==")
    return None


def _names(path: str) -> list[str]:
    return path[1:].split(".")


def read_path(value: Any, names: list[str]) -> Any:
    """Return the value at a path of fields below a value, or `MISSING`."""
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def path_reader(variable: str, names: list[str]) -> Comparison:
    """Return a function that returns the value at a path below a variable, or `MISSING`."""
    if len(names) > 1:
        return lambda variables: read_path(variables[variable], names)
    [name] = names

    def read(variables: Variables) -> Any:
        value = variables[variable]
        return value.get(name, MISSING) if isinstance(value, dict) else MISSING

    return read


def _among(variable: str, names: list[str], texts: frozenset[str], wanted: bool) -> Comparison:
    *parents, last = names
    read = path_reader(variable, parents) if parents else operator.itemgetter(variable)

    def evaluate(variables: Variables) -> Any:
        holder = read(variables)
        if not isinstance(holder, dict) or (value := holder.get(last, MISSING)) is MISSING:
            return MISSING
        return (isinstance(value, str) and value in texts) is wanted

    return evaluate


def _equals_number(variable: str, names: list[str], number: int, wanted: bool) -> Comparison:
    read = path_reader(variable, names)

    def evaluate(variables: Variables) -> Any:
        value = read(variables)
        if value is MISSING:
            return MISSING
        return (not isinstance(value, bool) and value == number) is wanted

    return evaluate


def _has_size(
    variable: str, names: list[str], number: int, compare: Callable[[int, int], bool]
) -> Comparison:
    read = path_reader(variable, names)

    def evaluate(variables: Variables) -> Any:
        value = read(variables)
        return compare(len(value), number) if isinstance(value, _SIZED) else MISSING

    return evaluate


_SIZED = (str, list, dict)
_OPERATORS: Final = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _has(variable: str, names: list[str], wanted: bool) -> Comparison:
    *parents, last = names
    read = path_reader(variable, parents) if parents else operator.itemgetter(variable)

    def evaluate(variables: Variables) -> Any:
        parent = read(variables)
        return (last in parent) is wanted if isinstance(parent, dict) else MISSING

    return evaluate


def _optional(variable: str, name: str, default: str, text: str, wanted: bool) -> Comparison:
    return lambda variables: (variables[variable].get(name, default) == text) is wanted
