"""The JSON patch (RFC 6902) that turns one document into another.

Promises: ``apply_json_patch(a, create_json_patch(a, b))`` equals ``b``; equal documents give an
empty patch. Objects are compared member by member.

Does not promise the shortest patch: lists are compared item by item from the front, so an item
put at their beginning rewrites those behind it. ``move``, ``copy`` and ``test`` are not used.

Upstream: ``gomodules.xyz/jsonpatch``, as controller-runtime uses it.
"""

from __future__ import annotations

from collections.abc import Iterator

from clientgo.meta.json_values import JSONObject, JSONValue, json_equal


def create_json_patch(before: JSONValue, after: JSONValue) -> list[JSONObject]:
    """The operations that make ``before`` equal to ``after``; both stay as they are."""
    return list(_changes(before, after, ""))


def _changes(before: JSONValue, after: JSONValue, path: str) -> Iterator[JSONObject]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _member_changes(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _item_changes(before, after, path)
    elif not json_equal(before, after):
        yield {"op": "replace", "path": path, "value": after}


def _member_changes(before: JSONObject, after: JSONObject, path: str) -> Iterator[JSONObject]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
    for name, value in after.items():
        below = f"{path}/{_escaped(name)}"
        if name in before:
            yield from _changes(before[name], value, below)
        else:
            yield {"op": "add", "path": below, "value": value}


def _item_changes(
    before: list[JSONValue], after: list[JSONValue], path: str
) -> Iterator[JSONObject]:
    for index, (was, is_) in enumerate(zip(before, after, strict=False)):
        yield from _changes(was, is_, f"{path}/{index}")
    # From the end, so that what is yet to be removed keeps its place.
    for index in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for item in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": item}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
