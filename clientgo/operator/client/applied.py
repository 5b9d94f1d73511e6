"""Whether an object is as a server-side apply would leave it, by the ``fieldsV1`` of its managers.

Upstream: structured-merge-diff ``fieldpath`` serialize. Java Operator SDK compares the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from clientgo.meta.patches import entries_of

_NOT_OWNED: Final = ("name", "namespace", "generateName")


def owns_exactly(there: dict[str, Any], wanted: dict[str, Any], manager: str, part: str) -> bool:
    """Return True if a manager has applied the fields that it wants, and no others.

    ``part`` is the subresource by which it has. False if the object does not have the entry of the
    manager, as in a cache that leaves the managed fields out.
    """
    entries = entries_of(there["metadata"].get("managedFields") or [], manager, "Apply", part)
    if len(entries) != 1 or entries[0].get("apiVersion") != wanted["apiVersion"]:
        return False
    fields = entries[0].get("fieldsV1") or {}
    metadata = {k: v for k, v in wanted["metadata"].items() if k not in _NOT_OWNED}
    body = {k: v for k, v in wanted.items() if k not in ("apiVersion", "kind", "metadata")}
    if metadata:
        body["metadata"] = metadata
    if not fields:
        return not body
    return _owns_all(body, fields) and not lacks_owned_field(body, fields)


def lacks_owned_field(desired: Any, fields: dict[str, Any]) -> bool:
    """Return True if ``desired`` leaves out a field that ``fieldsV1`` of its manager names."""
    for step, below in fields.items():
        if step == ".":
            continue
        found, value = _follow(desired, step)
        if not found or lacks_owned_field(value, below):
            return True
    return False


def _owns_all(desired: Any, fields: dict[str, Any]) -> bool:
    """Return True if ``fieldsV1`` names all that is desired; what has nothing below is whole."""
    if not fields or not isinstance(desired, dict | list):
        return True
    for steps, value in _steps(desired, fields):
        below = next((fields[step] for step in steps if step in fields), None)
        if below is None or not _owns_all(value, below):
            return False
    return True


def _steps(desired: Any, fields: dict[str, Any]) -> Iterator[tuple[list[str], Any]]:
    """Return each value of an object or list, with the steps that may lead to it."""
    if isinstance(desired, dict):
        for name, value in desired.items():
            yield [f"f:{name}"], value
        return
    for item in desired:
        yield [step for step in fields if step != "." and _follow([item], step)[0]], item


def _follow(value: Any, step: str) -> tuple[bool, Any]:
    kind, _, selector = step.partition(":")
    if kind == "f":
        inside = isinstance(value, dict) and selector in value
        return inside, value[selector] if inside else None
    if not isinstance(value, list):
        return False, None
    if kind == "v":
        wanted = json.loads(selector)
        return wanted in value, wanted
    if kind == "k":
        keys = json.loads(selector)
        for item in value:
            # A key that was left out has its default, which is what the entry says.
            if isinstance(item, dict) and all(item.get(k, v) == v for k, v in keys.items()):
                return True, item | keys
        return False, None
    return True, value
