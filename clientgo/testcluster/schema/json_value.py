"""The types of JSON values.

Promises: ``True`` is never a number.

Does not promise: other values than dict, list, str, int, float, bool and None.
"""

from __future__ import annotations

import enum
import math
from typing import Any, Final

from clientgo.meta.json_values import WholeFloat

_MAX_JSON_INTEGER: Final = 2**53 - 1


class _Missing(enum.Enum):
    MISSING = "<missing>"


MISSING: Final = _Missing.MISSING
"""No value, where None is null."""

_TYPE_NAMES: Final[dict[type, str]] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
_NUMBERS: Final = frozenset({int, float, WholeFloat})


def type_name(value: Any) -> str:
    """Return the OpenAPI name of the type of `value`."""
    return _TYPE_NAMES[type(value)]


def is_number(value: Any) -> bool:
    """Return True if `value` is an integer or a float (and not a boolean)."""
    return type(value) in _NUMBERS


def is_whole(value: float) -> bool:
    """Return True if a number has no fraction."""
    return isinstance(value, int) or value.is_integer()


def is_json_integer(value: float) -> bool:
    """Return True if a number counts as an integer for a schema.

    A float does up to 2**53, with a small tolerance, as ``swag.IsFloat64AJSONInteger`` upstream.
    """
    if isinstance(value, int):
        return True
    if not abs(value) <= _MAX_JSON_INTEGER:
        return False
    whole = math.trunc(value)
    return value == whole or (whole != 0 and abs(value - whole) / abs(value + whole) < 1e-9)
