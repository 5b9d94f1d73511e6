"""Validation rules in CEL (``x-kubernetes-validations``): compile once, evaluate for each object.

Promises: `compile_rules` compiles the rules of a schema, or returns the causes of those that do
not compile. `RuleNode.validate` returns the causes of the rules that an object breaks. Transition
rules (with ``oldSelf``) run where the old value is known: at fields, map entries and items of
list maps. A broken rule on an unchanged part of an update is a warning.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clientgo.meta.json_values import json_equal
from clientgo.meta.validation import field_path
from clientgo.meta.validation.field_errors import OMITTED, FieldError, FieldErrorReason, Verbatim
from clientgo.testcluster.cel import (
    BOOL,
    Budget,
    BudgetExceededError,
    CelCompileError,
    CelEvaluationError,
    Environment,
    NoSuchOverloadError,
    Program,
    optional_of,
)
from clientgo.testcluster.cel.environment import Checked
from clientgo.testcluster.cel.scope import OBJECT_LIMIT
from clientgo.testcluster.cel.types import STRING
from clientgo.testcluster.cel.values import ABSENT, Optional
from clientgo.testcluster.schema.json_schema import JSONSchema, ValidationRule
from clientgo.testcluster.schema.json_value import MISSING
from clientgo.testcluster.schema.rules import rule_path
from clientgo.testcluster.schema.rules.rule_costs import RuleCosts, places_below
from clientgo.testcluster.schema.rules.schema_types import Converter, declare, fit
from clientgo.testcluster.schema.values.list_types import OldItems
from clientgo.util.text import go_format

_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_MAX_MESSAGE_BYTES = 5 * 1024

Warn = Callable[[str], None]
"""Called with a warning for the client that sent the object."""


class _OutOfBudgetError(Exception):
    """The rules for an object cost more than its budget."""

    def __init__(self, cause: FieldError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True, slots=True)
class _Rule:
    """One compiled rule."""

    source: ValidationRule
    program: Program
    message: Program | None
    field_path: str

    @property
    def uses_old_self(self) -> bool:
        return "oldSelf" in self.program.variables

    @property
    def has_optional_old_self(self) -> bool:
        return bool(self.source.optional_old_self)

    @property
    def description(self) -> str:
        """The name of the rule in errors."""
        return (self.source.message or self.source.rule).strip()


@dataclass(slots=True)
class RuleNode:
    """The rules of a schema node and of the nodes below. Not changed once compiled."""

    schema: JSONSchema
    convert: Converter
    rules: list[_Rule] = field(default_factory=list)
    properties: dict[str, RuleNode] = field(default_factory=dict)
    values: RuleNode | None = None
    items: RuleNode | None = None

    @property
    def is_empty(self) -> bool:
        """True if there is no rule at this node or below."""
        return not (self.rules or self.properties or self.values or self.items)

    def validate(
        self, value: Any, old: Any, path: str, warn: Warn, *, parent_unchanged: bool = False
    ) -> list[FieldError]:
        """Return the causes of the rules that `value` breaks; `old` is MISSING if not known."""
        errors: list[FieldError] = []
        budget = Budget(OBJECT_LIMIT)
        try:
            self._validate(value, old, path, errors, warn, parent_unchanged, budget)
        except _OutOfBudgetError as error:
            errors.append(error.cause)
        return errors

    def _validate(
        self,
        value: Any,
        old: Any,
        path: str,
        errors: list[FieldError],
        warn: Warn,
        parent_unchanged: bool,
        budget: Budget,
    ) -> None:
        if value is None:
            return
        unchanged = json_equal(value, old) if old is not MISSING else parent_unchanged
        if self.rules:
            self._check_rules(value, old, path, errors, warn if unchanged else None, budget)
        if isinstance(value, dict):
            old_members = old if isinstance(old, dict) else {}
            for name, member in value.items():
                node, member_path = self.properties.get(name), field_path.child(path, name)
                if node is None and self.values is not None:
                    node, member_path = self.values, field_path.key(path, name)
                if node is not None:
                    old_member = old_members.get(name, MISSING)
                    node._validate(member, old_member, member_path, errors, warn, unchanged, budget)
        elif isinstance(value, list) and self.items is not None:
            old_items = OldItems(old, self.schema)
            for position, item in enumerate(value):
                item_path = field_path.index(path, position)
                old_item = old_items.find(item)
                self.items._validate(item, old_item, item_path, errors, warn, unchanged, budget)

    def _check_rules(
        self,
        value: Any,
        old: Any,
        path: str,
        errors: list[FieldError],
        warn: Warn | None,
        budget: Budget,
    ) -> None:
        """Evaluate the rules of this node; with `warn`, a broken rule is a warning only."""
        has_old = old is not MISSING and old is not None
        try:
            new_self = self.convert(value)
            old_self = self.convert(old) if has_old else None
        except CelEvaluationError as error:
            errors.append(FieldError.invalid(path, self.schema.type or "", str(error)))
            return
        for rule in self.rules:
            if rule.uses_old_self and not has_old and not rule.has_optional_old_self:
                continue
            variables = {"self": new_self, "oldSelf": old_self}
            if rule.has_optional_old_self:
                variables["oldSelf"] = Optional(old_self) if has_old else ABSENT
            if budget.left < 0:
                cause = FieldError.invalid(path, self.schema.type or "", _OUT_OF_BUDGET)
                raise _OutOfBudgetError(cause)
            try:
                fit(new_self)
                if rule.uses_old_self:
                    fit(old_self)
                if rule.program.evaluate_within(variables, budget) is True:
                    continue
            except BudgetExceededError as error:
                detail = (
                    f"'{error}': no further validation rules will be run due to call cost exceeds "
                    f"limit for rule: {rule.description}"
                )
                errors.append(FieldError.invalid(path, self.schema.type or "", detail))
                return
            except CelEvaluationError as error:
                detail = _failure(error, rule)
                errors.append(FieldError.invalid(path, self.schema.type or "", detail))
                continue
            broken = self._broken(rule, value, variables, path, budget)
            if warn is not None and not rule.uses_old_self:
                warn(str(broken))
            else:
                errors.append(broken)

    def _broken(
        self, rule: _Rule, value: Any, variables: Mapping[str, Any], path: str, budget: Budget
    ) -> FieldError:
        where = field_path.child(path, rule.field_path) if rule.field_path else path
        detail = _evaluated_message(rule, variables, budget) or (
            rule.source.message.strip() or f"failed rule: {rule.description}"
        )
        shown = OMITTED if self.schema.type in ("object", "array") else value
        match rule.source.reason:
            case FieldErrorReason.FORBIDDEN:
                return FieldError.forbidden(where, detail)
            case FieldErrorReason.REQUIRED:
                return FieldError.required(where, detail)
            case FieldErrorReason.DUPLICATE:
                return FieldError.duplicate(where, shown)
        return FieldError.invalid(where, shown, detail)


def _failure(error: CelEvaluationError, rule: _Rule) -> str:
    if isinstance(error, NoSuchOverloadError):
        return (
            f"'{error}': call arguments did not match a supported operator, function or macro "
            f"signature for rule: {rule.description}"
        )
    return f"{error} evaluating rule: {rule.description}"


def _evaluated_message(rule: _Rule, variables: Mapping[str, Any], budget: Budget) -> str | None:
    """Return the value of the message expression, or None if it fails or is not usable."""
    if rule.message is None:
        return None
    try:
        message = rule.message.evaluate_within(variables, budget)
    except CelEvaluationError:
        return None
    if not isinstance(message, str):
        return None
    message = message.strip()
    usable = len(message.encode()) <= _MAX_MESSAGE_BYTES and "\n" not in message
    return message if usable else None


def compile_rules(
    root: JSONSchema, path: str, errors_at: Collection[str] = ()
) -> tuple[RuleNode | None, list[FieldError]]:
    """Compile all rules of the schema of a resource, found at `path`.

    Rules of a node are skipped if there is a path of `errors_at` at the node or below.

    Returns the tree of rules, None if there are none, and the causes for those that do not compile.
    """
    errors: list[FieldError] = []
    costs = RuleCosts()
    place = _Place(path, errors_at, is_resource=True, uncorrelated=None, places=1)
    node = _compile_node(root, place, costs, errors)
    return node, errors + costs.errors(path)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node of the schema is."""

    path: str
    errors_at: Collection[str]
    """Paths of errors in the schema."""
    is_resource: bool
    uncorrelated: str | None
    """The path of the list below which no old value is known."""
    places: int | None
    """The greatest number of its values in an object; None if the schema has no limit."""

    def below(self, path: str, outer: JSONSchema, inner: JSONSchema) -> _Place:
        """Return the place of a node directly below."""
        return replace(
            self,
            path=path,
            is_resource=inner.embedded_resource,
            places=places_below(outer, self.places),
        )

    @property
    def has_errors(self) -> bool:
        """True if there is an error at this node or below."""
        return any(
            error_at == self.path or error_at.startswith((f"{self.path}.", f"{self.path}["))
            for error_at in self.errors_at
        )


