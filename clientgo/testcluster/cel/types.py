"""The types of CEL expressions.

Promises: types are immutable and compared by their structure, except that an object type equals
only itself. `unify` checks an argument and binds type variables. `join` returns the common type
of two expressions.

Does not promise: subtypes, which CEL does not have. `DYN` accepts every type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_SHORT_NAMES = {
    "null_type": "null",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
}


@dataclass(frozen=True, slots=True)
class CelType:
    """A type: its name, and the types in a list, map or optional."""

    name: str
    parameters: tuple[CelType, ...] = ()
    is_variable: bool = False
    is_open: bool = field(default=False, compare=False)
    """True if the type is dynamic until another expression decides it."""

    def __str__(self) -> str:
        """Return the type as error messages name it."""
        if not self.parameters:
            return _SHORT_NAMES.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.parameters))})"


@dataclass(frozen=True, slots=True, eq=False)
class ObjectType(CelType):
    """The type of an object whose fields are known."""

    fields: Mapping[str, CelType] | None = None

    __eq__ = object.__eq__
    __hash__ = object.__hash__


DYN = CelType("dyn")
OPEN = CelType("dyn", is_open=True)
"""The type of the elements of an empty list: dynamic, until another expression decides it."""
NULL = CelType("null_type")
BOOL = CelType("bool")
INT = CelType("int")
UINT = CelType("uint")
DOUBLE = CelType("double")
STRING = CelType("string")
BYTES = CelType("bytes")
TIMESTAMP = CelType("google.protobuf.Timestamp")
DURATION = CelType("google.protobuf.Duration")
TYPE = CelType("type")

COMPARABLE = (INT, UINT, DOUBLE, BOOL, STRING, BYTES, DURATION, TIMESTAMP)
"""The types whose values have an order."""

T = CelType("T", is_variable=True)
K = CelType("K", is_variable=True)
V = CelType("V", is_variable=True)

LIST_NAME = "list"
MAP_NAME = "map"
OPTIONAL_NAME = "optional_type"


def list_of(item: CelType) -> CelType:
    """Return the type of a list."""
    return CelType(LIST_NAME, (item,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of a map."""
    return CelType(MAP_NAME, (key, value))


def optional_of(value: CelType) -> CelType:
    """Return the type of a value that may be absent."""
    return CelType(OPTIONAL_NAME, (value,))


NAMED_TYPES: Mapping[str, CelType] = {
    named.name: named
    for named in (
        *(NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION, TYPE),
        *(CelType(LIST_NAME), CelType(MAP_NAME), CelType(OPTIONAL_NAME)),
    )
}
"""The types that an expression can name, as in ``type(x) == int``."""

Bindings = dict[str, CelType]


def unify(parameter: CelType, argument: CelType, bindings: Bindings) -> bool:
    """Return True if `argument` fits `parameter`; bind its type variables."""
    if parameter.is_variable:
        bound = bindings.get(parameter.name)
        joined = argument if bound is None else join(bound, argument)
        if joined is None:
            return False
        bindings[parameter.name] = joined
        return True
    if DYN in (parameter, argument) or parameter == argument:
        return True
    if argument == NULL:
        return _takes_null(parameter)
    return (
        parameter.name == argument.name
        and not isinstance(parameter, ObjectType)
        and len(parameter.parameters) == len(argument.parameters)
        and all(
            unify(wanted, given, bindings)
            for wanted, given in zip(parameter.parameters, argument.parameters, strict=True)
        )
    )


def substitute(pattern: CelType, bindings: Bindings) -> CelType:
    """Return `pattern` with its type variables replaced; an unbound one is open."""
    if pattern.is_variable:
        return bindings.get(pattern.name, OPEN)
    if not pattern.parameters:
        return pattern
    return CelType(pattern.name, tuple(substitute(part, bindings) for part in pattern.parameters))


def join(left: CelType, right: CelType) -> CelType | None:
    """Return the common type of two types, or None if they have none."""
    if left.is_open:
        return right
    if right.is_open or (left == right and not left.parameters):
        return left
    if DYN in (left, right):
        return DYN
    if left == NULL:
        return right if _takes_null(right) else None
    if right == NULL:
        return left if _takes_null(left) else None
    if left.name != right.name or len(left.parameters) != len(right.parameters):
        return None
    if isinstance(left, ObjectType) or isinstance(right, ObjectType):
        return None
    joined = [join(a, b) for a, b in zip(left.parameters, right.parameters, strict=True)]
    parameters = tuple(part for part in joined if part is not None)
    return CelType(left.name, parameters) if len(parameters) == len(joined) else None


def _takes_null(cel_type: CelType) -> bool:
    return cel_type not in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TYPE) and (
        cel_type.name not in (LIST_NAME, MAP_NAME)
    )
