"""The status of a validating policy shows what does not fit the kinds that it matches."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.admission.policies.type_checking import (
    CheckedKind,
    Kinds,
    expression_warnings,
)
from tests.testcluster.server.http_api import Api

Object = dict[str, Any]

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DEPLOYMENT = CheckedKind("apps/v1", "Deployment", None)
SPEC = "object.spec.template.spec"


def policy(*expressions: str, rules: list[Object] | None = None, **spec: Any) -> Object:
    rules = rules or [rule()]
    return {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": expression} for expression in expressions],
            **spec,
        },
    }


def rule(group: str = "apps", version: str = "v1", *plurals: str) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": list(plurals or ("deployments",)),
        "operations": ["CREATE"],
    }


def status_of(api: Api, generation: int = 1) -> Object:
    """Return the status for a generation of the policy."""
    watch = api.watch(POLICIES, resourceVersion="0")
    statuses = (event["object"].get("status") or {} for event in watch)
    found = next(item for item in statuses if item.get("observedGeneration") == generation)
    watch.close()
    return found


def warned(api: Api, obj: Object) -> dict[str, list[str]]:
    """Store a policy; return the first line of each problem by the field that has it."""
    api.create(POLICIES, obj)
    warnings = status_of(api)["typeChecking"].get("expressionWarnings", ())
    return {
        item["fieldRef"]: [line for line in item["warning"].splitlines() if "Kind=" in line]
        for item in warnings
    }


def test_an_unknown_field_is_shown_with_its_place(api: Api) -> None:
    api.create(POLICIES, policy("object.replicas > 1"))

    assert status_of(api)["typeChecking"] == {
        "expressionWarnings": [
            {
                "fieldRef": "spec.validations[0].expression",
                "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field "
                "'replicas'\n | object.replicas > 1\n | ......^\n",
            }
        ]
    }


def test_a_policy_that_fits_has_no_warnings_and_the_status_follows_the_spec(api: Api) -> None:
    api.create(POLICIES, policy("object.spec.replicas > 1"))
    assert status_of(api) == {"observedGeneration": 1, "typeChecking": {}}

    api.patch(f"{POLICIES}/p", {"spec": {"validations": [{"expression": "object.x == 1"}]}})
    assert status_of(api, generation=2)["typeChecking"]["expressionWarnings"]


def test_each_kind_is_checked_and_the_core_group_is_empty(api: Api) -> None:
    rules = [rule("apps", "v1", "deployments", "deployments/scale", "*"), rule("", "v1", "pods")]
    found = warned(api, policy("object.spec.replicas > 1", rules=rules))

    assert found == {
        "spec.validations[0].expression": [
            "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'"
        ]
    }


def test_nothing_is_checked_for_patterns_and_unknown_resources(api: Api) -> None:
    rules = [rule("*"), rule("apps", "*"), rule("apps", "v1", "unknown")]
    assert warned(api, policy("object.x == 1", rules=rules)) == {}


def test_custom_resources_have_the_fields_of_their_schema_and_metadata(widgets: Api) -> None:
    fits = "object.spec.size > 1 && object.metadata.labels['a'] == 'b' && object.kind == 'Widget'"
    rules = [rule("example.com", "v1", "widgets")]
    found = warned(widgets, policy(fits, "object.spec.colour == 'red'", rules=rules))

    assert found == {
        "spec.validations[1].expression": [
            "example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'colour'"
        ]
    }


def test_parameters_and_messages_are_checked_too(api: Api) -> None:
    message = "string(params.name)"
    validations = [{"expression": "params.data['a'] == 'b'", "messageExpression": message}]
    obj = policy(validations=validations, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})

    assert warned(api, obj) == {
        "spec.validations[0].messageExpression": [
            "apps/v1, Kind=Deployment: ERROR: <input>:1:14: undefined field 'name'"
        ]
    }


@pytest.mark.parametrize(
    "expression",
    [
        "oldObject == null || object.spec.replicas >= oldObject.spec.replicas",
        "object.metadata.namespace == 'a' || object.metadata.__namespace__ == 'a'",
        f"{SPEC}.containers.all(c, c.resources.limits['cpu'] == '1')",
        f"{SPEC}.containers[0].livenessProbe.httpGet.port == 80",
        "object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
        "has(object.metadata.annotations) && 'a' in object.metadata.annotations",
        "variables.replicas > 1 && variables.wrong.field == 1",
        "request.operation == 'CREATE' && namespaceObject.metadata.name == 'a'",
    ],
)
def test_what_fits_a_deployment(expression: str) -> None:
    """A variable with a problem may be anything."""
    variables = [
        {"name": "replicas", "expression": "object.spec.replicas"},
        {"name": "wrong", "expression": "object.unknown"},
    ]
    spec = {"variables": variables, "validations": [{"expression": expression}]}
    assert expression_warnings(spec, Kinds([DEPLOYMENT], None)) == []


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        (
            "object.spec.replicas == 'x'",
            "overload for '_==_' applied to '(int, string)'",
        ),
        (f"has({SPEC}.unknown)", "undefined field 'unknown'"),
        (f"{SPEC}.containers.all(c, c.unknown == 1)", "undefined field 'unknown'"),
        ("variables.replicas + 'x' == 'y'", "'_+_' applied to '(int, string)'"),
        ("params.x == 1", "undeclared reference to 'params'"),
    ],
)
def test_what_does_not_fit_a_deployment(expression: str, problem: str) -> None:
    variables = [{"name": "replicas", "expression": "object.spec.replicas"}]
    spec = {"variables": variables, "validations": [{"expression": expression}]}
    [warning] = expression_warnings(spec, Kinds([DEPLOYMENT], None))
    assert problem in warning["warning"]


def test_a_kind_that_contains_itself_is_not_checked() -> None:
    definitions = CheckedKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)
    spec = {"validations": [{"expression": "object.unknown == 1"}]}
    assert expression_warnings(spec, Kinds([definitions], None)) == []


def test_preserved_fields_may_be_anything() -> None:
    schema = {"properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}
    kind = CheckedKind("example.com/v1", "Widget", {"type": "object", **schema})
    spec = {"validations": [{"expression": "object.spec.any.thing == 1"}]}
    assert expression_warnings(spec, Kinds([kind], None)) == []
