"""Estimate what an expression costs at most, before it runs.

Promises: about the estimate of a real server, and the same for names, fields, loops and most
functions. A text, list or map whose size is not known is unlimited, as upstream, so that
expressions that read such values are over the limits here if they are there.

Does not promise: the exact cost of what macros expand to.

Follows ``Cost`` of cel-go's checker, its list and set libraries, and ``CostEstimator`` of
``k8s.io/apiserver/pkg/cel/library``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clientgo.testcluster.cel.bounds import KEY, Bounds, Kind
from clientgo.testcluster.cel.environment import Checked
from clientgo.testcluster.cel.library.formats import FORMAT
from clientgo.testcluster.cel.library.network import CIDR, IP
from clientgo.testcluster.cel.library.quantities import QUANTITY
from clientgo.testcluster.cel.library.semver import SEMVER
from clientgo.testcluster.cel.library.urls import URL
from clientgo.testcluster.cel.syntax.nodes import (
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
from clientgo.testcluster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_NAME,
    MAP_NAME,
    OPTIONAL_NAME,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    ObjectType,
)

_UNLIMITED = 2**64 - 1
_NEW_LIST = 10
_NEW_MAP = 30
_TEXT_FACTOR = 0.1
_PATTERN_FACTOR = 0.25
_SORT_FACTOR = 2
_FORMAT_PATTERN = 128
"""The length of the longest pattern of a named format."""
_ADDRESSES = 6
"""The cost of comparing an address with a network."""

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
_SCALARS = (BOOL, INT, UINT, DOUBLE, TIMESTAMP, DURATION)
_TEXTS = (STRING, BYTES)
_EQUALITY = frozenset({"_==_", "_!=_"})
_ORDER = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_COMPARED_AT_ONCE = (IP, CIDR, QUANTITY, SEMVER, FORMAT)
_PARSED = frozenset(
    {"url", "cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"}
)

Path = tuple[str, ...]
"""Where a value is below a variable; upstream looks sizes up by it."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The cost of a node, and what is known about its value."""

    cost: int
    type: CelType
    size: int | None = None
    """The greatest number of characters, items or entries; None if it is not known."""
    path: Path = ()
    """Empty for computed values."""
    entry: int | None = None
    """The size of the items of a list, or the values of a map, if it is computed from them."""
    literal: Any = None
    """The value, if it is a literal."""

    @property
    def assumed_size(self) -> int:
        """The size; unlimited if it is not known."""
        return _UNLIMITED if self.size is None else self.size

    @property
    def reading(self) -> int:
        """The cost of reading the value."""
        return math.ceil(self.assumed_size * _TEXT_FACTOR)


def estimate_cost(expression: Checked, root: Bounds) -> int:
    """Return the greatest cost of an expression, in units of cel-go.

    `root` are the bounds of ``self`` and ``oldSelf``.
    """
    return _Estimator(expression.types, root).estimate(expression.node, {}).cost


def _is_scalar(type_: CelType) -> bool:
    if type_.name == OPTIONAL_NAME and type_.parameters:
        return _is_scalar(type_.parameters[0])
    return type_ in _SCALARS


