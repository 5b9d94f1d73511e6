"""The mark of an object that is gone but whose last state nobody saw.

Promises the key of the object, and the newest state that was known here, possibly old, possibly
none. Does not promise that ``obj`` is the state at deletion: when a watch missed the deletion and
a later list shows that the object is gone, this is all there is.

Upstream: ``tools/cache`` DeletedFinalStateUnknown.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class DeletedFinalStateUnknown(Struct, frozen=True, gc=False):
    """A tombstone: ``key`` names the object, ``obj`` is its last known state or ``None``."""

    key: str
    obj: Any
