"""Many objects in parts, as one sequence; and what all caches do for the garbage collector.

A collection stops all threads, and each full one visits every container that lives: a list of a
million objects takes over 10 ms. So what lives long is built of what the collector leaves alone:

- objects, changes and chunks are Structs with ``gc=False``, bodies are bytes;
- tuples, and dicts whose keys and values are such objects or text: a collection drops them once it
  has seen them. Lists, sets and members of an enum it visits every time, so there are none;
- a list that a reader needs is made when it is read, and not kept.

client-go has no counterpart: its collector runs beside the program.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from typing import Any, Final, TypeAlias, overload

PART: Final = 1000
"""Objects; large enough that the parts themselves are few."""

PartTuple: TypeAlias = tuple[tuple[Any, ...], ...]


def in_parts(items: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Return items a part at a time."""
    rest = iter(items)
    while part := tuple(islice(rest, PART)):
        yield part


def with_part(parts: PartTuple, part: tuple[Any, ...]) -> PartTuple:
    """Return parts with one more; small ones are joined, so that adding them stays quick."""
    if parts and len(parts[-1]) < PART:
        return (*parts[:-1], parts[-1] + part)
    return (*parts, part) if part else parts


class Parts(Sequence[Any]):
    """The items of all parts, in order. Does not change."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Iterable[tuple[Any, ...]]) -> None:
        self._parts = tuple(parts)
        self._ends = tuple(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._parts)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [*self][index]
        place = range(len(self))[index]
        number = bisect_right(self._ends, place)
        return self._parts[number][place - self._ends[number]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} objects in {len(self._parts)} parts>"
