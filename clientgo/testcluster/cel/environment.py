"""Compile expressions for declared variables.

Promises: an `Environment` and a `Program` are immutable and safe for any number of threads. A
program does not change the values that it is given.

Does not promise: that values have the declared types. The caller converts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.testcluster.cel.compiler import Compiler, ObjectFields
from clientgo.testcluster.cel.errors import BudgetExceededError, CelCompileError
from clientgo.testcluster.cel.evaluators import Evaluator
from clientgo.testcluster.cel.library import standard_library
from clientgo.testcluster.cel.scope import EVALUATION_LIMIT, Budget, Scope
from clientgo.testcluster.cel.syntax.nodes import Node
from clientgo.testcluster.cel.syntax.parser import parse
from clientgo.testcluster.cel.types import CelType
from clientgo.util.copies import unpicklable
from clientgo.util.process import current_cpu_time_limit


@unpicklable("it holds compiled functions; compile its source in each process")
@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression, with the type of its value and the variables that it uses."""

    source: str
    result_type: CelType
    variables: frozenset[str]
    _evaluate: Evaluator

    def evaluate(self, values: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """Return the value of the expression for these values of its variables.

        The cost is taken from the budget. The default is the limit of one evaluation.

        Raises:
            CelEvaluationError: the expression has no value, or the budget is too small.
        """
        try:
            return self._evaluate(Scope(values, budget or Budget()))
        except RecursionError:
            raise BudgetExceededError("expression is nested too deeply to be evaluated") from None

    def evaluate_within(self, values: Mapping[str, Any], total: Budget) -> Any:
        """Evaluate with the limit of one evaluation, and take the cost from another budget too.

        What is left of that may be negative afterwards.

        Raises:
            CelEvaluationError: the expression has no value, or costs more than its limit.
        """
        own = Budget(EVALUATION_LIMIT)
        try:
            return self.evaluate(values, own)
        finally:
            total.charge(EVALUATION_LIMIT - own.left)


@dataclass(frozen=True, slots=True)
class Checked:
    """The syntax of an expression that compiles, with the types of its nodes."""

    node: Node
    types: Mapping[int, CelType]
    """By the id of the node. Names of functions and types are no nodes with a type."""


class Environment:
    """The declared variables of expressions, with the library of Kubernetes."""

    __slots__ = ("_objects", "_variables")

    def __init__(
        self,
        variables: Mapping[str, CelType],
        objects: Mapping[str, ObjectFields] | None = None,
    ) -> None:
        """Declare variables, and the objects that expressions can make: ``JSONPatch{op: "add"}``.

        An object without declared fields has any, and parts (``Object.spec{}``).
        """
        self._variables = dict(variables)
        self._objects = dict(objects or {})

    def compile(self, source: str) -> Program:
        """Compile an expression.

        Raises:
            CelCompileError: it is malformed, uses an unknown name, or its types do not fit.
        """
        return self.check(source)[0]

    def check(self, source: str) -> tuple[Program, Checked]:
        """Compile an expression, and return its types too, for an estimate of its cost.

        Raises:
            CelCompileError: it is malformed, uses an unknown name, or its types do not fit.
        """
        if (limit := current_cpu_time_limit()) is not None:
            limit.check()
        compiler = Compiler(source, self._variables, standard_library(), self._objects)
        try:
            node = parse(source)
            compiled = compiler.compile_whole(node)
        except RecursionError:
            raise CelCompileError("expression recursion limit exceeded", source, 0) from None
        program = Program(source, compiled.type, frozenset(compiler.used), compiled.evaluate)
        return program, Checked(node, compiler.types)