class _Estimator:
    """Estimates the nodes of one expression."""

    def __init__(self, types: Mapping[int, CelType], root: Bounds) -> None:
        self._types = types
        self._root = root

    def estimate(self, node: Node, names: Mapping[str, Path]) -> _Estimate:
        """Estimate a node; `names` are the variables of the loops around it."""
        found = self._estimate(node, names)
        if found.size is None:
            size = self._size_at(found.path)
            if size is None and _is_scalar(found.type):
                size = 1
            found = replace(found, size=size)
        return found

    def _size_at(self, path: Path) -> int | None:
        """Return the size of what is at a path; its first name stands for the root."""
        if not path:
            return None
        bounds: Bounds | None = self._root
        for name in path[1:]:
            if bounds is None:
                return None
            if name in ("@items", "@values"):
                bounds = bounds.element
            elif name == "@keys":
                bounds = KEY if bounds.kind is Kind.MAP else None
            else:
                bounds = bounds.fields.get(name)
        return None if bounds is None else bounds.size

    def _estimate(self, node: Node, names: Mapping[str, Path]) -> _Estimate:
        type_ = self._types.get(id(node), DYN)
        match node:
            case Literal(value=str() | bytes() as text):
                return _Estimate(0, type_, len(text), literal=text)
            case Literal(value=value):
                return _Estimate(0, type_, 1, literal=value)
            case Identifier(name=name):
                return _Estimate(1, type_, path=names.get(name, (name,)))
            case Select():
                return self._select(node, type_, names)
            case Has():
                return _Estimate(0, type_)
            case Index():
                return self._index(node, type_, names)
            case Call():
                return self._call(node, type_, names)
            case Logical(left=left, right=right):
                cost = self.estimate(left, names).cost + self.estimate(right, names).cost
                return _Estimate(cost, type_)
            case Conditional(condition=condition, chosen=chosen, other=other):
                tested = self.estimate(condition, names)
                either = self.estimate(chosen, names), self.estimate(other, names)
                cost = tested.cost + max(part.cost for part in either)
                return _Estimate(
                    cost, type_, _largest(part.size for part in either), entry=_of_both(*either)
                )
            case ListLiteral(elements=elements):
                parts = [self.estimate(element.value, names) for element in elements]
                return _made(type_, parts, _NEW_LIST, parts)
            case MapLiteral(entries=entries):
                keys = [self.estimate(entry.key, names) for entry in entries]
                values = [self.estimate(entry.value, names) for entry in entries]
                return _made(type_, [*keys, *values], _NEW_MAP, values)
            case Comprehension():
                return self._comprehension(node, type_, names)
            case OptionalMap(target=target, variable=variable, body=body):
                inner = {**names, variable: ()}
                cost = self.estimate(target, names).cost + self.estimate(body, inner).cost
                return _Estimate(cost, type_)
        raise TypeError(f"no such node: {node!r}")

    def _select(self, node: Select, type_: CelType, names: Mapping[str, Path]) -> _Estimate:
        if id(node.operand) not in self._types:  # the name of a type, with dots
            return _Estimate(1, type_, path=(node.field,))
        operand = self.estimate(node.operand, names)
        if node.optional or operand.type.name == OPTIONAL_NAME:
            return _Estimate(operand.cost + 1, type_)
        has_cost = operand.type.name == MAP_NAME or isinstance(operand.type, ObjectType)
        path = (*operand.path, node.field)
        return _Estimate(operand.cost + has_cost, type_, path=path)

    def _index(self, node: Index, type_: CelType, names: Mapping[str, Path]) -> _Estimate:
        container = self.estimate(node.operand, names)
        cost = container.cost + self.estimate(node.key, names).cost + 1
        if node.optional or container.type.name == OPTIONAL_NAME:
            return _Estimate(cost, type_)
        below = "@items" if container.type.name == LIST_NAME else "@values"
        return _Estimate(cost, type_, container.entry, (*container.path, below))

    def _comprehension(
        self, node: Comprehension, type_: CelType, names: Mapping[str, Path]
    ) -> _Estimate:
        ranged = self.estimate(node.range, names)
        is_list = ranged.type.name == LIST_NAME
        below = ("@indices", "@items") if is_list else ("@keys", "@values")
        paths = [(*ranged.path, name) for name in below]
        if len(node.variables) == 1:
            paths = paths[is_list:][:1]
        inner = {**names, **dict(zip(node.variables, paths, strict=True))}
        body = self.estimate(node.body, inner)
        iteration = _ITERATION[node.loop] + body.cost
        if node.condition is not None:
            iteration += self.estimate(node.condition, inner).cost
        cost = ranged.cost + _LOOP[node.loop] + ranged.assumed_size * iteration
        match node.loop:
            case Loop.ALL | Loop.EXISTS | Loop.EXISTS_ONE:
                return _Estimate(cost, type_)
            case Loop.FILTER:
                kept = self._size_at(paths[-1])
                return _Estimate(cost, type_, ranged.assumed_size, entry=kept)
            case Loop.MAP:
                return _Estimate(cost, type_, ranged.assumed_size, entry=body.size)
            case Loop.SORT_BY:
                made = _list_made(type_, ranged.assumed_size**2, _SORT_FACTOR)
                return _Estimate(cost + made.cost, type_, ranged.size)
        return _Estimate(cost, type_, ranged.assumed_size)

    def _call(self, node: Call, type_: CelType, names: Mapping[str, Path]) -> _Estimate:
        arguments = [self.estimate(argument, names) for argument in node.arguments]
        cost = sum(argument.cost for argument in arguments)
        if node.target is None:
            called = self._function(node.function, type_, arguments)
        elif id(node.target) not in self._types:
            namespace = node.target.name if isinstance(node.target, Identifier) else ""
            called = self._function(f"{namespace}.{node.function}", type_, arguments)
        else:
            target = self.estimate(node.target, names)
            cost += target.cost
            called = self._method(node.function, type_, target, arguments)
        return replace(called, cost=cost + called.cost)

    def _function(self, name: str, type_: CelType, arguments: list[_Estimate]) -> _Estimate:
        """Return the cost of an operator or function without its arguments, and its value."""
        if len(arguments) == 2:
            left, right = arguments
            if name in _EQUALITY:
                return _Estimate(_equality_cost(name, left, right), type_)
            if name in _ORDER and any(_may_be(text, left, right) for text in _TEXTS):
                return _Estimate(_comparison_cost(left, right), type_)
            if name == "@in" and right.type.name in (LIST_NAME, DYN.name):
                return _Estimate(right.assumed_size, type_)
            if name == "_+_":
                return _added(type_, left, right)
        if not arguments:
            return _Estimate(1, type_)
        first = arguments[0]
        match name:
            case "dyn":
                return _Estimate(1, type_, first.size, entry=first.entry)
            case "bytes" if first.type == STRING:
                return _Estimate(first.reading, type_, 4 * first.assumed_size)
            case "string" if first.type == BYTES:
                return _Estimate(first.reading, type_, first.assumed_size)
            case "strings.quote":
                return _Estimate(first.reading, type_, 2 * first.assumed_size + 2)
            case "lists.range":
                return _list_made(type_, _literal_number(first, _UNLIMITED))
            case "sets.contains" | "sets.intersects":
                return _Estimate(first.assumed_size * arguments[1].assumed_size + 1, type_)
            case "sets.equivalent":
                return _Estimate(2 * first.assumed_size * arguments[1].assumed_size + 1, type_)
            case "url":
                return _Estimate(first.reading, type_, first.assumed_size)
            case "ip.isCanonical":
                return _Estimate(_read_cost(first, 2), type_)
        return _Estimate(first.reading if name in _PARSED else 1, type_)

    def _method(
        self, name: str, type_: CelType, target: _Estimate, arguments: list[_Estimate]
    ) -> _Estimate:
        """Return the cost of a method without its target and arguments, and its value."""
        size = target.assumed_size
        match name:
            case "matches" | "find" | "findAll" if arguments:
                text = math.ceil((size + 1) * _TEXT_FACTOR)
                cost = text * math.ceil(arguments[0].assumed_size * _PATTERN_FACTOR)
                return _Estimate(cost, type_, None if name == "matches" else size)
            case "contains" if len(arguments) == 1:
                return _Estimate(target.reading * arguments[0].reading, type_)
            case "join":
                length = self._joined(target, arguments)
                return _Estimate(math.ceil(length * _TEXT_FACTOR), type_, length)
            case "split":
                return _Estimate(_read_cost(target, 2), type_, _part_limit(target, arguments))
            case "replace" if len(arguments) >= 2:
                return _Estimate(_read_cost(target, 2), type_, _replaced_size(target, arguments))
            case "lowerAscii" | "upperAscii" | "substring" | "trim":
                return _Estimate(target.reading, type_, size)
            case "format":
                return _Estimate(target.reading, type_)
            case "startsWith" | "endsWith" if len(arguments) == 1:
                return _Estimate(arguments[0].reading, type_)
            case "validate" if arguments:
                pattern = math.ceil(_FORMAT_PATTERN * _PATTERN_FACTOR)
                return _Estimate(arguments[0].reading * pattern, type_)
            case "containsIP" | "containsCIDR" if arguments:
                parsed = arguments[0].reading if arguments[0].type == STRING else 0
                return _Estimate(_ADDRESSES + parsed, type_)
            case "reverse":
                return _list_made(type_, size)
            case "slice" if len(arguments) == 2:
                start, end = _literal_number(arguments[0], 0), _literal_number(arguments[1], size)
                return _list_made(type_, end - start if start <= end else _UNLIMITED)
            case "flatten":
                depth = _literal_number(arguments[0], _UNLIMITED) if arguments else 1
                return _list_made(type_, size, depth)
            case "distinct":
                return _list_made(type_, size**2, _SORT_FACTOR)
            case "sort":
                return _list_made(type_, size**2, _sort_factor(target))
            case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
                return _Estimate(self._scan_cost(target), type_)
        return _Estimate(1, type_)

    def _item_size(self, value: _Estimate) -> int:
        """Return the size of the items of a list; unlimited if it is computed."""
        found = self._size_at((*value.path, "@items")) if value.path else None
        return _UNLIMITED if found is None else found

    def _scan_cost(self, value: _Estimate) -> int:
        """Return the cost of reading every item."""
        if value.type.name != LIST_NAME:
            return value.reading
        is_text = value.type.parameters[0] in _TEXTS
        each = math.ceil(self._item_size(value) * _TEXT_FACTOR) if is_text else 0
        return value.assumed_size * (1 + each)

    def _joined(self, value: _Estimate, arguments: list[_Estimate]) -> int:
        """Return the greatest length of the result of ``join``."""
        length = value.assumed_size * self._item_size(value)
        if arguments:
            length += max(value.assumed_size - 1, 0) * arguments[0].assumed_size
        return length


