"""The members of a strategic merge patch that are instructions, not data.

====================================  ============================================================
``$patch: delete | replace``          in an object: empty it, or take the patch as it is;
                                      in a list: drop this item, or the whole old list
``$retainKeys: [...]``                drop every member of the object that is not named
``$setElementOrder/f: [...]``         the order that list ``f`` shall have
``$deleteFromPrimitiveList/f: [...]`` scalars to drop from list ``f``
====================================  ============================================================
"""

from __future__ import annotations

from clientgo.meta.json_values import JSONValue
from clientgo.meta.patches.errors import MalformedPatchError

PATCH = "$patch"
DELETE = "delete"
REPLACE = "replace"
MERGE = "merge"
RETAIN_KEYS = "$retainKeys"

_DELETE_FROM_LIST = "$deleteFromPrimitiveList"
_SET_ELEMENT_ORDER = "$setElementOrder"


def is_list_deletion(key: str) -> bool:
    """Tell whether member `key` says which scalars leave a list."""
    return key.startswith(_DELETE_FROM_LIST)


def is_element_order(key: str) -> bool:
    """Tell whether member `key` says which order a list has."""
    return key.startswith(_SET_ELEMENT_ORDER)


def field_of(key: str) -> str:
    """Return the list that ``$setElementOrder/f`` or ``$deleteFromPrimitiveList/f`` is about."""
    directive, slash, field = key.partition("/")
    if not slash or directive not in (_DELETE_FROM_LIST, _SET_ELEMENT_ORDER):
        raise MalformedPatchError(f"directive {key!r} does not name a list")
    return field


def is_deletion(item: JSONValue) -> bool:
    """Tell whether a list item says that the item with its merge key is to go."""
    return isinstance(item, dict) and item.get(PATCH) == DELETE
