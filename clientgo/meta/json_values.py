"""Plain JSON values: the dicts, lists and scalars that patches and managed fields work on.

`json_equal` compares as the API does (`1 == 1.0`, but `True != 1`); `copy_json` shares no dict or
list with its argument. Other objects compare by `==` and are not copied.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from clientgo.util.text.go_format import escaped_json

JSONValue: TypeAlias = Any
"""``None | bool | int | float | str | list[JSONValue] | dict[str, JSONValue]``."""

JSONObject: TypeAlias = dict[str, JSONValue]


class WholeFloat(int):
    """An integer that was written as a float: ``1.0``, ``1e3``.

    Go reads it as a float, for which other rules of validation hold, and writes it as an integer.
    """

    __slots__ = ()


def copy_json(value: JSONValue) -> JSONValue:
    """Return a deep copy of `value`; several times faster than `copy.deepcopy`."""
    try:
        if isinstance(value, dict):
            return {
                key: item if type(item) in _LEAVES else copy_json(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [item if type(item) in _LEAVES else copy_json(item) for item in value]
    except RecursionError:
        return _copy_in_loops(value)
    return value


_LEAVES = frozenset({str, int, float, bool, type(None)})


def without_nulls(value: JSONValue) -> JSONValue:
    """Return `value` without the members of objects that are null; null items of lists stay."""
    try:
        if isinstance(value, dict):
            return {key: without_nulls(item) for key, item in value.items() if item is not None}
        if isinstance(value, list):
            return [without_nulls(item) for item in value]
    except RecursionError:
        return _copy_in_loops(value, nulls=False)
    return value


def _copy_in_loops(value: JSONValue, *, nulls: bool = True) -> JSONValue:
    """Copy a value that is nested too deeply for calls of calls."""
    top = [value]
    copied: list[Any] = [top]
    while copied:
        holder = copied.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in [*pairs]:
            if isinstance(item, dict):
                holder[key] = {
                    name: held for name, held in item.items() if nulls or held is not None
                }
            elif isinstance(item, list):
                holder[key] = item.copy()
            else:
                continue
            copied.append(holder[key])
    return top[0]


def json_equal(left: JSONValue, right: JSONValue) -> bool:
    """Tell whether two JSON values are the same; numbers compare by value, never with booleans."""
    return bool(left == right) and _same_booleans(left, right)


def _same_booleans(left: JSONValue, right: JSONValue) -> bool:
    """Return True if booleans are at the same places of two values that Python finds equal."""
    if isinstance(left, dict):
        return all(_same_booleans(item, right[key]) for key, item in left.items())
    if isinstance(left, list):
        return all(map(_same_booleans, left, right))
    return isinstance(left, bool) == isinstance(right, bool)


def canonical_json(value: JSONValue) -> str:
    """Return `value` as Go's encoder writes it: compact, keys sorted, ``<``, ``>``, ``&`` escaped.

    Texts that API objects carry inside themselves (managed fields, the annotation of ``kubectl
    apply``) are compared as text, so they must be written as the API server writes them.
    """
    return escaped_json(value)
