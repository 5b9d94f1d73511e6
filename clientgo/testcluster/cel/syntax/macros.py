"""Expand macros, which are calls that bind variables or test for presence.

Promises: `expand_macro` returns the node for such a call. A call with another number of arguments
stays a call.
"""

from __future__ import annotations

from clientgo.testcluster.cel.errors import CelCompileError
from clientgo.testcluster.cel.syntax.nodes import (
    Comprehension,
    Has,
    Identifier,
    Loop,
    Node,
    OptionalMap,
    Select,
)

_LOOPS = {
    ("all", 2): Loop.ALL,
    ("exists", 2): Loop.EXISTS,
    ("exists_one", 2): Loop.EXISTS_ONE,
    ("filter", 2): Loop.FILTER,
    ("map", 2): Loop.MAP,
    ("map", 3): Loop.MAP,
    ("sortBy", 2): Loop.SORT_BY,
}
_TWO_VARIABLE_LOOPS = {
    ("all", 3): Loop.ALL,
    ("exists", 3): Loop.EXISTS,
    ("exists_one", 3): Loop.EXISTS_ONE,
    ("existsOne", 3): Loop.EXISTS_ONE,
    ("transformList", 3): Loop.MAP,
    ("transformList", 4): Loop.MAP,
    ("transformMap", 3): Loop.TRANSFORM_MAP,
    ("transformMap", 4): Loop.TRANSFORM_MAP,
    ("transformMapEntry", 3): Loop.TRANSFORM_MAP_ENTRY,
    ("transformMapEntry", 4): Loop.TRANSFORM_MAP_ENTRY,
}


def expand_macro(
    source: str, offset: int, function: str, arguments: tuple[Node, ...], target: Node | None
) -> Node | None:
    """Return the node for a macro, or None for another call.

    Raises:
        CelCompileError: a macro has an argument of the wrong kind.
    """
    if target is None:
        return _expand_has(source, offset, arguments) if function == "has" else None
    shape = (function, len(arguments))
    if shape in _LOOPS:
        variables, rest = arguments[:1], arguments[1:]
        loop = _LOOPS[shape]
    elif shape in _TWO_VARIABLE_LOOPS:
        variables, rest = arguments[:2], arguments[2:]
        loop = _TWO_VARIABLE_LOOPS[shape]
    elif function in ("optMap", "optFlatMap") and len(arguments) == 2:
        name = _variable(source, arguments[0])
        return OptionalMap(offset, target, name, arguments[1], flat=function == "optFlatMap")
    else:
        return None
    names = tuple(_variable(source, variable) for variable in variables)
    if len(set(names)) < len(names):
        problem = f"duplicate variable name: {names[0]}"
        raise CelCompileError(problem, source, variables[1].offset)
    condition = rest[0] if len(rest) == 2 else None
    return Comprehension(offset, loop, target, names, rest[-1], condition)


def _expand_has(source: str, offset: int, arguments: tuple[Node, ...]) -> Node | None:
    if len(arguments) != 1:
        return None
    selection = arguments[0]
    if not isinstance(selection, Select) or selection.optional:
        raise CelCompileError("invalid argument to has() macro", source, offset)
    return Has(offset, selection.operand, selection.field)


def _variable(source: str, node: Node) -> str:
    if not isinstance(node, Identifier):
        raise CelCompileError("argument is not an identifier", source, node.offset)
    return node.name
