"""What webhook configurations and admission policies may have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import Causes, causes

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": ["x.io"], "apiVersions": ["v1"], "resources": ["a"], "operations": ["CREATE"]}
SERVICE = {"service": {"namespace": "a", "name": "b"}}
HOOK = {
    "name": "a.example.com",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "clientConfig": SERVICE,
}
MISSING = {"matchExpressions": [{"key": "a", "operator": "In"}]}
VALUES = "matchExpressions[0].values"


def causes_of_rule(api: Api, change: dict[str, Any]) -> Causes:
    """Return what a webhook and a policy say of a rule, which is the same."""
    rule = {**RULE, **change}
    hook = {**HOOK, "rules": [rule]}
    policy = {
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "true"}],
        }
    }
    found = []
    for plural, body, prefix in (
        ("validatingwebhookconfigurations", {"webhooks": [hook]}, "webhooks[0].rules[0]."),
        ("mutatingwebhookconfigurations", {"webhooks": [hook]}, "webhooks[0].rules[0]."),
        ("validatingadmissionpolicies", policy, "spec.matchConstraints.resourceRules[0]."),
    ):
        errors = causes(api, f"{GROUP}/{plural}", body)
        found.append([(field.removeprefix(prefix), reason) for field, reason in errors])
    assert found[0] == found[1] == found[2]
    return found[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"operations": []}, [("operations", "Required")]),
        ({"operations": ["X"]}, [("operations[0]", "NotSupported")]),
        ({"operations": ["*", "CREATE"]}, [("operations", "Invalid")]),
        ({"apiGroups": []}, [("apiGroups", "Required")]),
        ({"apiGroups": ["", "apps"]}, []),
        ({"apiGroups": ["*", "apps"]}, [("apiGroups", "Invalid")]),
        ({"apiVersions": ["v1", ""]}, [("apiVersions[1]", "Required")]),
        ({"resources": []}, [("resources", "Required")]),
        ({"resources": [""]}, [("resources[0]", "Required")]),
        ({"resources": ["*/*", "a"]}, [("resources", "Invalid")]),
        ({"resources": ["*", "a"]}, [("resources", "Invalid")]),
        ({"resources": ["*", "a/status"]}, []),
        ({"resources": ["a/*", "a/status"]}, [("resources[1]", "Invalid")]),
        ({"resources": ["*/scale", "a/scale"]}, [("resources[1]", "Invalid")]),
        ({"scope": "X"}, [("scope", "NotSupported")]),
    ],
)
def test_rules(shared: Api, change: dict[str, Any], expected: Causes) -> None:
    assert causes_of_rule(shared, change) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"name": ""}, [("name", "Required")]),
        ({"name": "A.b.c"}, [("name", "Invalid")]),
        ({"name": "a.b"}, [("name", "Invalid")]),
        ({"admissionReviewVersions": []}, [("admissionReviewVersions", "Required")]),
        ({"admissionReviewVersions": ["v2"]}, [("admissionReviewVersions", "Invalid")]),
        ({"admissionReviewVersions": ["v1", "v1"]}, [("admissionReviewVersions[1]", "Invalid")]),
        ({"admissionReviewVersions": ["v1", "a.b"]}, [("admissionReviewVersions[1]", "Invalid")]),
        ({"sideEffects": None}, [("sideEffects", "Required")]),
        ({"sideEffects": "Some"}, [("sideEffects", "NotSupported")]),
        ({"timeoutSeconds": 31}, [("timeoutSeconds", "Invalid")]),
        ({"failurePolicy": ""}, [("failurePolicy", "NotSupported")]),
        ({"objectSelector": MISSING}, [(f"objectSelector.{VALUES}", "Required")]),
        ({"matchConditions": [{"expression": "true"}]}, [("matchConditions[0].name", "Required")]),
        (
            {"matchConditions": [{"name": "a", "expression": "object.spec.on"}]},
            [("matchConditions[0].expression", "Invalid")],
        ),
        (
            {"matchConditions": [{"name": "a", "expression": "true"}] * 2},
            [("matchConditions[1].name", "Duplicate")],
        ),
    ],
)
def test_webhooks(shared: Api, change: dict[str, Any], expected: Causes) -> None:
    body = {"webhooks": [{**HOOK, **change}]}
    found = causes(shared, f"{GROUP}/validatingwebhookconfigurations", body)

    assert [(field.removeprefix("webhooks[0]."), reason) for field, reason in found] == expected


def test_the_port_of_a_service_is_443(shared: Api) -> None:
    for plural in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        body = {"metadata": {"name": "a"}, "webhooks": [HOOK]}
        answer = shared.call("POST", f"{GROUP}/{plural}", body, dryRun="All")
        [hook] = answer.body["webhooks"]
        assert hook["clientConfig"]["service"]["port"] == 443


def test_the_selector_of_a_parameter(shared: Api) -> None:
    reference = {"selector": MISSING, "parameterNotFoundAction": "Deny"}
    spec = {"policyName": "p", "paramRef": reference, "validationActions": ["Deny"]}

    found = causes(shared, f"{GROUP}/validatingadmissionpolicybindings", {"spec": spec})

    assert found == [(f"spec.paramRef.selector.{VALUES}", "Required")]