def _largest(sizes: Iterable[int | None]) -> int | None:
    known = list(sizes)
    return None if None in known else max((size for size in known if size is not None), default=0)


def _of_both(left: _Estimate, right: _Estimate) -> int | None:
    """Return the size of the items of either list."""
    return _largest((left.entry, right.entry))


def _made(type_: CelType, parts: list[_Estimate], cost: int, values: list[_Estimate]) -> _Estimate:
    """Return the estimate of a literal list or map."""
    entry = max((value.assumed_size for value in values), default=0)
    return _Estimate(cost + sum(part.cost for part in parts), type_, len(values), entry=entry)


def _may_be(type_: CelType, left: _Estimate, right: _Estimate) -> bool:
    """Return True if an operator can be that of a type; DYN stands for each."""
    return left.type in (type_, DYN) and right.type in (type_, DYN)


def _equality_cost(name: str, left: _Estimate, right: _Estimate) -> int:
    if name == "_==_" and left.type == right.type:
        if left.type in _COMPARED_AT_ONCE:
            return 1
        if left.type == URL:
            return math.ceil((right.size or 1) * _TEXT_FACTOR)
    return _comparison_cost(left, right)


def _comparison_cost(left: _Estimate, right: _Estimate) -> int:
    return min(left.reading, right.reading)


