"""Lists compared as sets."""

from __future__ import annotations

from typing import Any

from ..functions import Overload, function
from ..types import BOOL, T, list_of
from ..values import contains


def _contains_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, item) for item in wanted)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersect(left: list[Any], right: list[Any]) -> bool:
    return any(contains(right, item) for item in left)


_SET = list_of(T)

OVERLOADS: tuple[Overload, ...] = (
    function("sets.contains", [_SET, _SET], BOOL, _contains_all),
    function("sets.equivalent", [_SET, _SET], BOOL, _equivalent),
    function("sets.intersects", [_SET, _SET], BOOL, _intersect),
)
