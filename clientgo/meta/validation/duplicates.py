"""Values that a list has twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


def duplicates(values: Iterable[Hashable]) -> set[int]:
    """Return the indexes of the values that are there before, too."""
    seen: set[Hashable] = set()
    found: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            found.add(index)
        seen.add(value)
    return found
