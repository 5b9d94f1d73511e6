"""Which old item a list item was before an update.

Promises: items of a keyed list (of type map) are found by their key, whatever their position.

Does not promise: anything for sets and plain lists, whose items have no identity.
"""

from __future__ import annotations

from typing import Any

from clientgo.schema.json_schema import JSONSchema
from clientgo.schema.json_value import MISSING
from clientgo.schema.values.list_types import list_map_key
from clientgo.text import go_format


class OldItems:
    """The items of a list before an update, found by the key that a new item has.

    Only the items of a list map can be found: elsewhere nothing tells which old item a new one was.
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
