"""Ready-made transforms for a ``CacheScope``: cache less of objects.

What is left out takes no memory. Writes of a transformed object send only what has changed.

Source: controller-runtime pkg/cache TransformStripManagedFields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clientgo.meta import Codec, drop_managed_fields, to_plain

_ALWAYS = ("apiVersion", "kind", "metadata")


def strip_managed_fields(obj: Any) -> Any:
    """Leave out who owns which field, in place: often more than half of an object."""
    drop_managed_fields(obj)
    return obj


def keep_keys(*keys: str) -> Callable[[Any], Any]:
    """Keep the metadata, without managed fields, and these top-level fields only."""

    def transform(obj: Any) -> Any:
        plain = to_plain(obj)
        kept = {key: value for key, value in plain.items() if key in (*_ALWAYS, *keys)}
        kept["metadata"].pop("managedFields", None)
        return Codec(type(obj)).decode(msgspec.json.encode(kept))

    return transform
