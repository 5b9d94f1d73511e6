"""What a queue of changes holds: one change, and the changes of one key from old to new.

Promises that a delta never changes. ``Deltas`` is a plain list, oldest first, of which consumers
read only. Upstream: ``tools/cache`` Delta, Deltas, DeltaType.
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


class Delta(Struct, frozen=True, gc=False):
    """One change of one object; for a deletion ``object`` may be a tombstone."""

    type: DeltaType
    object: Any


Deltas: TypeAlias = list[Delta]
"""The pending changes of one key, oldest first."""


class Replacement(Struct, frozen=True):
    """The content of a list: its objects in the server's order, and its resource version."""

    objects: tuple[Any, ...]
    resource_version: str


def oldest(deltas: Deltas) -> Delta | None:
    """The first change, or ``None`` if there is none."""
    return deltas[0] if deltas else None


def newest(deltas: Deltas) -> Delta | None:
    """The last change, or ``None`` if there is none."""
    return deltas[-1] if deltas else None


WHOLE_STORE_TYPES: Final = frozenset(
    [DeltaType.REPLACED_ALL, DeltaType.SYNC_ALL, DeltaType.BOOKMARK]
)
"""The types whose deltas have no key and are always processed alone."""
