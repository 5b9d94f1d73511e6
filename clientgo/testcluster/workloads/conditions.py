"""The conditions in the statuses of built-in kinds, each of which has a class of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

C = TypeVar("C")


def find_condition(conditions: Iterable[C] | None, kind: str) -> C | None:
    """Return the condition of a type, or None."""
    found: Any
    for found in conditions or ():
        if found.type == kind:
            return found  # type: ignore[no-any-return]
    return None


def is_true(conditions: Iterable[Any] | None, kind: str) -> bool:
    """Return True if there is a condition of this type, and it is True."""
    found = find_condition(conditions, kind)
    return found is not None and found.status == "True"


def with_condition(conditions: Iterable[C] | None, wanted: C) -> list[C]:
    """Return the conditions with one set; its transition time moves if its status changes."""
    new: Any = wanted
    old: Any = find_condition(conditions, new.type)
    if old is not None and old.status == new.status:
        new = replace(new, last_transition_time=old.last_transition_time)
    kept: list[Any] = list(conditions or ())
    if old is None:
        return [*kept, new]
    return [new if each is old else each for each in kept]


def without_condition(conditions: Iterable[C] | None, kind: str) -> list[C]:
    """Return the conditions of other types."""
    return [each for each in conditions or () if each.type != kind]  # type: ignore[attr-defined]
