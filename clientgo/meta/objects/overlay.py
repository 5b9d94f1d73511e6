"""Applying a typed change to the JSON that the object was made from.

A type knows only some fields of an object; the others must survive an update. So the difference
between the typed view before and after is applied to the original. Go types drop what they do not
know.
"""

from __future__ import annotations

from typing import Any

_ABSENT: Any = object()


def overlay(original: Any, before: Any, after: Any) -> Any:
    """``original`` with the difference from ``before`` to ``after`` applied; nothing is mutated.

    ``before`` and ``after`` are the same typed view of ``original`` and of the changed object, as
    plain JSON values.
    """
    if before == after:
        return original
    if isinstance(original, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _overlay_mapping(original, before, after)
    if isinstance(original, list) and isinstance(before, list) and isinstance(after, list):
        return _overlay_list(original, before, after)
    return after


def _overlay_mapping(
    original: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> dict[str, Any]:
    result = {key: item for key, item in original.items() if key in after or key not in before}
    for key, item in after.items():
        was = before.get(key, _ABSENT)
        if item != was:
            result[key] = overlay(original.get(key, _ABSENT), was, item)
    return result


def _overlay_list(original: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    if len(original) != len(before):
        return after
    result = []
    for index, item in enumerate(after):
        origin = _index_of_origin(item, index, before, same_length=len(before) == len(after))
        if origin is None:
            result.append(item)
        else:
            result.append(overlay(original[origin], before[origin], item))
    return result


def _index_of_origin(item: Any, index: int, before: list[Any], same_length: bool) -> int | None:
    """Which item of the list before the change this one came from: equal, of one name, or place."""
    if item in before:
        return before.index(item)
    if isinstance(item, dict) and "name" in item:
        for candidate, was in enumerate(before):
            if isinstance(was, dict) and was.get("name") == item["name"]:
                return candidate
        return None
    return index if same_length else None
