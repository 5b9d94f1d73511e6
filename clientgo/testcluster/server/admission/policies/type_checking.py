"""Type checking of validating policies: do expressions fit the kinds that their policy matches?

Promises: for each kind that the rules of a policy name without ``*``, up to ten of a rule, each
expression of its validations is compiled with the type of the kind, and what does not compile is a
warning. Policies behave the same with and without warnings.

Does not promise more than the first problem of an expression for a kind. A field without a type in
the schema, a quantity for example, can be used as any type.

Upstream: apiserver ``admission/plugin/policy/validating/typechecking.go``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clientgo.testcluster.cel import BOOL, DYN, STRING, CelCompileError, CelType
from clientgo.testcluster.cel.types import (
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    TIMESTAMP,
    ObjectType,
    list_of,
    map_of,
)
from clientgo.testcluster.schema.openapi import Definitions, OpenAPIType, builtin_type
from clientgo.testcluster.schema.rules.schema_types import escape
from clientgo.testcluster.server.admission.policies.expressions import PolicyExpressions
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object, Storage

_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
_MOST_KINDS = 10
"""Kinds that one rule can add."""


class CheckedKind(NamedTuple):
    """A kind whose type expressions are compiled with."""

    api_version: str
    name: str
    schema: Mapping[str, Any] | None
    """Of custom resources."""


class Kinds(NamedTuple):
    """The kinds that a policy matches, and that of its parameters."""

    matched: list[CheckedKind]
    params: CheckedKind | None


class _CircularTypeError(ValueError):
    """A type contains itself, so that it has no declaration."""


def kinds_of(spec: Mapping[str, Any], storage: Storage, registry: ResourceRegistry) -> Kinds:
    """Return the kinds of a policy. On the event loop only, as storage and registry are."""
    params, named = None, spec.get("paramKind") or {}
    for resource in registry if named else ():
        if (resource.api_version, resource.kind) == (named["apiVersion"], named["kind"]):
            params = _kind(resource, storage)
    return Kinds([_kind(resource, storage) for resource in _matched(spec, registry)], params)


def expression_warnings(spec: Mapping[str, Any], kinds: Kinds) -> list[Object]:
    """Return the warnings about the expressions of a policy, as its status shows them."""
    inputs = {}
    if spec.get("paramKind"):
        inputs["params"] = (_declared(kinds.params) if kinds.params else None) or DYN
    checks = [
        (kind, _expressions(spec, inputs | {"object": declared, "oldObject": declared}))
        for kind in kinds.matched
        if (declared := _declared(kind)) is not None
    ]
    warnings = []
    for path, source in _sources(spec):
        problems = [
            f"{_shown(kind)}: {problem}\n"
            for kind, expressions in checks
            if (problem := _problem(expressions, source))
        ]
        if problems:
            warnings.append({"fieldRef": path, "warning": "\n".join(problems)})
    return warnings


def _shown(kind: CheckedKind) -> str:
    """Return a kind as Go prints it: the core group is empty."""
    version = kind.api_version if "/" in kind.api_version else f"/{kind.api_version}"
    return f"{version}, Kind={kind.name}"


def _sources(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the expressions that are checked, with their paths."""
    for index, validation in enumerate(spec.get("validations", ())):
        for field in ("expression", "messageExpression"):
            if source := validation.get(field, ""):
                yield f"spec.validations[{index}].{field}", source


def _problem(expressions: PolicyExpressions, source: str) -> str:
    try:
        expressions.compile(source)
    except CelCompileError as error:
        return str(error)
    return ""


def _expressions(spec: Mapping[str, Any], inputs: Mapping[str, CelType]) -> PolicyExpressions:
    """Return the expressions of a policy for one kind; a variable with a problem has any type."""
    expressions = PolicyExpressions({}, inputs)
    for variable in spec.get("variables", ()):
        try:
            expressions.add_variable(variable["name"], variable["expression"])
        except CelCompileError:
            expressions.add_variable(variable["name"], "dyn(null)")
    return expressions


