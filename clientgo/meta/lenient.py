"""A second chance for JSON that a strict decoder refuses.

The API treats ``null`` as absent, servers and proxies write it all the same, and numbers arrive
as text. Decoding stays strict and fast; only what was refused comes here. Nothing is guessed: what
still does not fit raises ``msgspec.ValidationError`` with the path of the field.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from clientgo.meta.decoding import decode

T = TypeVar("T")


def convert_leniently(value: Any, into: type[T]) -> T:
    """Convert plain JSON values into ``into``: scalars are coerced, nulls dropped if need be."""
    # By way of JSON: a header keeps part of it (``msgspec.Raw``), which no conversion makes.
    try:
        return decode(msgspec.json.encode(value), into, strict=False)
    except msgspec.ValidationError:
        return decode(msgspec.json.encode(without_nulls(value)), into, strict=False)


def without_nulls(value: Any) -> Any:
    """A copy of a JSON value in which no mapping holds a null."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
