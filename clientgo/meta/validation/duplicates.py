"""Find the values that a list has more than once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


def duplicates(values: Iterable[Hashable]) -> set[int]:
    """Return the index of each value that is equal to an earlier one."""
    seen: set[Hashable] = set()
    found: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            found.add(index)
        seen.add(value)
    return found
