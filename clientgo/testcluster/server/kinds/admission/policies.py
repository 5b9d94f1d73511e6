"""Admission policies and their bindings: defaults and validation.

Promises: an expression that does not compile, or whose value can't have the needed type, is refused
when its policy is stored.

Does not promise estimates of costs. Expressions are checked against the schemas of the matched
resources after a policy was stored, see ``admission.policies.type_checking``.

Upstream: ``pkg/apis/admissionregistration``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clientgo.meta.validation.duplicates import duplicates
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.admission.conditions import condition_errors, unique_name
from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy, StatusStrategy
from clientgo.testcluster.server.resources.names import (
    DNS_1035_LABEL,
    DNS_SUBDOMAIN,
    PATH_SEGMENT,
)
from clientgo.testcluster.server.storage.storage import Object

if TYPE_CHECKING:
    from clientgo.testcluster.server.admission.policies.expressions import PolicyExpressions

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_MOST_ANNOTATIONS = 20
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE_BREAK = re.compile(r"[\n\r]")


class ValidatingPolicyStrategy(StatusStrategy):
    """ValidatingAdmissionPolicies."""

    def default(self, obj: Object) -> None:
        """Set the failure policy."""
        _default_policy(obj)

    def own_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors of constraints and expressions."""
        return list(_policy_errors(obj, _validation_errors))


class MutatingPolicyStrategy(BuiltinStrategy):
    """MutatingAdmissionPolicies."""

    def default(self, obj: Object) -> None:
        """Set the failure policy."""
        _default_policy(obj)

    def own_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors of constraints and expressions."""
        return list(_policy_errors(obj, _mutation_errors))


class PolicyBindingStrategy(BuiltinStrategy):
    """Bindings of both kinds of policies."""

    def own_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors of the binding."""
        return list(_binding_errors(obj, self.kind))


def _default_policy(obj: Object) -> None:
    if (spec := obj.get("spec")) is not None:
        spec.setdefault("failurePolicy", "Fail")


# -- policies


