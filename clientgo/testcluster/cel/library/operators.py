"""The operators of CEL: arithmetic with overflow, order, equality and membership."""

from __future__ import annotations

import math
from typing import Any

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function
from clientgo.testcluster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    K,
    T,
    V,
    list_of,
    map_of,
)
from clientgo.testcluster.cel.values import (
    Duration,
    Uint,
    checked_int,
    checked_uint,
    compare,
    concatenate,
    contains,
    equal,
    has_key,
)


def _divide_int(left: int, right: int) -> int:
    if right == 0:
        raise CelEvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def _divide_uint(left: int, right: int) -> Uint:
    if right == 0:
        raise CelEvaluationError("division by zero")
    return Uint(left // right)


def _divide_double(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise CelEvaluationError("modulus by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _duration(nanoseconds: int) -> Duration:
    return Duration(checked_int(nanoseconds))


_NUMBERS = (INT, UINT, DOUBLE)
_ORDERED = (BOOL, STRING, BYTES, TIMESTAMP, DURATION)
_ORDERED_PAIRS = (
    *((left, right) for left in _NUMBERS for right in _NUMBERS),
    *((same, same) for same in _ORDERED),
)
_ORDER: dict[str, Any] = {
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
}

OVERLOADS: tuple[Overload, ...] = (
    *(function(name, pair, BOOL, call) for name, call in _ORDER.items() for pair in _ORDERED_PAIRS),
    function("_==_", [T, T], BOOL, equal),
    function("_!=_", [T, T], BOOL, lambda left, right: not equal(left, right)),
    function("@in", [T, list_of(T)], BOOL, lambda item, items: contains(items, item)),
    function("@in", [K, map_of(K, V)], BOOL, lambda key, members: has_key(members, key)),
    function("!_", [BOOL], BOOL, lambda value: not value),
    function("-_", [INT], INT, lambda value: checked_int(-value)),
    function("-_", [DOUBLE], DOUBLE, lambda value: -value),
    function("_+_", [INT, INT], INT, lambda left, right: checked_int(left + right)),
    function("_+_", [UINT, UINT], UINT, lambda left, right: checked_uint(left + right)),
    function("_+_", [DOUBLE, DOUBLE], DOUBLE, lambda left, right: left + right),
    function("_+_", [STRING, STRING], STRING, lambda left, right: left + right),
    function("_+_", [BYTES, BYTES], BYTES, lambda left, right: left + right),
    function("_+_", [list_of(T), list_of(T)], list_of(T), concatenate),
    function(
        "_+_",
        [DURATION, DURATION],
        DURATION,
        lambda left, right: _duration(left.nanoseconds + right.nanoseconds),
    ),
    function(
        "_+_",
        [TIMESTAMP, DURATION],
        TIMESTAMP,
        lambda moment, span: moment.later(span.nanoseconds),
    ),
    function(
        "_+_",
        [DURATION, TIMESTAMP],
        TIMESTAMP,
        lambda span, moment: moment.later(span.nanoseconds),
    ),
    function("_-_", [INT, INT], INT, lambda left, right: checked_int(left - right)),
    function("_-_", [UINT, UINT], UINT, lambda left, right: checked_uint(left - right)),
    function("_-_", [DOUBLE, DOUBLE], DOUBLE, lambda left, right: left - right),
    function(
        "_-_",
        [DURATION, DURATION],
        DURATION,
        lambda left, right: _duration(left.nanoseconds - right.nanoseconds),
    ),
    function(
        "_-_",
        [TIMESTAMP, TIMESTAMP],
        DURATION,
        lambda left, right: _duration(left.nanoseconds - right.nanoseconds),
    ),
    function(
        "_-_",
        [TIMESTAMP, DURATION],
        TIMESTAMP,
        lambda moment, span: moment.later(-span.nanoseconds),
    ),
    function("_*_", [INT, INT], INT, lambda left, right: checked_int(left * right)),
    function("_*_", [UINT, UINT], UINT, lambda left, right: checked_uint(left * right)),
    function("_*_", [DOUBLE, DOUBLE], DOUBLE, lambda left, right: left * right),
    function("_/_", [INT, INT], INT, _divide_int),
    function("_/_", [UINT, UINT], UINT, _divide_uint),
    function("_/_", [DOUBLE, DOUBLE], DOUBLE, _divide_double),
    function("_%_", [INT, INT], INT, _remainder),
    function("_%_", [UINT, UINT], UINT, lambda left, right: Uint(_remainder(left, right))),
    function("dyn", [DYN], DYN, lambda value: value),
)
