"""The costs of calls that read a whole string or list.

Promises: the cost of a call is in proportion to its time. Costs are in units of cel-go: a step
costs 1, and so does reading ten characters. They limit a loop that calls a slow function.

Does not promise: cel-go's exact costs. They are rarely higher here, so that an expression that a
real server evaluates is evaluated here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Cost = Callable[[Sequence[Any]], int]
"""Return the cost of a call for its arguments, the receiver first."""

_CHARACTERS_A_UNIT = 10
_PATTERN_CHARACTERS_A_UNIT = 4


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | dict) else 0


def _receiver(values: Sequence[Any]) -> int:
    return _size(values[0]) // _CHARACTERS_A_UNIT


def _both(values: Sequence[Any]) -> int:
    return (_size(values[0]) + _size(values[1])) // _CHARACTERS_A_UNIT


def _shorter(values: Sequence[Any]) -> int:
    return min(_size(values[0]), _size(values[1])) // _CHARACTERS_A_UNIT


def _pattern(values: Sequence[Any]) -> int:
    text = 1 + _size(values[0]) // _CHARACTERS_A_UNIT
    return text * (1 + _size(values[1]) // _PATTERN_CHARACTERS_A_UNIT)


def _each_item(values: Sequence[Any]) -> int:
    return _size(values[0])


def _items_searched(values: Sequence[Any]) -> int:
    return _size(values[1]) if isinstance(values[1], list) else 0


def _every_pair(values: Sequence[Any]) -> int:
    return _size(values[0]) * _size(values[-1])


COSTS: Mapping[str, Cost] = {
    "_==_": _shorter,
    "_!=_": _shorter,
    "_+_": _both,
    "@in": _items_searched,
    **dict.fromkeys(
        (
            "contains",
            "format",
            "indexOf",
            "join",
            "lastIndexOf",
            "lowerAscii",
            "quantity",
            "replace",
            "reverse",
            "split",
            "strings.quote",
            "trim",
            "upperAscii",
            "url",
        ),
        _receiver,
    ),
    **dict.fromkeys(("matches", "find", "findAll"), _pattern),
    **dict.fromkeys(("flatten", "isSorted", "max", "min", "sort", "sum"), _each_item),
    **dict.fromkeys(
        ("distinct", "sets.contains", "sets.equivalent", "sets.intersects"), _every_pair
    ),
}
"""The costs of calls by function or method, in addition to that of a step."""
