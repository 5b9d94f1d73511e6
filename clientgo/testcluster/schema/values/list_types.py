"""Lists of type set and map: their uniqueness, and their items before an update.

Promises: a cause for each repeated item of a set and each repeated key of a list map, at its
second position. `OldItems` finds the old item with the key of a new one.

Does not promise: that keys are present. The schema requires them or sets their defaults.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype``.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.json_value import MISSING
from clientgo.util.text import go_format


def validate_list_types(value: Any, schema: JSONSchema, path: str = "") -> list[FieldError]:
    """Return what is repeated in the sets and list maps anywhere in `value`."""
    errors: list[FieldError] = []
    _walk(value, schema, path, errors)
    return errors


def list_map_key(item: Any, key_names: list[str]) -> dict[str, Any] | None:
    """Return the key fields of an item of a list map; None if it is not an object."""
    if not isinstance(item, dict):
        return None
    return {name: item[name] for name in key_names if name in item}


def _walk(value: Any, schema: JSONSchema, path: str, errors: list[FieldError]) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(member, dict | list):
                continue
            if name in schema.properties:
                _walk(member, schema.properties[name], field_path.child(path, name), errors)
            elif schema.value_schema is not None:
                _walk(member, schema.value_schema, field_path.key(path, name), errors)
    elif isinstance(value, list):
        if schema.list_type == "set":
            _check_unique(value, path, errors)
        elif schema.list_type == "map":
            _check_list_map(value, schema.list_map_keys, path, errors)
        if schema.item_schema is not None:
            for position, item in enumerate(value):
                _walk(item, schema.item_schema, field_path.index(path, position), errors)


def _check_list_map(
    items: list[Any], key_names: list[str], path: str, errors: list[FieldError]
) -> None:
    for position, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            where = field_path.index(path, position)
            detail = "must be an object for an array of list-type map"
            errors.append(FieldError.invalid(where, item, detail))
            return
    _check_unique([list_map_key(item, key_names) or {} for item in items], path, errors)


def _check_unique(items: list[Any], path: str, errors: list[FieldError]) -> None:
    seen: dict[str, bool] = {}
    for position, item in enumerate(items):
        identity = go_format.compact_json(item)
        if seen.get(identity) is False:
            errors.append(FieldError.duplicate(field_path.index(path, position), item))
        seen[identity] = identity in seen


class OldItems:
    """The items of a list before an update, by key.

    Items of sets and plain lists have no key, and are not found.
    """

    __slots__ = ("_by_key", "_key_names")

    def __init__(self, old: Any, schema: JSONSchema) -> None:
        self._key_names = schema.list_map_keys
        self._by_key: dict[str, Any] = {}
        if schema.list_type == "map" and isinstance(old, list):
            for item in old:
                self._by_key.setdefault(self._key(item), item)

    def find(self, item: Any) -> Any:
        """Return the old item with the key of `item`, or MISSING."""
        return self._by_key.get(self._key(item), MISSING) if self._by_key else MISSING

    def _key(self, item: Any) -> str:
        return go_format.compact_json(list_map_key(item, self._key_names))
