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
    return cast("T", _copy(value, kind))


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
            force_setattr(duplicate, name, _copy(held, type(held)))
    return duplicate
