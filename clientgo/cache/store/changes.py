"""What can happen to an object in a store: the kinds of change, and the tombstone.

Upstream: ``tools/cache`` DeltaType, DeletedFinalStateUnknown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, TypeAlias

from msgspec import Struct


class DeltaType(StrEnum):
    """What happened. The last three concern all objects at once and come from RealFIFO alone."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    """A list showed the object: it is new, changed or as before."""
    SYNC = "Sync"
    """Nothing happened; the known state is delivered once more."""

    REPLACED_ALL = "ReplacedAll"
    """A list as a whole; the delta's object is a :class:`Replacement`."""
    SYNC_ALL = "SyncAll"
    """Every known object is delivered once more; the delta has no object."""
    BOOKMARK = "Bookmark"
    """Everything up to a resource version, which is the delta's object, has been seen."""


Change: TypeAlias = tuple[DeltaType, Any]
"""A kind of change, and the object."""

WHOLE_STORE_TYPES: Final = frozenset(
    [DeltaType.REPLACED_ALL, DeltaType.SYNC_ALL, DeltaType.BOOKMARK]
)
"""The types whose deltas have no key and are always processed alone."""


class DeletedFinalStateUnknown(Struct, frozen=True, gc=False):
    """A tombstone: an object is gone, and its last state was not seen.

    ``key`` names the object. ``obj`` is its last known state, which may be older than the
    deletion, or ``None``. A list shows that the object is gone after a watch missed its deletion.
    """

    key: str
    obj: Any
