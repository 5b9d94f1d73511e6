"""Ready-made transforms for a ``CacheScope``: cache less of objects.

What is left out takes no memory. Writes of a transformed object send only what has changed.

Source: controller-runtime pkg/cache TransformStripManagedFields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clientgo.meta import Codec, to_plain

_ALWAYS = ("apiVersion", "kind", "metadata")


def strip_managed_fields(obj: Any) -> Any:
    """Leave out who owns which field: often more than half of an object."""
    plain = to_plain(obj)
    if plain["metadata"].pop("managedFields", None) is None:
        return obj
    return _made_of(plain, obj)


def keep_keys(*keys: str) -> Callable[[Any], Any]:
    """Keep the metadata, without managed fields, and these top-level fields only."""

    def transform(obj: Any) -> Any:
        plain = to_plain(obj)
        kept = {key: value for key, value in plain.items() if key in (*_ALWAYS, *keys)}
        kept["metadata"].pop("managedFields", None)
        return _made_of(kept, obj)

    return transform


def _made_of(plain: dict[str, Any], obj: Any) -> Any:
    return Codec(type(obj)).decode(msgspec.json.encode(plain))
