"""Models of the ``kubernetes`` package as plain JSON values.

Every generation of that package, whatever its models are made of, keeps a map of wire names on the
class; reading that map needs neither an import of the package nor its serializer.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from clientgo.meta.timestamps import format_time


def is_foreign_model(obj: Any) -> bool:
    """Return True if ``obj`` is a model of the ``kubernetes`` package, or looks like one."""
    return hasattr(type(obj), "attribute_map")


def plain_of_model(obj: Any) -> Any:
    """The JSON values of a model, without what is not set; plain values pass through."""
    if is_foreign_model(obj):
        return {
            wire_name: plain_of_model(value)
            for attribute, wire_name in type(obj).attribute_map.items()
            if (value := getattr(obj, attribute)) is not None
        }
    if isinstance(obj, dict):
        return {key: plain_of_model(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [plain_of_model(value) for value in obj]
    if isinstance(obj, datetime):
        return format_time(obj.timestamp())
    return obj
