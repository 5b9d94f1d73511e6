"""Estimate what an expression costs at most, before it runs.

Promises: never more than the estimate of a real server, and the same for names, fields, loops and
common functions. A string without a known limit, such as that of a number, is unlimited.

Does not promise: costs of other values without a known size. They are unlimited on a real server,
and small here, because their types are not known here.

Follows ``Cost`` of cel-go's checker and ``CostEstimator`` of
``k8s.io/apiserver/pkg/cel/library``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clientgo.cel.bounds import KEY, Bounds, Kind
from clientgo.cel.syntax.nodes import (
    Call,
    Comprehension,
    Conditional,
    Has,
    Identifier,
    Index,
    ListLiteral,
    Literal,
    Logical,
    Loop,
    MapLiteral,
    Node,
    OptionalMap,
    Select,
)
from clientgo.cel.syntax.parser import parse

_UNLIMITED = 2**64 - 1
_WITHOUT_LIMIT = (Kind.TEXT, Kind.OPTIONAL)
_ROOT = "self"
_MAKES_STRINGS = frozenset({"split", "findAll"})
_NEW_LIST = 10
_NEW_MAP = 30
_TEXT_FACTOR = 0.1
_PATTERN_FACTOR = 0.25
_SORT_FACTOR = 2

# The cost of an iteration without its parts, and of a loop without its iterations. cel-go expands
# macros to a condition and a step with an accumulator, which have these costs.
_ITERATION = {
    Loop.ALL: 3,
    Loop.EXISTS: 4,
    Loop.EXISTS_ONE: 2,
    Loop.FILTER: 13,
    Loop.MAP: 12,
    Loop.TRANSFORM_MAP: 3,
    Loop.TRANSFORM_MAP_ENTRY: 1,
    Loop.SORT_BY: 1,
}
_LOOP = {
    Loop.ALL: 1,
    Loop.EXISTS: 1,
    Loop.EXISTS_ONE: 2,
    Loop.FILTER: 1 + _NEW_LIST,
    Loop.MAP: 1 + _NEW_LIST,
    Loop.TRANSFORM_MAP: 1 + _NEW_MAP,
    Loop.TRANSFORM_MAP_ENTRY: 1 + _NEW_MAP,
    Loop.SORT_BY: 1,
}
_COMPARISONS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_EQUALITY = frozenset({"_==_", "_!=_"})
_PARSED = frozenset(
    {"url", "cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"}
)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The cost of a node, and what is known about its value."""

    cost: int
    kind: Kind | None = None
    size: int | None = None
    bounds: Bounds | None = None
    literal: Any = None
    """The value, if it is a literal."""

    @property
    def assumed_size(self) -> int:
        """The size, or an assumption: unlimited for strings and optionals, small for others."""
        if self.size is None:
            return _UNLIMITED if self.kind in _WITHOUT_LIMIT else 1
        return self.size

    @property
    def reading(self) -> int:
        """The cost of reading the value."""
        return math.ceil(self.assumed_size * _TEXT_FACTOR)


Variables = Mapping[str, Bounds | None]


def estimate_cost(source: str, variables: Variables) -> int:
    """Return the greatest cost of an expression that compiles, in units of cel-go.

    The bounds of a variable are None if they are not known.
    """
    return _estimate(parse(source), variables).cost


def _estimate(node: Node, names: Variables) -> _Estimate:
    match node:
        case Literal(value=str() | bytes() as text):
            return _Estimate(0, Kind.TEXT, len(text), literal=text)
        case Literal(value=value):
            return _Estimate(0, Kind.OTHER, 1, literal=value)
        case Identifier(name=name):
            return _of_bounds(1, names.get(name))
        case Select(operand=operand, field=name, optional=optional):
            return _select(_estimate(operand, names), name, optional=optional)
        case Has():
            return _Estimate(0, Kind.OTHER, 1)
        case Index(operand=operand, key=key):
            container = _estimate(operand, names)
            cost = container.cost + _estimate(key, names).cost + 1
            return _of_bounds(cost, container.bounds.element if container.bounds else None)
        case Call():
            return _call(node, names)
        case Logical(left=left, right=right):
            cost = _estimate(left, names).cost + _estimate(right, names).cost
            return _Estimate(cost, Kind.OTHER, 1)
        case Conditional():
            return _conditional(node, names)
        case ListLiteral(elements=elements):
            cost = sum(_estimate(element.value, names).cost for element in elements)
            return _Estimate(cost + _NEW_LIST, Kind.LIST, len(elements))
        case MapLiteral(entries=entries):
            parts = [part for entry in entries for part in (entry.key, entry.value)]
            cost = sum(_estimate(part, names).cost for part in parts)
            return _Estimate(cost + _NEW_MAP, Kind.MAP, len(entries))
        case Comprehension():
            return _comprehension(node, names)
        case OptionalMap(target=target, variable=variable, body=body):
            inner = {**names, variable: None}
            return _Estimate(_estimate(target, names).cost + _estimate(body, inner).cost)
    raise TypeError(f"no such node: {node!r}")


