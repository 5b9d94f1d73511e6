"""Deep copies of the values that API objects are made of.

`copy.deepcopy` remembers every value that it meets, for objects that refer to each other. API
objects are trees, so nothing has to be remembered: a copy takes about a third of the time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar, cast

from msgspec import Raw, Struct
from msgspec.structs import force_setattr

T = TypeVar("T")

_IMMUTABLE = frozenset({str, int, float, bool, type(None), bytes, datetime, Raw})


shallow_copy: Final[Callable[[Any], Any]] = Struct.__copy__  # type: ignore[attr-defined]
"""Copies a Struct, in a third of the time that `copy.copy` takes to find out how."""


def copy_value(value: T) -> T:
    """Return a deep copy of a tree of Structs, dicts, lists, tuples and scalars.

    Anything else, and what it holds, is copied by `copy.deepcopy`.
    """
    kind = type(value)
    if kind in _IMMUTABLE:
        return value
    try:
        return cast("T", _copy(value, kind))
    except RecursionError:
        return _copy_in_loops(value)


def _copy_in_loops(value: T) -> T:
    """Copy a tree that is nested too deeply for calls of calls."""
    top = [value]
    copied: list[Any] = [top]
    while copied:
        holder = copied.pop()
        pairs = holder.items() if type(holder) is dict else enumerate(holder)
        for key, held in [*pairs]:
            kind = type(held)
            if kind is dict or kind is list:
                holder[key] = held.copy()
                copied.append(holder[key])
            elif kind not in _IMMUTABLE:
                holder[key] = copy.deepcopy(held)
    return top[0]


def _copy(value: Any, kind: type) -> Any:
    if kind is dict:
        return {key: copy_value(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind(map(copy_value, value))
    if not isinstance(value, Struct):
        return copy.deepcopy(value)
    duplicate = shallow_copy(value)
    for name in kind.__struct_fields__:  # type: ignore[attr-defined]
        held = getattr(value, name)
        if type(held) not in _IMMUTABLE:
            force_setattr(duplicate, name, copy_value(held))
    return duplicate