def _compile_node(
    schema: JSONSchema, place: _Place, costs: RuleCosts, errors: list[FieldError]
) -> RuleNode | None:
    node = RuleNode(schema, convert=lambda value: value)
    path = place.path
    for name, member in schema.properties.items():
        below = place.below(field_path.key(f"{path}.properties", name), schema, member)
        compiled = _compile_node(member, below, costs, errors)
        if compiled is not None:
            node.properties[name] = compiled
    if (values := schema.value_schema) is not None:
        below = place.below(f"{path}.additionalProperties", schema, values)
        node.values = _compile_node(values, below, costs, errors)
    if (items := schema.item_schema) is not None:
        below = place.below(f"{path}.items", schema, items)
        if below.uncorrelated is None and schema.list_type != "map":
            below = replace(below, uncorrelated=path)
        node.items = _compile_node(items, below, costs, errors)
    if schema.validations and not place.has_errors:
        _compile_own(node, place, costs, errors)
    return None if node.is_empty else node


def _compile_own(node: RuleNode, place: _Place, costs: RuleCosts, errors: list[FieldError]) -> None:
    where = f"{place.path}.x-kubernetes-validations"
    declared = declare(node.schema, is_resource=place.is_resource)
    if declared is None:
        detail = "failed to retrieve type information for x-kubernetes-validations"
        errors.append(FieldError.internal(where, detail))
        return
    node.convert = declared.convert
    plain = Environment({"self": declared.type, "oldSelf": declared.type})
    optional = Environment({"self": declared.type, "oldSelf": optional_of(declared.type)})
    for position, source in enumerate(node.schema.validations):
        environment = optional if source.optional_old_self else plain
        rule_at = field_path.index(where, position)
        compiled = _compile_rule(source, node.schema, environment, rule_at, errors)
        rule = None
        if compiled is not None:
            rule, checked, message = compiled
            errors += costs.add(
                checked,
                message,
                node.schema,
                rule_at,
                is_resource=place.is_resource,
                places=place.places,
            )
            node.rules.append(rule)
        errors += _misused_old_self(source, rule, rule_at, place.uncorrelated)


