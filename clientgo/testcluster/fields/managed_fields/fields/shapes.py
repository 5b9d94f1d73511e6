"""Which of the forms that its type allows a value has, and how items of lists are told apart.

Promises: one place that decides how a value is walked; everything in this package walks values
together with their types in the same way.

Upstream: ``deduceAtom``, ``handleAtom`` and ``listItemToPathElement`` in
``sigs.k8s.io/structured-merge-diff/typed``.
"""

from __future__ import annotations

import enum
from typing import Any, Final

from msgspec import Raw

from clientgo.meta.json_values import JSONObject, JSONValue
from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    PathElement,
    key_element,
    value_element,
)
from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType, ListType
from clientgo.util.copies import CopyableError

ABSENT: Final[Any] = object()
"""Stands for a value that is not there, as opposed to one that is null."""


class Shape(enum.Enum):
    """A form that a value can have."""

    MAP = enum.auto()
    SCALAR = enum.auto()
    LIST = enum.auto()


class ElementError(CopyableError, ValueError):
    """An item of a list can't be told apart from the others."""


def shape_of(value: JSONValue, field_type: FieldType) -> Shape:
    """Return the form as which `value` is to be walked.

    A value that has none of the allowed forms (null among them) is walked as the first that the
    type allows.
    """
    if isinstance(value, dict) and field_type.map:
        return Shape.MAP
    if isinstance(value, list) and field_type.list:
        return Shape.LIST
    if isinstance(value, str | int | float | Raw) and field_type.scalar:
        return Shape.SCALAR
    if field_type.map:
        return Shape.MAP
    return Shape.SCALAR if field_type.scalar else Shape.LIST


def as_map(value: JSONValue) -> JSONObject:
    """Return an object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JSONValue) -> list[JSONValue]:
    """Return a list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def item_element(item: JSONValue, list_type: ListType) -> PathElement:
    """Return what tells `item` apart in a list that is not atomic.

    Raises `ElementError` for items that can't be in such a list.
    """
    if not list_type.keys:
        if item is None or isinstance(item, dict | list | Raw):
            raise ElementError(f"a set can't have the item {item!r:.80}; items are scalars")
        return value_element(item)
    if not isinstance(item, dict):
        raise ElementError(f"a list with keys can't have the item {item!r:.80}; items are objects")
    keys = {}
    for name in list_type.keys:
        value = item.get(name, ABSENT)
        if value is ABSENT:
            value = list_type.key_default(name)
            if value is None:
                continue
        keys[name] = value
    if not keys:
        raise ElementError(
            f"an item omits all key fields {list(list_type.keys)} of its list, "
            "and none of them has a default"
        )
    return key_element(keys)
