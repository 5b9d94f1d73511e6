"""``format``, as in version 2 of cel-go's strings library.

Promises: the text and the errors of a real server, which prints numbers in American English
(``1,234.50``).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_NAME,
    MAP_NAME,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
)
from clientgo.testcluster.cel.values import type_of
from clientgo.util.text import go_format

_CLAUSE = re.compile(r"%(?:%|(\.[0-9]*)?(.)?)", re.DOTALL)
_DEFAULT_PRECISION = 6
_MAX_PRECISION = 1000  # a real server has no limit: a rule can make it print gigabytes
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

_SCALARS = (INT, UINT, DOUBLE, BOOL, STRING, TIMESTAMP, BYTES, DURATION, TYPE, NULL)
_VERBS = {
    "s": (
        {kind.name for kind in _SCALARS} | {LIST_NAME, MAP_NAME},
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
    ),
    "d": ({"int", "uint"}, "decimal clause can only be used on integers"),
    "f": ({"double"}, "fixed-point clause can only be used on doubles"),
    "e": ({"double"}, "scientific clause can only be used on doubles"),
    "b": ({"int", "uint", "bool"}, "only integers and bools can be formatted as binary"),
    "o": ({"int", "uint"}, "octal clause can only be used on integers"),
    "x": (
        {"int", "uint", "string", "bytes"},
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
}
"""The types that each verb takes, and the error for others."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A place for a value."""

    verb: str
    precision: int | None

    def problem(self, name: str) -> str | None:
        """Return what is wrong with a value of the type of this name, or None."""
        taken, what = _VERBS[self.verb.lower()]
        if name in taken:
            return None
        return f"error during formatting: {what}, was given {name}"


def format_text(template: str, values: list[Any]) -> str:
    """Put values into a template.

    Raises:
        CelEvaluationError: the template is malformed, or a value is missing or of a wrong type.
    """
    parts: list[str] = []
    used = 0
    for part in _parsed(template):
        if isinstance(part, str):
            parts.append(part)
            continue
        if used >= len(values):
            raise CelEvaluationError(f"index {used} out of range")
        parts.append(_formatted(part, values[used]))
        used += 1
    return "".join(parts)


def literal_problem(template: str, kinds: Sequence[CelType]) -> tuple[str, int | None] | None:
    """Return what is wrong with a template for values of these types, or None.

    The second item is the position of the value that the problem is about, or None.
    """
    try:
        parsed = _parsed(template)
    except CelEvaluationError as error:
        return str(error), None
    clauses = [part for part in parsed if isinstance(part, _Clause)]
    for position, clause in enumerate(clauses):
        if position >= len(kinds):
            return f"index {position} out of range", None
        kind = kinds[position]
        if kind == DYN or (kind == STRING and clause.verb in "fe"):
            continue
        if (problem := clause.problem(kind.name)) is not None:
            return problem, position
    if len(kinds) > len(clauses):
        counts = f"(expected {len(clauses)}, got {len(kinds)})"
        return f"too many arguments supplied to string.format {counts}", None
    return None


@functools.lru_cache(maxsize=256)
def _parsed(template: str) -> tuple[str | _Clause, ...]:
    parts: list[str | _Clause] = []
    end = 0
    for match in _CLAUSE.finditer(template):
        parts.append(template[end : match.start()])
        end = match.end()
        parts.append("%" if match[0] == "%%" else _clause(match))
    return (*parts, template[end:])


def _clause(match: re.Match[str]) -> _Clause:
    precision, verb = match[1], match[2]
    if verb is None:
        raise CelEvaluationError("unexpected end of string")
    failure = "could not parse formatting clause"
    if precision == ".":
        problem = 'error while converting precision to integer: strconv.Atoi: parsing ""'
        raise CelEvaluationError(f"{failure}: error while parsing precision: {problem}")
    if verb != "X" and verb not in _VERBS:
        raise CelEvaluationError(f'{failure}: unrecognized formatting clause "{verb}"')
    if precision and (len(precision) > 5 or int(precision[1:]) > _MAX_PRECISION):
        problem = f"precision {precision[1:]} exceeds maximum allowed precision {_MAX_PRECISION}"
        raise CelEvaluationError(f"{failure}: error while parsing precision: {problem}")
    return _Clause(verb, int(precision[1:]) if precision else None)


def _formatted(clause: _Clause, value: Any) -> str:
    name = type_of(value).name
    if clause.verb in "fe" and name == "string" and value in _NOT_FINITE:
        value, name = float(value), "double"
    if (problem := clause.problem(name)) is not None:
        raise CelEvaluationError(problem)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    match clause.verb:
        case "s":
            return _text(value)
        case "f":
            return _number(value) or f"{Decimal(repr(value)):,.{precision}f}"
        case "e":
            return _number(value) or _scientific(value, precision)
        case "x" | "X" if isinstance(value, str | bytes):
            digits = (value.encode() if isinstance(value, str) else value).hex()
            return digits.upper() if clause.verb == "X" else digits
    return f"{value:{clause.verb}}"


def _number(value: float) -> str:
    """Return the text of NaN or infinity; empty for any other number."""
    if math.isnan(value):
        return "NaN"
    return f"{'-' if value < 0 else ''}∞" if math.isinf(value) else ""


def _scientific(value: float, precision: int) -> str:
    mantissa, _, exponent = f"{Decimal(repr(value)):.{precision}e}".partition("e")
    power = int(exponent) if value else 0
    digits = f"{'-' if power < 0 else ''}{abs(power):02}".translate(_SUPERSCRIPTS)
    return f"{mantissa}\N{NARROW NO-BREAK SPACE}×\N{NARROW NO-BREAK SPACE}10{digits}"  # noqa: RUF001


def _text(value: Any) -> str:
    """Return the text of a value for %s."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int() | float():
            return go_format.number(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise CelEvaluationError("error during formatting: invalid UTF-8") from error
        case list():
            return f"[{', '.join(map(_quoted, value))}]"
        case dict():
            entries = sorted((_quoted(name), _quoted(member)) for name, member in value.items())
            return f"{{{', '.join(f'{name}:{member}' for name, member in entries)}}}"
    return str(value)


def _quoted(value: Any) -> str:
    """Return the text of a value in a list or map, as a CEL literal."""
    match type_of(value):
        case kind if kind == STRING:
            return go_format.quote(value)
        case kind if kind == BYTES:
            return f"b{go_format.quote(_text(value))}"
        case kind if kind == DOUBLE:
            if not math.isfinite(value):
                return go_format.quote(go_format.number(value))
            return f"{value:.{_DEFAULT_PRECISION}f}"
        case kind if kind == TIMESTAMP:
            return f"timestamp({go_format.quote(str(value))})"
        case kind if kind == DURATION:
            return f"duration({go_format.quote(str(value))})"
    if (problem := _Clause("s", None).problem(type_of(value).name)) is not None:
        raise CelEvaluationError(problem)
    return _text(value)
