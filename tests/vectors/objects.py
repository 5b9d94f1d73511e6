"""The objects of the recorded cache cases, and how they are named there."""

from __future__ import annotations

from typing import Any

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.meta import ExplicitKey, Unstructured, object_key


def decode(recorded: Any) -> Any:
    """An object, a tombstone, an explicit key, or a value that is no object at all."""
    match recorded:
        case None:
            return None
        case {"tombstone": {"key": key, "obj": obj}}:
            return DeletedFinalStateUnknown(key, decode(obj))
        case {"explicit_key": key}:
            return ExplicitKey(key)
        case {"scalar": value}:
            return value
    return Unstructured.from_dict(recorded)


def reference(obj: Any) -> str:
    """``ns/name@rv``."""
    return f"{object_key(obj)}@{obj.metadata.resource_version}"
