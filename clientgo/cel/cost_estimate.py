"""What an expression may cost at most, known before it runs.

Promises: `estimate_cost` never says more than a real server, which refuses definitions whose rules
may cost too much; for names, fields, loops and the usual functions it says the same. A text that
nothing bounds, such as that of a number, is endless.

Does not promise: costs of other values without bounds. They are endless on a real server, and count
as short here, because their types are not known here.

Follows ``Cost`` of cel-go's checker and ``CostEstimator`` of ``k8s.io/apiserver/pkg/cel/library``.
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

_ENDLESS = 2**64 - 1
_ROOT = "self"
_MAKES_TEXTS = frozenset({"split", "findAll"})
_NEW_LIST = 10
_NEW_MAP = 30
_TEXT_FACTOR = 0.1
_PATTERN_FACTOR = 0.25

# What each turn of a loop costs beside its parts, and the loop beside its turns: cel-go expands
# macros to a condition and a step over what has been found so far, and these are their costs.
_TURN = {
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
    """Of a part of an expression: its cost, and what is known of its value."""

    cost: int
    kind: Kind | None = None
    size: int | None = None
    bounds: Bounds | None = None
    literal: Any = None
    """The value, if it is a literal."""

    @property
    def reckoned_size(self) -> int:
        """The size to reckon with: a text without bounds is endless, another value is short."""
        if self.size is None:
            return _ENDLESS if self.kind is Kind.TEXT else 1
        return self.size

    @property
    def reading(self) -> int:
        """What it costs to read the value."""
        return math.ceil(self.reckoned_size * _TEXT_FACTOR)


Variables = Mapping[str, Bounds | None]


def estimate_cost(source: str, variables: Variables) -> int:
    """Return what an expression that compiles costs at most, in units of cel-go.

    The variables have these bounds; None if nothing is known of one.
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
    # Of a map, upstream knows how large what is found by an index is, but not by a name.
    below = bounds.fields.get(name) if bounds.kind is Kind.OBJECT else None
    return _of_bounds(operand.cost + 1, below)