def _policy_errors(
    obj: Object,
    rest: Callable[[Object, PolicyExpressions], Iterator[FieldError]],
) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    yield from _choice(spec.get("failurePolicy"), ("Fail", "Ignore"), "spec.failurePolicy")
    if (kind := spec.get("paramKind")) is not None:
        yield from _kind_errors(kind, "spec.paramKind")
    if (constraints := spec.get("matchConstraints")) is None:
        yield FieldError.required("spec.matchConstraints")
    elif not constraints.get("resourceRules"):
        yield FieldError.required("spec.matchConstraints.resourceRules")
    # loads CEL
    from clientgo.testcluster.server.admission.policies.expressions import (
        BOOL_TYPE,
        PolicyExpressions,
    )

    expressions = PolicyExpressions({"paramKind": spec.get("paramKind")})
    yield from condition_errors(
        spec.get("matchConditions", ()),
        "spec.matchConditions",
        lambda source, path: expressions.errors(source, path, BOOL_TYPE),
    )
    for index, variable in enumerate(spec.get("variables", ())):
        path, name = f"spec.variables[{index}]", variable.get("name", "")
        if not name.strip():
            yield FieldError.required(f"{path}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            yield FieldError.invalid(f"{path}.name", name, "name is not a valid CEL identifier")
        source = variable.get("expression", "")
        if errors := expressions.errors(source, f"{path}.expression", ()):
            yield from errors
        else:
            expressions.add_variable(name, source)
    yield from rest(obj, expressions)


def _validation_errors(obj: Object, expressions: PolicyExpressions) -> Iterator[FieldError]:
    from clientgo.testcluster.server.admission.policies.expressions import BOOL_TYPE, TEXT_TYPE

    spec = obj.get("spec") or {}
    validations, annotations = spec.get("validations", ()), spec.get("auditAnnotations", ())
    if not validations and not annotations:
        detail = "validations or auditAnnotations must contain at least one item"
        yield FieldError.required("spec.validations", detail)
        yield FieldError.required("spec.auditAnnotations", detail)
    for index, validation in enumerate(validations):
        path = f"spec.validations[{index}]"
        source = validation.get("expression", "")
        yield from expressions.errors(source, f"{path}.expression", BOOL_TYPE)
        yield from _message_errors(validation, path)
        if text := validation.get("messageExpression", ""):
            where = f"{path}.messageExpression"
            if text.strip():
                yield from expressions.errors(text, where, TEXT_TYPE, with_authorizer=False)
            else:
                yield FieldError.invalid(where, text, "must be non-empty if specified")
        if (reason := validation.get("reason")) is not None and reason not in _REASONS:
            yield FieldError.not_supported(f"{path}.reason", reason, _REASONS)
    if len(annotations) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield FieldError.invalid("spec.auditAnnotations", annotations, detail)
    keys: set[str] = set()
    prefix = f"{obj['metadata'].get('name', '')}/"
    for index, annotation in enumerate(annotations):
        path = f"spec.auditAnnotations[{index}]"
        yield from unique_name(annotation.get("key", ""), f"{path}.key", keys, prefix)
        source = annotation.get("valueExpression", "")
        yield from expressions.errors(source, f"{path}.valueExpression", (*TEXT_TYPE, None))


def _message_errors(validation: Object, path: str) -> Iterator[FieldError]:
    message = validation.get("message", "")
    if message and not message.strip():
        yield FieldError.invalid(
            f"{path}.message", message, "message must be non-empty if specified"
        )
    elif _LINE_BREAK.search(message.strip()):
        yield FieldError.invalid(f"{path}.message", message, "message must not contain line breaks")


_PARTS = (("JSONPatch", "jsonPatch"), ("ApplyConfiguration", "applyConfiguration"))


def _mutation_errors(obj: Object, expressions: PolicyExpressions) -> Iterator[FieldError]:
    from clientgo.testcluster.server.admission.policies.expressions import OBJECT_TYPE, PATCHES_TYPE

    spec = obj.get("spec") or {}
    policies = ("IfNeeded", "Never")
    yield from _choice(spec.get("reinvocationPolicy"), policies, "spec.reinvocationPolicy")
    if not spec.get("mutations"):
        detail = "mutations must contain at least one item"
        yield FieldError.required("spec.mutations", detail)
    for index, mutation in enumerate(spec.get("mutations", ())):
        path, kind = f"spec.mutations[{index}]", mutation.get("patchType")
        if errors := _choice(kind, ("ApplyConfiguration", "JSONPatch"), f"{path}.patchType"):
            yield from errors
            continue
        for name, part in _PARTS:
            where = f"{path}.{part}"
            if name != kind and mutation.get(part) is not None:
                yield FieldError.forbidden(where, f"must not be specified when patchType is {kind}")
            elif name == kind and mutation.get(part) is None:
                yield FieldError.required(where, f"must be specified when patchType is {kind}")
            elif name == kind:
                source = mutation[part].get("expression", "")
                wanted = PATCHES_TYPE if kind == "JSONPatch" else OBJECT_TYPE
                where = f"{where}.expression"
                yield from expressions.errors(source, where, wanted, with_patches=True)


# -- bindings


def _binding_errors(obj: Object, kind: str) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    name = spec.get("policyName", "")
    if not name:
        yield FieldError.required("spec.policyName")
    elif problems := DNS_SUBDOMAIN.problems(name):
        yield from (FieldError.invalid("spec.policyName", name, problem) for problem in problems)
    if (reference := spec.get("paramRef")) is not None:
        yield from _reference_errors(reference, "spec.paramRef")
    if kind == "ValidatingAdmissionPolicyBinding":
        yield from _action_errors(spec.get("validationActions", ()), "spec.validationActions")


def _reference_errors(reference: Object, path: str) -> Iterator[FieldError]:
    name, selector = reference.get("name"), reference.get("selector")
    if name and selector is not None:
        detail = "name and selector are mutually exclusive"
        yield FieldError.forbidden(f"{path}.name", detail)
        yield FieldError.forbidden(f"{path}.selector", detail)
    elif name:
        for problem in PATH_SEGMENT.problems(name):
            yield FieldError.invalid(f"{path}.name", name, problem)
    elif selector is None:
        yield FieldError.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    yield from _choice(action, ("Allow", "Deny"), f"{path}.parameterNotFoundAction")


def _action_errors(actions: Sequence[str], path: str) -> Iterator[FieldError]:
    repeated = duplicates(actions)
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield FieldError.not_supported(f"{path}[{index}]", action, _ACTIONS)
        if index in repeated:
            yield FieldError.duplicate(f"{path}[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)"
        )
        yield FieldError.invalid(path, actions, detail)
    if not actions:
        yield FieldError.required(path, "at least one validation action is required")


# -- parts of both


def _choice(value: str | None, supported: Sequence[str], path: str) -> list[FieldError]:
    if not value:
        return [FieldError.required(path)]
    return [] if value in supported else [FieldError.not_supported(path, value, supported)]


def _kind_errors(kind: Object, path: str) -> Iterator[FieldError]:
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    if not version:
        yield FieldError.required(f"{path}.apiVersion")
    elif version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {version}"
        yield FieldError.invalid(f"{path}.apiVersion", version, detail)
    elif problems := DNS_1035_LABEL.problems(short := version.rpartition("/")[2]):
        yield FieldError.invalid(f"{path}.apiVersion", short, ",".join(problems))
    if not name:
        yield FieldError.required(f"{path}.kind")
    elif problems := DNS_1035_LABEL.problems(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield FieldError.invalid(f"{path}.kind", name, detail)
