"""The expressions of a policy: their variables, and how they are compiled and evaluated.

A module of its own because importing CEL takes longer than the rest of the server.

Upstream: apiserver ``admission/plugin/cel``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.cel import (
    BOOL,
    DYN,
    STRING,
    Budget,
    CelCompileError,
    CelEvaluationError,
    CelType,
    Environment,
    Program,
)
from clientgo.testcluster.cel.compiler import ObjectFields
from clientgo.testcluster.cel.library.authorizers import AUTHORIZER, AuthorizerValue
from clientgo.testcluster.cel.scope import OBJECT_LIMIT
from clientgo.testcluster.cel.types import NULL, ObjectType, list_of
from clientgo.testcluster.server.admission.evaluation import CONDITIONS_LIMIT, Evaluation
from clientgo.testcluster.server.admission.expression_types import type_errors
from clientgo.testcluster.server.admission.input_types import NAMESPACE, REQUEST

_INPUTS: dict[str, CelType] = {
    "object": DYN,
    "oldObject": DYN,
    "request": REQUEST,
    "namespaceObject": NAMESPACE,
}
_PATCH_TYPES: dict[str, ObjectFields] = {
    "Object": None,
    "JSONPatch": {"op": STRING, "path": STRING, "from": STRING, "value": DYN},
}


BOOL_TYPE = (BOOL,)
TEXT_TYPE = (STRING,)
OBJECT_TYPE = (CelType("Object"),)
PATCHES_TYPE = (list_of(CelType("JSONPatch")),)
"""The types of the values that expressions of policies must have."""


class Inputs(msgspec.Struct, frozen=True):
    """The values of an evaluation; ``params`` is None without parameters."""

    obj: Any
    old: Any
    request: Mapping[str, Any]
    namespace: Any
    params: Any
    authorizer: AuthorizerValue


class PolicyExpressions:
    """The expressions of one policy. Immutable, except for what ``compile`` adds."""

    def __init__(self, spec: Mapping[str, Any], types: Mapping[str, CelType] | None = None) -> None:
        """Compile ``spec.variables``; each can use those before it.

        ``types`` are those of inputs that can't have any value.

        Raises:
            CelCompileError: a variable does not compile.
        """
        self._inputs: dict[str, CelType] = {**_INPUTS, **(types or {})}
        if spec.get("paramKind"):
            self._inputs["params"] = DYN
        self._variables: dict[str, Program] = {}
        for variable in spec.get("variables", ()):
            self.add_variable(variable["name"], variable["expression"])

    def add_variable(self, name: str, source: str) -> None:
        """Compile a variable that later expressions can use.

        Raises:
            CelCompileError: it does not compile.
        """
        self._variables[name] = self.compile(source)

    def compile(
        self, source: str, *, with_authorizer: bool = True, with_patches: bool = False
    ) -> Program:
        """Compile an expression.

        Raises:
            CelCompileError: it does not compile.
        """
        inputs = dict(self._inputs)
        if with_authorizer:
            inputs["authorizer"] = AUTHORIZER
        types = {name: program.result_type for name, program in self._variables.items()}
        inputs["variables"] = ObjectType("kubernetes.variables", fields=types)
        environment = Environment(inputs, _PATCH_TYPES if with_patches else None)
        return environment.compile(source)

    def errors(
        self, source: str, path: str, wanted: Sequence[CelType | None], **options: bool
    ) -> list[FieldError]:
        """Return the errors of an expression at a path; ``wanted`` are types of its value.

        None stands for null; no types for any. The options are those of ``compile``.
        """
        if not source.strip():
            return [FieldError.required(path, "expression is not specified")]
        try:
            found = self.compile(source, **options).result_type
        except CelCompileError as error:
            return [FieldError.invalid(path, source, f"compilation failed: {error}")]
        types = [NULL if item is None else item for item in wanted]
        return type_errors(source, path, types, found) if types else []

    def evaluation(self, inputs: Inputs, budget: Budget | None = None) -> Evaluation:
        """Return the evaluation of expressions for a write; a variable is evaluated once in it.

        The budget is for all of them and the variables that they use.
        """
        budget = budget or Budget(OBJECT_LIMIT)
        values = {
            "object": inputs.obj,
            "oldObject": inputs.old,
            "request": inputs.request,
            "namespaceObject": inputs.namespace,
            "params": inputs.params,
            "authorizer": inputs.authorizer,
        }
        values["variables"] = _LazyVariables(self._variables, values, budget)
        return Evaluation(values, budget)


class _LazyVariables(dict[str, Any]):
    """The variables of a policy; each is evaluated when it is first used."""

    cel_type = DYN

    def __init__(
        self, programs: Mapping[str, Program], values: Mapping[str, Any], budget: Budget
    ) -> None:
        super().__init__()
        self._programs = programs
        self._values = values
        self._budget = budget

    def __missing__(self, name: str) -> Any:
        try:
            value = self._programs[name].evaluate_within(self._values, self._budget)
        except CelEvaluationError as error:
            problem = f'composited variable "{name}" fails to evaluate: {error}'
            raise CelEvaluationError(problem) from error
        self[name] = value
        return value


class Conditions:
    """The ``matchConditions`` of a policy, all of which must hold."""

    def __init__(
        self, expressions: PolicyExpressions, conditions: Sequence[Mapping[str, str]]
    ) -> None:
        """Compile the conditions.

        Raises:
            CelCompileError: one does not compile.
        """
        self._expressions = expressions
        self._programs = [expressions.compile(item["expression"]) for item in conditions]

    def hold(self, inputs: Inputs) -> bool:
        """Return True if every condition holds.

        Raises:
            ExpressionError: one could not be evaluated, and none is false; or they cost too much.
        """
        evaluation = self._expressions.evaluation(inputs, Budget(CONDITIONS_LIMIT))
        return evaluation.all_hold(self._programs)
