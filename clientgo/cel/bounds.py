"""How large values can be: the input of the cost estimate.

Promises: a `Bounds` has the greatest number of items, entries or bytes of a value and of the
values inside it.

Does not promise: the size of numbers, objects and map keys, which count as nothing, as upstream.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_REQUEST = 3 * 1024 * 1024
"""Bytes that a request can have."""


class Kind(enum.Enum):
    """What a value is, as far as it matters to costs."""

    TEXT = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    OBJECT = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of the size of a value."""

    kind: Kind
    size: int = 0
    """How many items, entries or bytes it has at most."""
    smallest: int = 1
    """Bytes of its shortest form in JSON."""
    element: Bounds | None = None
    """Of each item of a list or value of a map."""
    fields: Mapping[str, Bounds] = field(default_factory=dict)
    """Of the members of an object, by their names in expressions."""

    @property
    def cardinality(self) -> int:
        """How many such values fit into a request."""
        return MAX_REQUEST // (self.smallest + 1)


KEY = Bounds(Kind.TEXT)
"""Bounds of a map key."""