def _conditional(node: Conditional, names: Variables) -> _Estimate:
    chosen, other = _estimate(node.chosen, names), _estimate(node.other, names)
    cost = _estimate(node.condition, names).cost + max(chosen.cost, other.cost)
    known = chosen.size is not None and other.size is not None
    return _Estimate(
        cost,
        chosen.kind if chosen.kind is other.kind else None,
        max(chosen.reckoned_size, other.reckoned_size) if known else None,
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
    turn = _TURN[node.loop] + _estimate(node.body, inner).cost
    if node.condition is not None:
        turn += _estimate(node.condition, inner).cost
    cost = ranged.cost + _LOOP[node.loop] + ranged.reckoned_size * turn
    match node.loop:
        case Loop.ALL | Loop.EXISTS | Loop.EXISTS_ONE:
            return _Estimate(cost, Kind.OTHER, 1)
        case Loop.FILTER | Loop.MAP | Loop.SORT_BY:
            return _Estimate(cost, Kind.LIST, ranged.size)
    return _Estimate(cost, Kind.MAP, ranged.size)


def _call(node: Call, names: Variables) -> _Estimate:
    arguments = [_estimate(argument, names) for argument in node.arguments]
    cost = sum(argument.cost for argument in arguments)
    if node.target is None or _is_namespace(node.target, names):
        called = _function(node.function, arguments)
    else:
        target = _estimate(node.target, names)
        cost += target.cost
        called = _method(node.function, target, arguments)
        if node.function in _MAKES_TEXTS:
            called = replace(called, bounds=_computed_texts(names))
    return _Estimate(cost + called.cost, called.kind, called.size, called.bounds)


def _computed_texts(names: Variables) -> Bounds:
    """Return the bounds of a list of texts that is computed.

    Upstream looks for the path of an element, finds none, and takes the size of ``self``.
    """
    root = names.get(_ROOT)
    is_sized = root is not None and root.kind in (Kind.TEXT, Kind.LIST, Kind.MAP)
    element = Bounds(Kind.TEXT, size=root.size if root is not None and is_sized else 0)
    return Bounds(Kind.LIST, element=element)


def _is_namespace(node: Node, names: Variables) -> bool:
    """Tell whether what is before the dot is a part of the function's name, as in ``sets.``."""
    return isinstance(node, Identifier) and node.name not in names


def _function(name: str, arguments: list[_Estimate]) -> _Estimate:
    """Return what an operator or function costs beside its arguments, and its value."""
    if len(arguments) == 2:
        left, right = arguments
        if name in _EQUALITY:
            return _Estimate(_shorter(left, right), Kind.OTHER, 1)
        if name in _COMPARISONS and Kind.TEXT in (left.kind, right.kind):
            return _Estimate(_shorter(left, right), Kind.OTHER, 1)
        if name == "@in" and right.kind is Kind.LIST:
            return _Estimate(right.reckoned_size, Kind.OTHER, 1)
        if name == "_+_" and left.kind is right.kind and left.kind in (Kind.TEXT, Kind.LIST):
            return _joined(left, right)
    if name == "string":
        return _Estimate(1, Kind.TEXT)
    if name in _PARSED and len(arguments) == 1:
        return _Estimate(arguments[0].reading)
    return _Estimate(1)


def _shorter(left: _Estimate, right: _Estimate) -> int:
    sizes = [part.size for part in (left, right) if part.size is not None]
    are_texts = left.kind is right.kind is Kind.TEXT
    return math.ceil(min(sizes, default=_ENDLESS if are_texts else 1) * _TEXT_FACTOR)


def _joined(left: _Estimate, right: _Estimate) -> _Estimate:
    size = left.reckoned_size + right.reckoned_size
    known = size if left.size is not None and right.size is not None else None
    cost = math.ceil(size * _TEXT_FACTOR) if left.kind is Kind.TEXT else 1
    return _Estimate(cost, left.kind, known)


def _method(name: str, target: _Estimate, arguments: list[_Estimate]) -> _Estimate:
    """Return what a method costs beside its target and arguments, and its value."""
    match name:
        case "matches" | "find" | "findAll" if arguments:
            text = math.ceil((target.reckoned_size + 1) * _TEXT_FACTOR)
            cost = text * math.ceil(arguments[0].reckoned_size * _PATTERN_FACTOR)
            match name:
                case "find":
                    return _Estimate(cost, Kind.TEXT, target.size)
                case "findAll":
                    return _Estimate(cost, Kind.LIST, target.size)
            return _Estimate(cost)
        case "contains" if len(arguments) == 1 and target.kind is Kind.TEXT:
            return _Estimate(target.reading * arguments[0].reading)
        case "join":
            return _Estimate(_joining(target, arguments))
        case "split":
            return _Estimate(_reading(target, 2), Kind.LIST, _most_parts(target, arguments))
        case "replace" if len(arguments) >= 2:
            return _Estimate(_reading(target, 2), Kind.TEXT, _replaced_size(target, arguments))
        case "lowerAscii" | "upperAscii" | "substring" | "trim":
            return _Estimate(target.reading, Kind.TEXT, target.size)
        case "format":
            return _Estimate(target.reading, Kind.TEXT)
        case "startsWith" | "endsWith" if len(arguments) == 1:
            return _Estimate(arguments[0].reading)
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
            return _Estimate(_walking(target))
    return _Estimate(1)


def _most_parts(text: _Estimate, arguments: list[_Estimate]) -> int | None:
    """Return how many parts ``split`` makes at most: every character one, or its limit."""
    limit = arguments[1].literal if len(arguments) > 1 else None
    return limit if isinstance(limit, int) and limit >= 0 else text.size


def _replaced_size(text: _Estimate, arguments: list[_Estimate]) -> int | None:
    """Return how long the result of ``replace`` is at most."""
    found, replacement = arguments[0], arguments[1]
    shortest = len(found.literal) if isinstance(found.literal, str) else 0
    if text.size is None or replacement.size is None:
        return None
    if shortest == 0:  # the replacement is put around every character
        return (text.size + 1) * replacement.size + text.size
    if replacement.size <= shortest:
        return text.size
    return math.ceil(text.size / shortest) * replacement.size


def _reading(value: _Estimate, times: int) -> int:
    return math.ceil(value.reckoned_size * times * _TEXT_FACTOR)


def _walking(value: _Estimate) -> int:
    """Return what it costs to look at every item."""
    if value.kind is not Kind.LIST:
        return value.reading
    element = value.bounds.element if value.bounds else None
    is_text = element is not None and element.kind is Kind.TEXT
    return value.reckoned_size * (1 + (_of_bounds(0, element).reading if is_text else 0))


def _joining(value: _Estimate, arguments: list[_Estimate]) -> int:
    element = value.bounds.element if value.bounds else None
    size = value.reckoned_size * (
        _of_bounds(0, element).reckoned_size if element is not None else 0
    )
    if arguments:
        size += max(value.reckoned_size - 1, 0) * arguments[0].reckoned_size
    return math.ceil(size * _TEXT_FACTOR)
