"""Functions on lists and maps: those of Kubernetes, and cel-go's lists (version 3) and sets."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from clientgo.testcluster.cel.errors import CelEvaluationError, NoSuchOverloadError
from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import (
    BOOL,
    COMPARABLE,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    UINT,
    K,
    T,
    V,
    list_of,
    map_of,
    optional_of,
)
from clientgo.testcluster.cel.values import (
    ABSENT,
    Duration,
    Optional,
    Uint,
    checked_int,
    checked_uint,
    compare,
    contains,
    equal,
    type_of,
)

_MAX_RANGE = 1_000_000


def _is_sorted(items: list[Any]) -> bool:
    return all(compare(left, right) <= 0 for left, right in itertools.pairwise(items))


def _minimum(items: list[Any]) -> Any:
    if not items:
        raise CelEvaluationError("min called on empty list")
    return functools.reduce(lambda a, b: b if compare(b, a) < 0 else a, items)


def _maximum(items: list[Any]) -> Any:
    if not items:
        raise CelEvaluationError("max called on empty list")
    return functools.reduce(lambda a, b: b if compare(b, a) > 0 else a, items)


def _sum(items: list[Any]) -> Any:
    kinds = {type_of(item) for item in items}
    match tuple(kinds):
        case () | (_,) if kinds <= {INT}:
            return checked_int(sum(items))
        case (kind,) if kind == UINT:
            return checked_uint(sum(items))
        case (kind,) if kind == DOUBLE:
            return float(sum(items))
        case (kind,) if kind == DURATION:
            return Duration(checked_int(sum(item.nanoseconds for item in items)))
    raise NoSuchOverloadError("no such overload")


def _empty_sum(zero: Any) -> Any:
    return lambda items: _sum(items) if items else zero


def _index_of(items: list[Any], wanted: Any) -> int:
    for position, item in enumerate(items):
        if equal(item, wanted):
            return position
    return -1


def _last_index_of(items: list[Any], wanted: Any) -> int:
    for position in reversed(range(len(items))):
        if equal(items[position], wanted):
            return position
    return -1


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelEvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        problem = "start index must be less than or equal to end index"
        raise CelEvaluationError(f"cannot slice({start}, {end}), {problem}")
    if end > len(items):
        raise CelEvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelEvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            flat.extend(_flatten(item, depth - 1))
        else:
            flat.append(item)
    return flat


def _range(count: int) -> list[int]:
    if count > _MAX_RANGE:
        raise CelEvaluationError(f"lists.range size {count} exceeds the limit of {_MAX_RANGE}")
    return list(range(count))


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not contains(found, item):
            found.append(item)
    return found


def _sort(items: list[Any]) -> list[Any]:
    return sorted(items, key=functools.cmp_to_key(compare))


def _contains_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, item) for item in wanted)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersect(left: list[Any], right: list[Any]) -> bool:
    return any(contains(right, item) for item in left)


_SUMMABLE = ((INT, 0), (UINT, Uint(0)), (DOUBLE, 0.0), (DURATION, Duration(0)))
_ITEMS = list_of(T)

OVERLOADS: tuple[Overload, ...] = (
    function("sets.contains", [_ITEMS, _ITEMS], BOOL, _contains_all),
    function("sets.equivalent", [_ITEMS, _ITEMS], BOOL, _equivalent),
    function("sets.intersects", [_ITEMS, _ITEMS], BOOL, _intersect),
    function("size", [_ITEMS], INT, len),
    method("size", _ITEMS, [], INT, len),
    function("size", [map_of(K, V)], INT, len),
    method("size", map_of(K, V), [], INT, len),
    *(method("isSorted", list_of(kind), [], BOOL, _is_sorted) for kind in COMPARABLE),
    *(method("min", list_of(kind), [], kind, _minimum) for kind in COMPARABLE),
    *(method("max", list_of(kind), [], kind, _maximum) for kind in COMPARABLE),
    *(method("sum", list_of(kind), [], kind, _empty_sum(zero)) for kind, zero in _SUMMABLE),
    method("indexOf", _ITEMS, [T], INT, _index_of),
    method("lastIndexOf", _ITEMS, [T], INT, _last_index_of),
    method("slice", _ITEMS, [INT, INT], _ITEMS, _slice),
    method("flatten", list_of(_ITEMS), [], _ITEMS, _flatten),
    method("flatten", list_of(DYN), [INT], list_of(DYN), _flatten),
    function("lists.range", [INT], list_of(INT), _range),
    method("distinct", _ITEMS, [], _ITEMS, _distinct),
    method("reverse", _ITEMS, [], _ITEMS, lambda items: items[::-1]),
    *(method("sort", list_of(kind), [], list_of(kind), _sort) for kind in COMPARABLE),
    method(
        "first",
        _ITEMS,
        [],
        optional_of(T),
        lambda items: Optional(items[0]) if items else ABSENT,
    ),
    method(
        "last",
        _ITEMS,
        [],
        optional_of(T),
        lambda items: Optional(items[-1]) if items else ABSENT,
    ),
)
