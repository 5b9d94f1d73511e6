"""What calls cost that look at the whole of a text or a list.

Promises: a call costs about the time it takes, in the units of cel-go, where a step costs one and
looking at ten characters as well. Without that, a loop over small things could call something slow
on a large one, and would be bounded in its turns only.

Does not promise: cel-go's exact costs. Ours are hardly ever higher, so that what a real server
evaluates is evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Cost = Callable[[Sequence[Any]], int]
"""From the arguments of a call, the receiver first, to its cost."""

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
"""Cost of calls by the name of the function or method, beyond what a step costs."""
