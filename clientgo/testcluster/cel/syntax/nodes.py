"""The syntax tree of a CEL expression.

Promises: nodes are immutable and have their offset in the source. A macro is one node. cel-go
expands it to a loop with an accumulator.

Does not promise: types, which the compiler finds.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from clientgo.testcluster.cel.types import CelType


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression; `offset` is its place in the source."""

    offset: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant."""

    value: Any
    type: CelType


@dataclass(frozen=True, slots=True)
class Identifier(Node):
    """A variable, or the first part of a qualified name.

    An absolute one (``.name``) does not refer to variables of macros.
    """

    name: str
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Select(Node):
    """``operand.field``, or ``operand.?field``."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Has(Node):
    """``has(operand.field)``."""

    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``operand[key]``, or ``operand[?key]``."""

    operand: Node
    key: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function, method or operator; operators are named as in ``_+_``."""

    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """``left && right`` or ``left || right``."""

    is_and: bool
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``condition ? chosen : other``."""

    condition: Node
    chosen: Node
    other: Node


@dataclass(frozen=True, slots=True)
class Element:
    """A list element; an optional one (``?e``) is left out if it is absent."""

    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A map entry; an optional one (``?k: v``) is left out if its value is absent."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """``[a, b]``."""

    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class MapLiteral(Node):
    """``{k: v}``."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object literal; an optional one (``?f: v``) is left out if it is absent."""

    name: str
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ObjectLiteral(Node):
    """``Type.name{field: value}``."""

    type_name: str
    fields: tuple[Field, ...]


class Loop(enum.Enum):
    """The macros that visit every element of a list or map."""

    ALL = "all"
    EXISTS = "exists"
    EXISTS_ONE = "exists_one"
    FILTER = "filter"
    MAP = "map"
    SORT_BY = "sortBy"
    TRANSFORM_MAP = "transformMap"
    TRANSFORM_MAP_ENTRY = "transformMapEntry"


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """``range.macro(variable, body)``, with a condition if the macro takes one.

    Two variables are index and element of a list, or key and value of a map.
    """

    loop: Loop
    range: Node
    variables: tuple[str, ...]
    body: Node
    condition: Node | None = None


@dataclass(frozen=True, slots=True)
class OptionalMap(Node):
    """``target.optMap(variable, body)``, or ``optFlatMap`` where the body is optional itself."""

    target: Node
    variable: str
    body: Node
    flat: bool