# -- kinds


def _matched(spec: Mapping[str, Any], registry: ResourceRegistry) -> list[Resource]:
    """Return the resources that the rules of a policy name, by group, version and kind."""
    found: dict[tuple[str, str, str], Resource] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules", ()):
        groups, versions = sorted(rule["apiGroups"]), sorted(rule["apiVersions"])
        if any("*" in name for name in (*groups, *versions)):
            continue
        plurals = sorted(name for name in rule["resources"] if not {"*", "/"} & set(name))
        named = (
            resource
            for group in groups
            for version in versions
            for plural in plurals
            if (resource := registry.find(group, version, plural)) is not None
        )
        for _, resource in zip(range(_MOST_KINDS), named, strict=False):
            found[resource.group, resource.version, resource.kind] = resource
    return [found[key] for key in sorted(found)]


def _kind(resource: Resource, storage: Storage) -> CheckedKind:
    schema: Mapping[str, Any] | None = None
    stored = storage.collection(_DEFINITIONS).get(f"{resource.plural}.{resource.group}")
    if resource.is_custom and stored is not None:
        for version in stored.decode()["spec"]["versions"]:
            if version["name"] == resource.version:
                schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return CheckedKind(resource.api_version, resource.kind, schema)


def _declared(kind: CheckedKind) -> CelType | None:
    """Return the type of the objects of a kind; None if it contains itself."""
    if kind.schema is None:
        return _builtin(kind.api_version, kind.name)
    return _type_of(OpenAPIType(kind.schema, Definitions({})), kind.name, is_resource=True)


@functools.cache
def _builtin(api_version: str, kind: str) -> CelType | None:
    openapi_type = builtin_type(api_version, kind)
    try:
        return _type_of(openapi_type, kind) if openapi_type is not None else None
    except _CircularTypeError:
        return None


# -- types

_TEXTS = {
    "byte": BYTES,
    "date": TIMESTAMP,
    "date-time": TIMESTAMP,
    "duration": DURATION,
}
_ANY = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
"""What says that a value may have any type."""
_SCALARS = {"boolean": BOOL, "number": DOUBLE, "integer": INT}


def _type_of(
    schema: OpenAPIType,
    name: str,
    above: frozenset[str] = frozenset(),
    *,
    is_resource: bool = False,
) -> CelType:
    """Return the type of values of a schema; ``name`` is what messages call an object.

    Raises:
        _CircularTypeError: the schema contains itself.
    """
    if schema.name in above:
        raise _CircularTypeError(schema.name)
    node = schema.node
    if node.get("format") == "int-or-string" or any(node.get(flag) for flag in _ANY):
        return DYN
    above = above | {schema.name} if schema.name else above
    match schema.type:
        case "array":
            return list_of(_type_of(schema.items, name, above) if schema.items else DYN)
        case "object" if schema.values is not None:
            return map_of(STRING, _type_of(schema.values, name, above))
        case "object":
            fields = dict(_fields(schema, name, above))
            if is_resource or node.get("x-kubernetes-embedded-resource"):
                fields |= _header()
            return ObjectType(name, fields=fields)
        case "string":
            return _TEXTS.get(node.get("format", ""), STRING)
    return _SCALARS.get(schema.type, DYN)


def _fields(schema: OpenAPIType, name: str, above: frozenset[str]) -> Iterator[tuple[str, CelType]]:
    """Yield the types of the fields of an object by the names that expressions can write."""
    for field in schema.field_names:
        declared = schema.field(field)
        if declared is not None:
            field_type = _type_of(declared, f"{name}.{field}", above)
            for written in {field, escape(field) or field}:
                yield written, field_type


def _header() -> Mapping[str, CelType]:
    """Return the types of the fields that each object has."""
    pod = _builtin("v1", "Pod")
    if not isinstance(pod, ObjectType) or pod.fields is None:
        raise LookupError("pods are built in")
    return {name: pod.fields[name] for name in ("apiVersion", "kind", "metadata")}
