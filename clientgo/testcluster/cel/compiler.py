"""Check the types of a syntax tree and make a function that evaluates it.

Promises: every name, field and overload exists, or a `CelCompileError` says where it is missing.
Values of type ``dyn`` are checked when they are evaluated.

Does not promise: cost estimates, which are in `cost_estimate`.

cel-go checks first and plans then. Here one pass does both. It makes closures, which run faster
in Python than a walk over the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from clientgo.testcluster.cel import types
from clientgo.testcluster.cel.access import (
    element,
    has_member,
    member,
    optional_element,
    optional_member,
    truth,
)
from clientgo.testcluster.cel.costs import COSTS
from clientgo.testcluster.cel.errors import (
    CelCompileError,
    CelEvaluationError,
    CelProgramError,
    NoSuchOverloadError,
)
from clientgo.testcluster.cel.evaluators import (
    Evaluator,
    build_map,
    counted_call,
    direct_call,
    dispatching,
    logical_call,
    takes_null,
)
from clientgo.testcluster.cel.functions import resolve
from clientgo.testcluster.cel.library import CheckedCall, Library
from clientgo.testcluster.cel.loops import loop_evaluator
from clientgo.testcluster.cel.scope import Budget, Scope
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
    ObjectLiteral,
    OptionalMap,
    Select,
)
from clientgo.testcluster.cel.types import BOOL, DYN, INT, OPEN, STRING, TYPE, CelType, ObjectType
from clientgo.testcluster.cel.values import ABSENT, ObjectValue, Optional


@dataclass(frozen=True, slots=True)
class Compiled:
    """A part of an expression: its type and how to compute it."""

    type: CelType
    evaluate: Evaluator
    constant: bool = False
    """True if the value depends on no variable and is computed already."""


ObjectFields = Mapping[str, CelType] | None
"""The fields of an object that an expression can make; None if it may have any, and parts."""

_NO_OBJECTS: Mapping[str, ObjectFields] = {}


class Compiler:
    """Compile one expression; `used` collects the declared variables in it."""

    def __init__(
        self,
        source: str,
        variables: Mapping[str, CelType],
        library: Library,
        objects: Mapping[str, ObjectFields] = _NO_OBJECTS,
    ) -> None:
        self._source = source
        self._objects = objects
        self._variables = dict(variables)
        self._inputs = dict(variables)
        self._declared = frozenset(variables)
        self._library = library
        self._format_depth = 0
        """The number of calls of ``format`` around the node; their values can have any types."""
        self._deferred: list[CelCompileError] = []
        self._element_types: dict[int, list[CelType]] = {}
        """The types of the elements of each list literal, by the id of its node."""
        self.used: set[str] = set()
        self.types: dict[int, CelType] = {}
        """The types of the compiled nodes, by the id of the node."""

    def compile_whole(self, node: Node) -> Compiled:
        """Compile an expression.

        Raises:
            CelCompileError: a name is unknown, types do not fit, or a literal is refused.
        """
        compiled = self.compile(node)
        # As upstream: types first, then literals, then constants.
        for error in sorted(self._deferred, key=lambda error: isinstance(error, CelProgramError)):
            raise error
        return compiled

    def compile(self, node: Node) -> Compiled:
        """Compile a node and all below it.

        Raises:
            CelCompileError: a name is unknown or types do not fit.
        """
        compiled = self._compiled(node)
        self.types[id(node)] = compiled.type
        return compiled

    def _compiled(self, node: Node) -> Compiled:
        match node:
            case Literal():
                value = node.value
                return Compiled(node.type, lambda _: value, constant=True)
            case Identifier():
                return self._identifier(node)
            case Select():
                return self._select(node)
            case Has():
                return self._has(node)
            case Index():
                return self._index(node)
            case Call():
                return self._call(node)
            case Logical():
                return self._logical(node)
            case Conditional():
                return self._conditional(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case ObjectLiteral():
                return self._object(node)
            case Comprehension():
                return self._comprehension(node)
            case OptionalMap():
                return self._optional_map(node)
        raise TypeError(f"no such node: {node!r}")

    def _error(self, problem: str, node: Node) -> CelCompileError:
        return CelCompileError(problem, self._source, node.offset)

    def _expect(self, wanted: CelType, node: Node) -> Compiled:
        compiled = self.compile(node)
        if not types.unify(wanted, compiled.type, {}):
            problem = f"expected type '{wanted}' but found '{compiled.type}'"
            raise self._error(problem, node)
        return compiled

    def _identifier(self, node: Identifier) -> Compiled:
        name = node.name
        if not node.absolute and name in self._variables and name not in self._declared:
            return Compiled(self._variables[name], lambda scope: scope.names[name])
        return self._named(name) or self._undeclared(name, node)

    def _named(self, name: str) -> Compiled | None:
        """Return the variable or type of a name, which can have dots."""
        if name in self._inputs:
            self.used.add(name)
            if name in self._declared:
                return Compiled(self._inputs[name], lambda scope: scope.names[name])
            return Compiled(self._inputs[name], lambda scope: scope.variables[name])
        named = self._library.types.get(name)
        return Compiled(TYPE, lambda _: named) if named is not None else None

    def _undeclared(self, name: str, node: Node) -> NoReturn:
        raise self._error(f"undeclared reference to '{name}' (in container '')", node)

    def _qualified_name(self, node: Node) -> str | None:
        """Return the dotted name of a node, or None if it starts with a variable of a macro."""
        if isinstance(node, Identifier):
            is_local = node.name in self._variables and node.name not in self._declared
            return None if is_local and not node.absolute else node.name
        if isinstance(node, Select) and not node.optional:
            prefix = self._qualified_name(node.operand)
            return None if prefix is None else f"{prefix}.{node.field}"
        return None

    def _select(self, node: Select) -> Compiled:
        qualified = self._qualified_name(node)
        if qualified is not None and (named := self._named(qualified)) is not None:
            return named
        operand = self.compile(node.operand)
        result = self._field_type(operand.type, node.field, node)
        evaluate, field = operand.evaluate, node.field
        if node.optional or operand.type.name == types.OPTIONAL_NAME:
            return Compiled(
                types.optional_of(result), lambda scope: optional_member(evaluate(scope), field)
            )
        return Compiled(result, lambda scope: member(evaluate(scope), field))

    def _field_type(self, operand: CelType, field: str, node: Node) -> CelType:
        if operand.name == types.OPTIONAL_NAME and operand.parameters:
            operand = operand.parameters[0]
        if isinstance(operand, ObjectType) and operand.fields is not None:
            if field not in operand.fields:
                raise self._error(f"undefined field '{field}'", node)
            return operand.fields[field]
        if operand.name == types.MAP_NAME and types.unify(operand.parameters[0], STRING, {}):
            return operand.parameters[1]
        if operand == DYN:
            return DYN
        raise self._error(f"type '{operand}' does not support field selection", node)

    def _has(self, node: Has) -> Compiled:
        operand = self.compile(node.operand)
        self._field_type(operand.type, node.field, node)
        evaluate, field = operand.evaluate, node.field
        return Compiled(BOOL, lambda scope: has_member(evaluate(scope), field))

    def _index(self, node: Index) -> Compiled:
        operand, key = self.compile(node.operand), self.compile(node.key)
        container, optional = operand.type, node.optional
        if container.name == types.OPTIONAL_NAME and container.parameters:
            container, optional = container.parameters[0], True
        result = self._element_type(container, key.type, node)
        get_container, get_key = operand.evaluate, key.evaluate
        if optional:
            return Compiled(
                types.optional_of(result),
                lambda scope: optional_element(get_container(scope), get_key(scope)),
            )
        return Compiled(result, lambda scope: element(get_container(scope), get_key(scope)))

    def _element_type(self, container: CelType, key: CelType, node: Node) -> CelType:
        if container == DYN:
            return DYN
        if container.name == types.LIST_NAME and types.unify(INT, key, {}):
            return container.parameters[0]
        if container.name == types.MAP_NAME and types.unify(container.parameters[0], key, {}):
            return container.parameters[1]
        problem = f"found no matching overload for '_[_]' applied to '({container}, {key})'"
        raise self._error(problem, node)

    def _call(self, node: Call) -> Compiled:
        name, arguments, is_method = node.function, node.arguments, node.target is not None
        if node.target is not None:
            namespace = self._qualified_name(node.target)
            if namespace is not None and (f"{namespace}.{name}", False) in self._library.functions:
                name, is_method = f"{namespace}.{name}", False
            else:
                arguments = (node.target, *arguments)
        functions = self._library.functions
        candidates = functions.get((name, is_method), ())
        if not candidates and (name, not is_method) not in functions:
            self._undeclared(name, node)
        self._format_depth += name == "format"
        compiled = [self.compile(argument) for argument in arguments]
        self._format_depth -= name == "format"
        argument_types = [argument.type for argument in compiled]
        fitting, result = resolve(candidates, argument_types)
        if result is None:
            shown = ", ".join(map(str, argument_types[is_method:]))
            applied = f"{argument_types[0]}.({shown})" if is_method else f"({shown})"
            problem = f"found no matching overload for '{name}' applied to '{applied}'"
            raise self._error(problem, node)
        self._check_literals(name, node)
        evaluators = [argument.evaluate for argument in compiled]
        known = len(fitting) == 1 and not any(map(_is_dynamic, argument_types))
        call = fitting[0].call if known else dispatching(fitting)
        nullable = [not known or takes_null(parameter) for parameter in fitting[0].parameters]
        cost = COSTS.get(name)
        if cost is not None:
            return Compiled(result, counted_call(call, cost, evaluators, nullable))
        evaluate = direct_call(call, evaluators, nullable)
        if name in _FOLDED and len(compiled) == 1 and compiled[0].constant:
            return self._folded(Compiled(result, evaluate), node)
        return Compiled(result, evaluate)

    def _check_literals(self, name: str, node: Call) -> None:
        check = self._library.checks.get(name)
        if check is None:
            return
        kinds = self._element_types.get(id(node.arguments[-1]), []) if node.arguments else []
        problem = check(CheckedCall(node.target, node.arguments, kinds))
        if problem is not None:
            error = CelProgramError if name in _PLANNED else CelCompileError
            self._deferred.append(error(problem[0], self._source, (problem[1] or node).offset))

    def _folded(self, call: Compiled, node: Node) -> Compiled:
        """Evaluate a call with constant arguments, and return the constant."""
        try:
            value = call.evaluate(Scope({}, Budget()))
        except CelEvaluationError as error:
            self._deferred.append(CelProgramError(str(error), self._source, node.offset))
            return call
        return Compiled(call.type, lambda _: value, constant=True)

    def _logical(self, node: Logical) -> Compiled:
        left, right = self._expect(BOOL, node.left), self._expect(BOOL, node.right)
        return Compiled(BOOL, logical_call(left.evaluate, right.evaluate, not node.is_and))

    def _conditional(self, node: Conditional) -> Compiled:
        condition = self._expect(BOOL, node.condition)
        chosen, other = self.compile(node.chosen), self.compile(node.other)
        result = types.join(chosen.type, other.type)
        if result is None:
            shown = f"({condition.type}, {chosen.type}, {other.type})"
            problem = f"found no matching overload for '_?_:_' applied to '{shown}'"
            raise self._error(problem, node)
        test, then, otherwise = condition.evaluate, chosen.evaluate, other.evaluate
        return Compiled(
            result, lambda scope: then(scope) if truth(test(scope)) else otherwise(scope)
        )

    def _joined(self, parts: list[tuple[CelType, Node]]) -> CelType:
        """Return the common type of all elements of a literal."""
        result: CelType | None = None
        for part, node in parts:
            joined = part if result is None else types.join(result, part)
            if result is not None and not (result.is_open or part.is_open):
                joined = joined if (part == DYN) == (result == DYN) else None
            if joined is None:
                if not self._format_depth:
                    problem = f"expected type '{result}' but found '{part}'"
                    self._deferred.append(self._error(problem, node))
                return DYN
            result = joined
        return OPEN if result is None else result

    def _element_value(self, node: Node, *, optional: bool) -> tuple[CelType, Evaluator]:
        if not optional:
            compiled = self.compile(node)
            return compiled.type, compiled.evaluate
        compiled = self._expect(types.optional_of(DYN), node)
        parameters = compiled.type.parameters
        known = parameters and parameters[0] != DYN
        return (parameters[0] if known else OPEN), compiled.evaluate

    def _list(self, node: ListLiteral) -> Compiled:
        values = [
            self._element_value(element.value, optional=element.optional)
            for element in node.elements
        ]
        nodes = [element.value for element in node.elements]
        self._element_types[id(node)] = [part for part, _ in values]
        item = self._joined(list(zip([part for part, _ in values], nodes, strict=True)))
        evaluators = [evaluate for _, evaluate in values]
        if not any(element.optional for element in node.elements):
            return Compiled(
                types.list_of(item), lambda scope: [evaluate(scope) for evaluate in evaluators]
            )
        optional = [element.optional for element in node.elements]

        def evaluate_some(scope: Scope) -> list[Any]:
            found = zip([evaluate(scope) for evaluate in evaluators], optional, strict=True)
            return [
                value.value if is_optional else value
                for value, is_optional in found
                if not is_optional or value.present
            ]

        return Compiled(types.list_of(item), evaluate_some)

    def _map(self, node: MapLiteral) -> Compiled:
        keys = [self.compile(entry.key) for entry in node.entries]
        values = [
            self._element_value(entry.value, optional=entry.optional) for entry in node.entries
        ]
        key_nodes = [entry.key for entry in node.entries]
        value_nodes = [entry.value for entry in node.entries]
        key = self._joined(list(zip([part.type for part in keys], key_nodes, strict=True)))
        value = self._joined(list(zip([part for part, _ in values], value_nodes, strict=True)))
        entries = [
            (key_part.evaluate, value_part[1], entry.optional)
            for key_part, value_part, entry in zip(keys, values, node.entries, strict=True)
        ]
        return Compiled(types.map_of(key, value), lambda scope: build_map(entries, scope))

    def _within(self, names: dict[str, CelType], node: Node) -> Compiled:
        """Compile the body of a macro, which has more variables."""
        outer_variables, outer_declared = self._variables, self._declared
        self._variables = {**outer_variables, **names}
        self._declared = outer_declared - names.keys()
        try:
            return self.compile(node)
        finally:
            self._variables, self._declared = outer_variables, outer_declared

    def _object(self, node: ObjectLiteral) -> Compiled:
        name = node.type_name
        root = name.partition(".")[0]
        declared = self._objects.get(root)
        if root not in self._objects or (declared is not None and name != root):
            self._undeclared(name, node)
        made: list[tuple[str, Evaluator, bool]] = []
        for field in node.fields:
            if declared is not None and field.name not in declared:
                raise self._error(f"undefined field '{field.name}'", node)
            wanted = DYN if declared is None else declared[field.name]
            if field.optional:
                wanted = types.optional_of(wanted)
            made.append((field.name, self._expect(wanted, field.value).evaluate, field.optional))
        cel_type = CelType(name)

        def evaluate(scope: Scope) -> ObjectValue:
            values: dict[str, Any] = {}
            for field_name, value_of, optional in made:
                value = value_of(scope)
                if not optional:
                    values[field_name] = value
                elif isinstance(value, Optional) and value.present:
                    values[field_name] = value.value
            return ObjectValue(cel_type, values)

        return Compiled(cel_type, evaluate)

    def _comprehension(self, node: Comprehension) -> Compiled:
        ranged = self.compile(node.range)
        variables = self._loop_variables(ranged.type, node)
        condition = None
        if node.condition is not None:
            condition = self._within(variables, node.condition)
            if condition.type not in (BOOL, DYN):
                problem = f"expected type 'bool' but found '{condition.type}'"
                raise self._error(problem, node.condition)
        body = self._within(variables, node.body)
        if node.loop in _PREDICATES and body.type not in (BOOL, DYN):
            raise self._error(f"expected type 'bool' but found '{body.type}'", node.body)
        if node.loop is Loop.SORT_BY and body.type not in (*types.COMPARABLE, DYN):
            shown = f"{ranged.type}.(list({body.type}))"
            problem = f"found no matching overload for '@sortByAssociatedKeys' applied to '{shown}'"
            raise self._error(problem, node)
        return Compiled(
            self._loop_result(node.loop, ranged.type, variables, body.type),
            loop_evaluator(
                node.loop,
                node.variables,
                ranged.evaluate,
                body.evaluate,
                condition.evaluate if condition is not None else None,
            ),
        )

    def _loop_variables(self, ranged: CelType, node: Comprehension) -> dict[str, CelType]:
        first: CelType = DYN
        second: CelType = DYN
        if ranged.name == types.LIST_NAME:
            first, second = INT, ranged.parameters[0]
        elif ranged.name == types.MAP_NAME:
            first, second = ranged.parameters
        elif ranged != DYN:
            problem = (
                f"expression of type '{ranged}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)"
            )
            raise self._error(problem, node.range)
        if len(node.variables) == 2:
            return dict(zip(node.variables, (first, second), strict=True))
        return {node.variables[0]: second if ranged.name == types.LIST_NAME else first}

    def _loop_result(
        self, loop: Loop, ranged: CelType, variables: dict[str, CelType], body: CelType
    ) -> CelType:
        match loop:
            case Loop.ALL | Loop.EXISTS | Loop.EXISTS_ONE:
                return BOOL
            case Loop.FILTER:
                return types.list_of(next(iter(variables.values())))
            case Loop.MAP:
                return types.list_of(body)
            case Loop.TRANSFORM_MAP:
                return types.map_of(next(iter(variables.values())), body)
            case Loop.TRANSFORM_MAP_ENTRY | Loop.SORT_BY:
                return body if loop is Loop.TRANSFORM_MAP_ENTRY else ranged

    def _optional_map(self, node: OptionalMap) -> Compiled:
        target = self._expect(types.optional_of(DYN), node.target)
        parameters = target.type.parameters
        body = self._within({node.variable: parameters[0] if parameters else DYN}, node.body)
        result = body.type if node.flat else types.optional_of(body.type)
        get_target, get_body, variable, flat = (
            target.evaluate,
            body.evaluate,
            node.variable,
            node.flat,
        )

        def evaluate(scope: Scope) -> Any:
            optional = get_target(scope)
            if not isinstance(optional, Optional):
                raise NoSuchOverloadError("no such overload")
            if not optional.present:
                return ABSENT
            inner = scope.inner()
            inner.names[variable] = optional.value
            value = get_body(inner)
            return value if flat else Optional(value)

        return Compiled(result, evaluate)


_FOLDED = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
"""Functions that are called when the expression is compiled if their argument is constant."""
_PLANNED = frozenset({"find", "findAll"})
"""Functions whose literal arguments are checked last."""
_PREDICATES = frozenset({Loop.ALL, Loop.EXISTS, Loop.EXISTS_ONE, Loop.FILTER})


def _is_dynamic(cel_type: CelType) -> bool:
    return cel_type == DYN