def _compile_rule(
    source: ValidationRule,
    schema: JSONSchema,
    environment: Environment,
    path: str,
    errors: list[FieldError],
) -> tuple[_Rule, Checked, Checked | None] | None:
    """Return a rule with its syntax, and that of its message expression; None if it is wrong."""
    try:
        program, checked = environment.check(source.rule)
    except CelCompileError as error:
        detail = f"{error.stage}: {error}"
        errors.append(FieldError.invalid(f"{path}.rule", _shown(source), detail))
        return None
    if program.result_type != BOOL:
        detail = "cel expression must evaluate to a bool"
        errors.append(FieldError.invalid(f"{path}.rule", _shown(source), detail))
        return None
    message = checked_message = None
    if source.message_expression:
        try:
            message, checked_message = environment.check(source.message_expression)
        except CelCompileError as error:
            detail = f"messageExpression {error.stage}: {error}"
            where = f"{path}.messageExpression"
            errors.append(FieldError.invalid(where, _shown(source), detail))
            return None
        if message.result_type != STRING:
            detail = "messageExpression must evaluate to a string"
            where = f"{path}.messageExpression"
            errors.append(FieldError.invalid(where, _shown(source), detail))
            return None
    where = rule_path.resolve(source.field_path, schema) if source.field_path else ""
    return _Rule(source, program, message, where), checked, checked_message


def _misused_old_self(
    source: ValidationRule, rule: _Rule | None, path: str, uncorrelated: str | None
) -> list[FieldError]:
    """Check the use of ``oldSelf``. A rule that does not compile does not use it."""
    uses_old_self = rule is not None and rule.uses_old_self
    if uses_old_self and uncorrelated is not None:
        detail = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{uncorrelated}"
        )
        return [FieldError.invalid(f"{path}.rule", source.rule, detail)]
    if not uses_old_self and source.optional_old_self is not None:
        detail = "may not be set if oldSelf is not used in rule"
        where = f"{path}.optionalOldSelf"
        return [FieldError.invalid(where, source.optional_old_self, detail)]
    return []


def _shown(rule: ValidationRule) -> Verbatim:
    """Return a rule as an API server shows it: its internal form, in order of declaration."""
    fields = {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self,
    }
    return Verbatim(go_format.compact_json(fields, sort_keys=False))