def _of_bounds(cost: int, bounds: Bounds | None) -> _Estimate:
    if bounds is None:
        return _Estimate(cost)
    return _Estimate(cost, bounds.kind, bounds.size, bounds)


def _select(operand: _Estimate, name: str, *, optional: bool) -> _Estimate:
    bounds = operand.bounds
    if bounds is None or bounds.kind not in (Kind.OBJECT, Kind.MAP):
        return _Estimate(operand.cost)
    if optional:
        return _Estimate(operand.cost + 1)
    # Upstream knows the size of a map value by index, but not by name.
    below = bounds.fields.get(name) if bounds.kind is Kind.OBJECT else None
    return _of_bounds(operand.cost + 1, below)


def _conditional(node: Conditional, names: Variables) -> _Estimate:
    chosen, other = _estimate(node.chosen, names), _estimate(node.other, names)
    cost = _estimate(node.condition, names).cost + max(chosen.cost, other.cost)
    known = chosen.size is not None and other.size is not None
    return _Estimate(
        cost,
        chosen.kind if chosen.kind is other.kind else None,
        max(chosen.assumed_size, other.assumed_size) if known else None,
    )


def _comprehension(node: Comprehension, names: Variables) -> _Estimate:
    ranged = _estimate(node.range, names)
    element = ranged.bounds.element if ranged.bounds else None
    is_map = ranged.kind is Kind.MAP
    if len(node.variables) == 2:
        values = (KEY if is_map else None, element)
    else:
        values = (KEY if is_map else element, None)
    inner = {**names, **dict(zip(node.variables, values, strict=False))}
    iteration = _ITERATION[node.loop] + _estimate(node.body, inner).cost
    if node.condition is not None:
        iteration += _estimate(node.condition, inner).cost
    cost = ranged.cost + _LOOP[node.loop] + ranged.assumed_size * iteration
    if node.loop is Loop.SORT_BY:
        cost += _list_made(ranged.assumed_size**2, _SORT_FACTOR).cost
    match node.loop:
        case Loop.ALL | Loop.EXISTS | Loop.EXISTS_ONE:
            return _Estimate(cost, Kind.OTHER, 1)
        case Loop.FILTER | Loop.MAP | Loop.SORT_BY:
            return _Estimate(cost, Kind.LIST, ranged.size)
    return _Estimate(cost, Kind.MAP, ranged.size)


def _call(node: Call, names: Variables) -> _Estimate:
    arguments = [_estimate(argument, names) for argument in node.arguments]
    cost = sum(argument.cost for argument in arguments)
    if node.target is None:
        called = _function(node.function, arguments)
    elif isinstance(node.target, Identifier) and node.target.name not in names:
        called = _function(f"{node.target.name}.{node.function}", arguments)
    else:
        target = _estimate(node.target, names)
        cost += target.cost
        called = _method(node.function, target, arguments)
        if node.function in _MAKES_STRINGS:
            called = replace(called, bounds=_computed_strings(names))
    return _Estimate(cost + called.cost, called.kind, called.size, called.bounds)


def _computed_strings(names: Variables) -> Bounds:
    """Return the bounds of a computed list of strings.

    As upstream, its elements have the size of ``self``.
    """
    root = names.get(_ROOT)
    is_sized = root is not None and root.kind in (Kind.TEXT, Kind.LIST, Kind.MAP)
    element = Bounds(Kind.TEXT, size=root.size if root is not None and is_sized else 0)
    return Bounds(Kind.LIST, element=element)


def _function(name: str, arguments: list[_Estimate]) -> _Estimate:
    """Return the cost of an operator or function without its arguments, and its value."""
    if len(arguments) == 2:
        left, right = arguments
        if name in _EQUALITY:
            return _Estimate(_comparison_cost(left, right), Kind.OTHER, 1)
        if name in _COMPARISONS and Kind.TEXT in (left.kind, right.kind):
            return _Estimate(_comparison_cost(left, right), Kind.OTHER, 1)
        if name == "@in" and right.kind is Kind.LIST:
            return _Estimate(right.assumed_size, Kind.OTHER, 1)
        if name == "_+_" and left.kind is right.kind and left.kind in (Kind.TEXT, Kind.LIST):
            return _concatenated(left, right)
    match name:
        case "string":
            return _Estimate(1, Kind.TEXT)
        case "optional.none":
            return _Estimate(1, Kind.OPTIONAL)
        case "lists.range":
            return _list_made(_literal_number(arguments[0], _UNLIMITED))
        case "sets.contains" | "sets.intersects":
            return _Estimate(arguments[0].assumed_size * arguments[1].assumed_size + 1)
        case "sets.equivalent":
            return _Estimate(2 * arguments[0].assumed_size * arguments[1].assumed_size + 1)
    if name in _PARSED and len(arguments) == 1:
        return _Estimate(arguments[0].reading)
    return _Estimate(1)


