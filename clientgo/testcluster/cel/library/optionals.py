"""Values that may be absent."""

from __future__ import annotations

from typing import Any

from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import BOOL, T, list_of, optional_of
from clientgo.testcluster.cel.values import ABSENT, Optional


def _of_non_zero(value: Any) -> Optional:
    # Python's truth is the same as CEL's non-zero value, also for times and spans.
    return Optional(value) if value else ABSENT


_MAYBE = optional_of(T)

OVERLOADS: tuple[Overload, ...] = (
    function("optional.of", [T], _MAYBE, Optional),
    function("optional.ofNonZeroValue", [T], _MAYBE, _of_non_zero),
    function("optional.none", [], _MAYBE, lambda: ABSENT),
    method("hasValue", _MAYBE, [], BOOL, lambda optional: optional.present),
    method("value", _MAYBE, [], T, Optional.get),
    method("or", _MAYBE, [_MAYBE], _MAYBE, lambda first, other: first if first.present else other),
    method(
        "orValue",
        _MAYBE,
        [T],
        T,
        lambda first, other: first.value if first.present else other,
    ),
    function(
        "optional.unwrap",
        [list_of(_MAYBE)],
        list_of(T),
        lambda items: [item.value for item in items if item.present],
    ),
    method(
        "unwrapOpt",
        list_of(_MAYBE),
        [],
        list_of(T),
        lambda items: [item.value for item in items if item.present],
    ),
)
