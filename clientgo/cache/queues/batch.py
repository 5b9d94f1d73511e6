"""The changes of several keys, as a consumer gets them.

Most keys have a single change. Its list is made when the batch is read: a thousand lists that live
until their batch is processed make the garbage collector look at the whole program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, overload

from clientgo.cache.queues.queue import Deltas
from clientgo.cache.store.changes import Delta

Waiting: TypeAlias = Delta | Deltas
"""The changes of a key, oldest first: a single one as itself."""


def as_deltas(waiting: Waiting) -> Deltas:
    """Return the changes of a key as a list."""
    return waiting if isinstance(waiting, list) else [waiting]


def newest_of(waiting: Waiting) -> Delta:
    """Return the last change of a key."""
    return waiting[-1] if isinstance(waiting, list) else waiting


class Batch(Sequence[Deltas]):
    """The changes of each key, in order. Does not change."""

    __slots__ = ("_waiting",)

    def __init__(self, waiting: Iterable[Waiting]) -> None:
        self._waiting = tuple(waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Deltas]:
        return map(as_deltas, self._waiting)

    @overload
    def __getitem__(self, index: int) -> Deltas: ...

    @overload
    def __getitem__(self, index: slice) -> Batch: ...

    def __getitem__(self, index: int | slice) -> Deltas | Batch:
        if isinstance(index, slice):
            return Batch(self._waiting[index])
        return as_deltas(self._waiting[index])

    def __repr__(self) -> str:
        return repr([*self])
