"""Merging a typed value over another, and removing fields from one.

`merge_values` removes nothing; lists that merge take the order of the new value first, then of the
old. Arguments stay unchanged; results share parts with them. Source: `Merge`, `RemoveItems` in
structured-merge-diff.
"""

from __future__ import annotations

from collections import deque

from clientgo.meta.json_values import JSONObject, JSONValue
from clientgo.testcluster.fields.managed_fields.fields.field_path import PathElement, field_element
from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.testcluster.fields.managed_fields.fields.field_types import (
    UNTYPED,
    FieldType,
    ListType,
    MapType,
)
from clientgo.testcluster.fields.managed_fields.fields.shapes import (
    ABSENT,
    Shape,
    as_list,
    as_map,
    item_element,
    shape_of,
)


def merge_values(old: JSONValue, new: JSONValue, field_type: FieldType) -> JSONValue:
    """Return `old` with everything that `new` says laid over it; both are of `field_type`."""
    shape = shape_of(old if new is ABSENT else new, field_type)
    if shape is Shape.MAP and field_type.map and not field_type.map.atomic:
        if as_map(old) or as_map(new):
            return _merge_maps(as_map(old), as_map(new), field_type.map)
    elif (
        shape is Shape.LIST
        and field_type.list
        and not field_type.list.atomic
        and (as_list(old) or as_list(new))
    ):
        return _ListMerge(as_list(old), as_list(new), field_type.list).merged()
    return old if new is ABSENT else new


def remove_fields(value: JSONValue, fields: FieldSet, field_type: FieldType) -> JSONValue:
    """Return `value` without `fields` and what is in them; containers may be left empty."""
    if isinstance(value, dict) and field_type.map:
        if field_type.map.atomic:
            return {}
        return {
            name: _without_below(
                member, fields.below(element), field_type.map.member(name) or UNTYPED
            )
            for name, member in value.items()
            if (element := field_element(name)) not in fields.members
        }
    if isinstance(value, list) and field_type.list:
        if field_type.list.atomic:
            return []
        elements = [(item_element(item, field_type.list), item) for item in value]
        return [
            _without_below(item, fields.below(element), field_type.list.element)
            for element, item in elements
            if element not in fields.members
        ]
    return value


def _without_below(value: JSONValue, fields: FieldSet, field_type: FieldType) -> JSONValue:
    return remove_fields(value, fields, field_type) if fields else value


def _merge_maps(old: JSONObject, new: JSONObject, map_type: MapType) -> JSONValue:
    merged = {}
    for name in old | new:
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        value = merge_values(before, after, map_type.member(name) or UNTYPED)
        if value is not ABSENT:
            merged[name] = value
    return merged or ABSENT


class _ListMerge:
    """Interleaves two lists whose items have keys.

    Items that both have come in the order of the new list. An item that only one of them has stays
    where it is between them.
    """

    def __init__(self, old: list[JSONValue], new: list[JSONValue], list_type: ListType) -> None:
        self._old, self._type = old, list_type
        self._old_keys = [item_element(item, list_type) for item in old]
        self._new_keys = [item_element(item, list_type) for item in new]
        self._old_items: dict[PathElement, JSONValue] = {}
        for key, item in zip(self._old_keys, old, strict=True):
            # Which of two old items with one key is meant can't be known: neither is merged.
            self._old_items[key] = None if key in self._old_items else item
        self._new_items = dict(zip(self._new_keys, new, strict=True))
        self._out: list[JSONValue] = []

    def merged(self) -> JSONValue:
        old_keys, new_keys = self._old_keys, self._new_keys
        shared = deque(key for key in new_keys if key in self._old_items)
        done: set[PathElement] = set()
        i = j = 0
        while i < len(old_keys) or j < len(new_keys):
            wanted = new_keys[j] if j < len(new_keys) else None
            if i < len(old_keys):
                key = old_keys[i]
                if key not in self._new_items:
                    self._take(self._old[i], ABSENT)
                    i += 1
                    continue
                if wanted is not None and wanted != key and shared and shared[0] != key:
                    i += 1  # the new list has it further down
                    continue
                if key == wanted or key in done:
                    i += 1
            if wanted is not None:
                self._take(self._old_items.get(wanted, ABSENT), self._new_items[wanted])
                done.add(wanted)
                j += 1
                if shared and shared[0] == wanted:
                    shared.popleft()
        return self._out or ABSENT

    def _take(self, old: JSONValue, new: JSONValue) -> None:
        item = merge_values(old, new, self._type.element)
        if item is not ABSENT:
            self._out.append(item)
