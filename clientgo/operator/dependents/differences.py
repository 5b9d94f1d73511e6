"""Whether an object is as it was asked for, although the API server has filled in the rest.

Promises: what is not asked for is no difference, so defaults are none; plain JSON values, no types.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Differences: TypeAlias = dict[str, Any]
"""By path: what is there in place of what was asked for."""


def differences(actual: Any, desired: Any, path: str = "") -> Differences:
    """Where ``actual`` is not as ``desired`` says.

    Lists of equal length are compared item by item, others as a whole. Nothing, an empty object
    and an empty list are the same.
    """
    if desired in ({}, [], None) and actual in ({}, [], None):
        return {}
    if isinstance(actual, dict) and isinstance(desired, dict):
        found: Differences = {}
        for name, value in desired.items():
            found |= differences(actual.get(name), value, f"{path}.{name}")
        return found
    if isinstance(actual, list) and isinstance(desired, list) and len(actual) == len(desired):
        found = {}
        for position, (one, other) in enumerate(zip(actual, desired, strict=True)):
            found |= differences(one, other, f"{path}[{position}]")
        return found
    return {} if actual == desired else {path: actual}


def lacks_owned_field(desired: Any, fields: dict[str, Any]) -> bool:
    """Whether ``desired`` leaves out one of the fields that its manager owns, as ``fieldsV1`` of a
    managed-fields entry names them: the field would have to go."""
    for step, below in fields.items():
        if step == ".":
            continue
        found, value = _follow(desired, step)
        if not found or lacks_owned_field(value, below):
            return True
    return False


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
