"""Fields inside custom resources that a definition names by a path, with the type they must have.

Upstream: apimachinery ``unstructured.NestedInt64`` and ``NestedString``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text import go_format

_GO_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    type(None): "<nil>",
}


class NestedFieldError(ValueError):
    """A field, or one on the way to it, has another type."""


def nested_field(obj: Object, names: Sequence[str], wanted: type) -> Any:
    """Return the value of a field, of the type ``wanted``; None if it is missing.

    Raises:
        NestedFieldError: it is null or has another type, or it is below something that is no
            object.
    """
    value: Any = obj
    for depth, name in enumerate(names):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _mismatch(names[: depth + 1], value, dict)
        if name not in value:
            return None
        value = value[name]
    if type(value) is not wanted:
        raise _mismatch(names, value, wanted)
    return value


def _mismatch(names: Sequence[str], value: Any, wanted: type) -> NestedFieldError:
    shown = value if isinstance(value, str) else go_format.compact_json(value)
    actual = _GO_TYPES.get(type(value), "float64")
    expected = "map[string]interface{}" if wanted is dict else _GO_TYPES[wanted]
    return NestedFieldError(
        f".{'.'.join(names)} accessor error: {shown} is of the type {actual}, expected {expected}"
    )
