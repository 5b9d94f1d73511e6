"""What can happen to an object in a store: the kinds of change, and the tombstone.

Upstream: ``tools/cache`` DeltaType, DeletedFinalStateUnknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias, overload

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


Change: TypeAlias = tuple[DeltaType, Any]
"""A kind of change, and the object."""


class Changes(Sequence[Change]):
    """Changes as a list of kinds and one of objects. Not thread-safe.

    The garbage collector visits a tuple that holds a member of an enum as long as it lives, so one
    is made only when it is read.
    """

    __slots__ = ("kinds", "objects")

    def __init__(self, kinds: list[DeltaType], objects: list[Any]) -> None:
        self.kinds = kinds
        self.objects = objects

    def append(self, kind: DeltaType, obj: Any) -> None:
        """Add a change at the end."""
        self.kinds.append(kind)
        self.objects.append(obj)

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[Change]:
        return zip(self.kinds, self.objects, strict=True)

    @overload
    def __getitem__(self, index: int) -> Change: ...

    @overload
    def __getitem__(self, index: slice) -> Changes: ...

    def __getitem__(self, index: int | slice) -> Change | Changes:
        if isinstance(index, slice):
            return Changes(self.kinds[index], self.objects[index])
        return self.kinds[index], self.objects[index]

    def __eq__(self, other: object) -> bool:
        return [*self] == [*other] if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])


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
