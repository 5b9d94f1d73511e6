"""How large values can be: the input of the cost estimate.

Does not promise: the size of numbers, objects and map keys. It counts as zero, as upstream.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_REQUEST = 3 * 1024 * 1024
"""Bytes that a request can have."""


class Kind(enum.Enum):
    """The kinds of values that have different costs."""

    TEXT = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    OBJECT = enum.auto()
    OPTIONAL = enum.auto()
    """An optional of another kind than a number, which has no known size."""
    OTHER = enum.auto()


@dataclass(frozen=True, slots=True)
class Bounds:
    """The known limits of the size of a value."""

    kind: Kind
    size: int = 0
    """The greatest number of items, entries or bytes."""
    smallest: int = 1
    """Bytes of its shortest form in JSON."""
    element: Bounds | None = None
    """Of each item of a list or value of a map."""
    fields: Mapping[str, Bounds] = field(default_factory=dict)
    """Of the members of an object, by their names in expressions."""

    @property
    def cardinality(self) -> int:
        """The number of such values that fit into a request."""
        return MAX_REQUEST // (self.smallest + 1)


KEY = Bounds(Kind.TEXT)
"""Bounds of a map key."""