def _added(type_: CelType, left: _Estimate, right: _Estimate) -> _Estimate:
    size = left.assumed_size + right.assumed_size
    if any(_may_be(text, left, right) for text in _TEXTS):
        return _Estimate(math.ceil(size * _TEXT_FACTOR), type_, size)
    if LIST_NAME in (left.type.name, right.type.name):
        return _Estimate(1, type_, size, entry=_of_both(left, right))
    return _Estimate(1, type_)


def _list_made(type_: CelType, size: int, factor: float = 1) -> _Estimate:
    """Return the estimate of a call that makes a list of this size."""
    return _Estimate(math.ceil(size * factor) + 1 + _NEW_LIST, type_, size)


def _literal_number(value: _Estimate, default: int) -> int:
    return value.literal if isinstance(value.literal, int) else default


def _sort_factor(value: _Estimate) -> float:
    is_text = value.type.name == LIST_NAME and value.type.parameters[0] in _TEXTS
    return _SORT_FACTOR + (_TEXT_FACTOR if is_text else 0)


def _part_limit(text: _Estimate, arguments: list[_Estimate]) -> int:
    """Return the greatest number of parts of ``split``: one per character, or its limit."""
    limit = arguments[1].literal if len(arguments) > 1 else None
    return limit if isinstance(limit, int) and limit >= 0 else text.assumed_size


def _replaced_size(text: _Estimate, arguments: list[_Estimate]) -> int:
    """Return the greatest length of the result of ``replace``."""
    found, replacement = arguments[0], arguments[1]
    shortest = len(found.literal) if isinstance(found.literal, str) else 0
    size, longest = text.assumed_size, replacement.assumed_size
    if shortest == 0:  # the replacement is put around every character
        return (size + 1) * longest + size
    if longest <= shortest:
        return size
    return math.ceil(size / shortest) * longest


def _read_cost(value: _Estimate, times: int) -> int:
    return math.ceil(value.assumed_size * times * _TEXT_FACTOR)