def _comparison_cost(left: _Estimate, right: _Estimate) -> int:
    sizes = [part.size for part in (left, right) if part.size is not None]
    smallest = min(sizes, default=min(left.assumed_size, right.assumed_size))
    return math.ceil(smallest * _TEXT_FACTOR)


def _concatenated(left: _Estimate, right: _Estimate) -> _Estimate:
    size = left.assumed_size + right.assumed_size
    known = size if left.size is not None and right.size is not None else None
    cost = math.ceil(size * _TEXT_FACTOR) if left.kind is Kind.TEXT else 1
    return _Estimate(cost, left.kind, known)


def _method(name: str, target: _Estimate, arguments: list[_Estimate]) -> _Estimate:
    """Return the cost of a method without its target and arguments, and its value."""
    match name:
        case "matches" | "find" | "findAll" if arguments:
            text = math.ceil((target.assumed_size + 1) * _TEXT_FACTOR)
            cost = text * math.ceil(arguments[0].assumed_size * _PATTERN_FACTOR)
            match name:
                case "find":
                    return _Estimate(cost, Kind.TEXT, target.size)
                case "findAll":
                    return _Estimate(cost, Kind.LIST, target.size)
            return _Estimate(cost)
        case "contains" if len(arguments) == 1 and target.kind is Kind.TEXT:
            return _Estimate(target.reading * arguments[0].reading)
        case "join":
            return _Estimate(_join_cost(target, arguments))
        case "split":
            return _Estimate(_read_cost(target, 2), Kind.LIST, _part_limit(target, arguments))
        case "replace" if len(arguments) >= 2:
            return _Estimate(_read_cost(target, 2), Kind.TEXT, _replaced_size(target, arguments))
        case "lowerAscii" | "upperAscii" | "substring" | "trim":
            return _Estimate(target.reading, Kind.TEXT, target.size)
        case "format":
            return _Estimate(target.reading, Kind.TEXT)
        case "startsWith" | "endsWith" if len(arguments) == 1:
            return _Estimate(arguments[0].reading)
        case "validate":
            return _Estimate(1, Kind.OPTIONAL)
        case "reverse":
            return _list_made(target.assumed_size)
        case "slice" if len(arguments) == 2:
            end = _literal_number(arguments[1], target.assumed_size)
            return _list_made(max(end - _literal_number(arguments[0], 0), 0))
        case "flatten":
            depth = _literal_number(arguments[0], _UNLIMITED) if arguments else 1
            return _list_made(target.assumed_size, depth)
        case "distinct":
            return _list_made(target.assumed_size**2, 2)
        case "sort":
            return _list_made(target.assumed_size**2, _sort_factor(target))
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
            return _Estimate(_scan_cost(target))
    return _Estimate(1)


def _list_made(size: int, factor: float = 1) -> _Estimate:
    """Return the estimate of a call that makes a list of this size."""
    return _Estimate(math.ceil(size * factor) + 1 + _NEW_LIST, Kind.LIST, size)


def _literal_number(value: _Estimate, default: int) -> int:
    return value.literal if isinstance(value.literal, int) else default


def _sort_factor(value: _Estimate) -> float:
    element = value.bounds.element if value.bounds else None
    return _SORT_FACTOR + (_TEXT_FACTOR if element and element.kind is Kind.TEXT else 0)


def _part_limit(text: _Estimate, arguments: list[_Estimate]) -> int | None:
    """Return the greatest number of parts of ``split``: one per character, or its limit."""
    limit = arguments[1].literal if len(arguments) > 1 else None
    return limit if isinstance(limit, int) and limit >= 0 else text.size


def _replaced_size(text: _Estimate, arguments: list[_Estimate]) -> int | None:
    """Return the greatest length of the result of ``replace``."""
    found, replacement = arguments[0], arguments[1]
    shortest = len(found.literal) if isinstance(found.literal, str) else 0
    if text.size is None or replacement.size is None:
        return None
    if shortest == 0:  # the replacement is put around every character
        return (text.size + 1) * replacement.size + text.size
    if replacement.size <= shortest:
        return text.size
    return math.ceil(text.size / shortest) * replacement.size


def _read_cost(value: _Estimate, times: int) -> int:
    return math.ceil(value.assumed_size * times * _TEXT_FACTOR)


def _scan_cost(value: _Estimate) -> int:
    """Return the cost of reading every item."""
    if value.kind is not Kind.LIST:
        return value.reading
    element = value.bounds.element if value.bounds else None
    is_text = element is not None and element.kind is Kind.TEXT
    return value.assumed_size * (1 + (_of_bounds(0, element).reading if is_text else 0))


def _join_cost(value: _Estimate, arguments: list[_Estimate]) -> int:
    element = value.bounds.element if value.bounds else None
    size = value.assumed_size * (_of_bounds(0, element).assumed_size if element is not None else 0)
    if arguments:
        size += max(value.assumed_size - 1, 0) * arguments[0].assumed_size
    return math.ceil(size * _TEXT_FACTOR)
