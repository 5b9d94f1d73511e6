"""Fields that a type does not declare: finding them, and putting them back.

Promises: ``with_unknown(view, unknown_part(original, view))`` has every member of ``original``.
A list is gone into where it has as many items as the view of it.
"""

from __future__ import annotations

from typing import Any

from clientgo.meta.json_values import JSONObject


def unknown_part(original: JSONObject, view: JSONObject) -> JSONObject:
    """What of ``original`` its typed ``view`` lacks, in the same nesting; empty if nothing."""
    return _part_of_mapping(original, view)


def with_unknown(document: JSONObject, unknown: JSONObject) -> JSONObject:
    """``document`` with the ``unknown`` members added where it has room; nothing is replaced."""
    merged: JSONObject = _merged(document, unknown)
    return merged


def _part_of_mapping(original: JSONObject, view: JSONObject) -> JSONObject:
    part: JSONObject = {}
    for name, value in original.items():
        if name not in view:
            part[name] = value
        elif below := _part(value, view[name]):
            part[name] = below
    return part


def _part(original: Any, view: Any) -> Any:
    if isinstance(original, dict) and isinstance(view, dict):
        return _part_of_mapping(original, view)
    if isinstance(original, list) and isinstance(view, list) and len(original) == len(view):
        parts = [_part(item, seen) for item, seen in zip(original, view, strict=True)]
        return parts if any(parts) else None
    return None


def _merged(document: Any, unknown: Any) -> Any:
    if isinstance(document, dict) and isinstance(unknown, dict):
        result = dict(document)
        for name, value in unknown.items():
            result[name] = _merged(result[name], value) if name in result else value
        return result
    if isinstance(document, list) and isinstance(unknown, list) and len(document) == len(unknown):
        return [_merged(item, part) for item, part in zip(document, unknown, strict=True)]
    return document
