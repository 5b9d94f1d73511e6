"""The items of lists that merge: what identifies them and how they are ordered.

Promises: items are told apart by their merge key, scalars by themselves; types matter, so port 80
is not port "80". Orders are kept where they can be: that of the patch first, then the server's.

Upstream: ``normalizeElementOrder``, ``mergeSortedSlice`` and neighbours in ``strategicpatch``,
which search lists where we look up keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clientgo.meta.json_values import JSONValue
from clientgo.meta.patches.errors import InapplicablePatchError, UnprocessablePatchError
from clientgo.testcluster.fields.strategic_merge import directives
from clientgo.util.text.go_format import plain

ElementKey = tuple[type, Any]
Items = list[JSONValue]


def element_key(item: JSONValue, merge_key: str) -> ElementKey:
    """Return what identifies `item` in its list.

    Raises `InapplicablePatchError` if the item lacks the merge key or is itself a list.
    """
    if merge_key:
        if not isinstance(item, dict):
            raise InapplicablePatchError(f"list item {plain(item)} is not an object")
        if merge_key not in item:
            shown = plain(item)
            raise InapplicablePatchError(
                f"map: {shown} does not contain declared merge key: {merge_key}"
            )
        item = item[merge_key]
    if isinstance(item, dict | list):
        raise InapplicablePatchError(f"list item {plain(item)} has no merge key")
    return type(item), item


def element_type(*lists: Items) -> type:
    """Return the type that all items of all lists have.

    Raises `InapplicablePatchError` if they differ, are lists, or there are none.
    """
    types = {type(item) for items in lists for item in items}
    if len(types) != 1:
        raise InapplicablePatchError(f"list element types are not identical: {plain(lists)}")
    (only,) = types
    if only is list:
        raise UnprocessablePatchError("lists of lists are not supported")
    return only


def unique(items: Iterable[JSONValue]) -> Items:
    """Return the scalars without repetitions."""
    return list({element_key(item, ""): item for item in items}.values())


def partition(items: Items, selected: Items, merge_key: str) -> tuple[Items, Items]:
    """Split `items` into those that `selected` has, too, and the others."""
    keys = {element_key(item, merge_key) for item in selected}
    inside: Items = []
    outside: Items = []
    for item in items:
        (inside if element_key(item, merge_key) in keys else outside).append(item)
    return inside, outside


def sorted_like(items: Items, order: Items, merge_key: str) -> Items:
    """Return `items` in the order in which `order` has them, deletions last."""
    positions = _positions(order, merge_key)
    deletions = [item for item in items if directives.is_deletion(item)]
    others = [item for item in items if not directives.is_deletion(item)]
    others.sort(key=lambda item: positions.get(element_key(item, merge_key), -1))
    return others + deletions


def interleave(
    patched: Items, server_only: Items, patch_order: Items, server_order: Items, merge_key: str
) -> Items:
    """Put both lists together.

    Each keeps its own order; an item that only the server has goes before the first patched item
    that followed it on the server, if there is one.
    """
    patched = sorted_like(patched, patch_order, merge_key)
    server_only = sorted_like(server_only, server_order, merge_key)
    positions = _positions(server_order, merge_key)
    result: Items = []
    for item in patched:
        position = positions.get(element_key(item, merge_key), -1)
        while server_only:
            server_position = positions.get(element_key(server_only[0], merge_key))
            if server_position is None or server_position >= position:
                break
            result.append(server_only.pop(0))
        result.append(item)
    return result + server_only


def _positions(order: Items, merge_key: str) -> dict[ElementKey, int]:
    positions: dict[ElementKey, int] = {}
    for position, item in enumerate(order):
        positions.setdefault(element_key(item, merge_key), position)
    return positions
