"""What can happen to an object in a store: a change, its kinds, and the tombstone.

Upstream: ``tools/cache`` Delta, DeltaType, DeletedFinalStateUnknown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from msgspec import Struct


class DeltaType(StrEnum):
    """A kind of change. The last three are about all objects and come only from RealFIFO."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    """A list contains the object: it is new, changed or the same."""
    SYNC = "Sync"
    """Nothing changed; the known state is delivered again."""

    REPLACED_ALL = "ReplacedAll"
    """A whole list; the delta's object is a :class:`~clientgo.cache.Replacement`."""
    SYNC_ALL = "SyncAll"
    """Every known object is delivered again; the delta has no object."""
    BOOKMARK = "Bookmark"
    """Everything up to a resource version has been seen; the version is the delta's object."""


class Delta(Struct, frozen=True, gc=False):
    """One change of one object; for a deletion ``object`` may be a tombstone."""

    type: DeltaType
    object: Any


class Replacement(Struct, frozen=True):
    """A list: its objects in the server's order, its resource version, and what it also has.

    ``unknown`` are the keys of listed objects that could not be read.
    """

    objects: tuple[Any, ...]
    resource_version: str
    unknown: frozenset[str] = frozenset()


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
