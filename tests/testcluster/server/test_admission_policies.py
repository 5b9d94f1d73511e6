"""Validating admission policies: what they refuse and warn of; what is stored of policies."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import CONFIGMAPS, MERGE_PATCH, Api, configmap
from tests.testcluster.server.policies import (
    GROUP,
    MUTATING,
    VALIDATING,
    constraints,
    install,
    message_of,
    mutating,
    policy,
)

# -- validating


def test_a_validation_that_is_false_denies_the_write(api: Api) -> None:
    install(api, VALIDATING, policy("object.data.k != 'v'"))
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    text = (
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
        "failed expression: object.data.k != 'v'"
    )
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert message_of(answer) == f'configmaps "a" is forbidden: {text}'
    assert answer.body["details"]["causes"] == [{"message": text}]
    api.create(CONFIGMAPS, configmap("a") | {"data": {"k": "w"}})


def test_a_policy_without_a_binding_does_nothing(api: Api) -> None:
    api.create(VALIDATING, policy("false"))
    api.create(CONFIGMAPS, configmap("a"))


def test_the_message_comes_from_its_expression_or_is_fixed(api: Api) -> None:
    validations = [
        {
            "expression": "size(object.data) < 2",
            "message": "too much",
            "messageExpression": "'has ' + string(object.data.size()) + ' keys'",
            "reason": "Forbidden",
        },
        {"expression": "!('x' in object.data)", "message": " no x ", "messageExpression": "''"},
    ]
    install(api, VALIDATING, policy(validations=validations))
    answer = api.call("POST", CONFIGMAPS, configmap("a") | {"data": {"k": "", "x": ""}})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert message_of(answer).endswith("denied request: has 2 keys")
    answer = api.call("POST", CONFIGMAPS, configmap("a") | {"data": {"x": ""}})
    assert (answer.status, message_of(answer)[-5:]) == (422, " no x")


def test_a_binding_can_warn_instead(api: Api) -> None:
    install(api, VALIDATING, policy("false"), validationActions=["Warn", "Audit"])
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    assert answer.status == 201
    [warning] = answer.warnings
    whose = "ValidatingAdmissionPolicy 'p' with binding 'b'"
    assert f"Validation failed for {whose}: failed expression: false" in warning


@pytest.mark.parametrize("content_type", [MERGE_PATCH, "application/apply-patch+yaml"])
def test_a_patch_has_the_options_of_the_write_that_it_is(api: Api, content_type: str) -> None:
    kind = "request.options.kind == (request.operation == 'CREATE' ? 'Create' : 'Update')"
    install(api, VALIDATING, policy(f"{kind} + 'Options'"))
    body = {"apiVersion": "v1", "kind": "ConfigMap"} | configmap("a")
    if content_type == MERGE_PATCH:
        api.create(CONFIGMAPS, body)

    for value in ("v", "w"):
        body["data"] = {"k": value}
        path, query = f"{CONFIGMAPS}/a", {"fieldManager": "m"}
        assert api.call("PATCH", path, body, content_type, **query).status < 300


def test_expressions_see_the_write(api: Api, server: EmbeddedAPIServer) -> None:
    expressions = [
        "request.operation == 'UPDATE' && request.name == 'a' && request.namespace == 'default'",
        "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'",
        "request.userInfo.username != '' && request.dryRun == false",
        "oldObject.data.k == 'v' && object.data.k == 'w'",
        "namespaceObject.metadata.name == 'default'",
        "authorizer.group('').resource('secrets').namespace('a').check('get').allowed()",
        "authorizer.serviceAccount('a', 'b').path('/healthz').check('get').allowed()",
    ]
    install(
        api, VALIDATING, policy(*expressions, matchConstraints=constraints(operations=("UPDATE",)))
    )
    api.create(CONFIGMAPS, configmap("a"))
    assert api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "w"}})["data"] == {"k": "w"}


def test_deletions_have_an_old_object_only(api: Api) -> None:
    expression = "object == null && oldObject.metadata.name != 'kept'"
    install(
        api, VALIDATING, policy(expression, matchConstraints=constraints(operations=("DELETE",)))
    )
    for name in ("kept", "other"):
        api.create(CONFIGMAPS, configmap(name))
    assert api.call("DELETE", f"{CONFIGMAPS}/kept").status == 422
    api.delete(f"{CONFIGMAPS}/other")


def test_variables_are_evaluated_when_they_are_used(api: Api) -> None:
    variables = [
        {"name": "keys", "expression": "object.data.map(key, key)"},
        {"name": "first", "expression": "variables.keys[0]"},
        {"name": "broken", "expression": "variables.keys[9]"},
    ]
    install(api, VALIDATING, policy("variables.first == 'k'", variables=variables))
    api.create(CONFIGMAPS, configmap("a"))
    answer = api.call("POST", CONFIGMAPS, configmap("b") | {"data": {"x": ""}})
    assert answer.status == 422


def test_a_write_that_does_not_meet_the_conditions_is_not_validated(api: Api) -> None:
    conditions = [{"name": "named", "expression": "object.metadata.name.startsWith('x-')"}]
    install(api, VALIDATING, policy("false", matchConditions=conditions))
    api.create(CONFIGMAPS, configmap("a"))
    assert api.call("POST", CONFIGMAPS, configmap("x-a")).status == 422


@pytest.mark.parametrize(("failure_policy", "status"), [("Fail", 422), ("Ignore", 201)])
def test_what_can_not_be_evaluated_follows_the_failure_policy(
    api: Api, failure_policy: str, status: int
) -> None:
    install(api, VALIDATING, policy("object.data.missing == ''", failurePolicy=failure_policy))
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    assert answer.status == status
    if status == 422:
        problem = "expression 'object.data.missing == ''' resulted in error: no such key: missing"
        assert message_of(answer).endswith(f"denied request: {problem}")


@pytest.mark.parametrize(("failure_policy", "problem"), [("Fail", "expression "), ("Ignore", "no")])
def test_a_validation_that_fails_does_not_hide_others(
    api: Api, failure_policy: str, problem: str
) -> None:
    validations = [
        {"expression": "object.data.missing == ''"},
        {"expression": "false", "message": "no"},
    ]
    install(api, VALIDATING, policy(validations=validations, failurePolicy=failure_policy))
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    assert answer.status == 422
    assert f"denied request: {problem}" in message_of(answer)


EXPENSIVE = "object.data.text.matches(object.data.pattern)"
"""Costs three quarters of the limit of one evaluation, and takes no time."""

OF_EXPENSIVE = {"text": "a" * 30_000, "pattern": "a" * 1_000}
OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
USES_VARIABLES = " && ".join(f"variables.v{index}" for index in range(5))


def expensive(count: int, field: str = "expression", **others: str) -> list[dict[str, str]]:
    return [
        {"name": f"v{index}", field: f"{EXPENSIVE} && {index} >= 0", **others}
        for index in range(count)
    ]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"validations": [{"expression": EXPENSIVE}] * 5}, OUT_OF_BUDGET),
        (
            {"variables": expensive(5), "validations": [{"expression": USES_VARIABLES}]},
            OUT_OF_BUDGET,
        ),
        (
            {
                "validations": [
                    {"expression": EXPENSIVE, "messageExpression": f"string({EXPENSIVE})"}
                ]
                * 3
            },
            f"failed messageExpression: {OUT_OF_BUDGET}",
        ),
        (
            {"matchConditions": expensive(4), "validations": [{"expression": "true"}]},
            OUT_OF_BUDGET,
        ),
        (
            {
                "auditAnnotations": [
                    {"key": f"k{index}", "valueExpression": f"string({EXPENSIVE})"}
                    for index in range(5)
                ]
            },
            OUT_OF_BUDGET,
        ),
    ],
)
def test_the_expressions_of_a_policy_share_a_budget(
    api: Api, spec: dict[str, Any], problem: str
) -> None:
    install(api, VALIDATING, policy(**spec))
    answer = api.call("POST", CONFIGMAPS, configmap("a") | {"data": OF_EXPENSIVE})
    assert answer.status == 422
    assert message_of(answer).endswith(f" with binding 'b' denied request: {problem}")


def test_the_match_conditions_of_a_webhook_share_a_budget(api: Api) -> None:
    webhook: dict[str, Any] = {
        "name": "w.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": constraints()["resourceRules"],
        "matchConditions": expensive(4),
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configurations = f"{GROUP}/validatingwebhookconfigurations"
    configuration = {"metadata": {"name": "w"}, "webhooks": [webhook]}
    stored = api.create(configurations, configuration)
    answer = api.call("POST", CONFIGMAPS, configmap("a") | {"data": OF_EXPENSIVE})
    assert answer.status == 403
    assert message_of(answer) == f'configmaps "a" is forbidden: {OUT_OF_BUDGET}'
    stored["webhooks"][0]["failurePolicy"] = "Ignore"
    assert api.call("PUT", f"{configurations}/w", stored).status == 200
    api.create(CONFIGMAPS, configmap("a") | {"data": OF_EXPENSIVE})


def test_an_audit_annotation_that_fails_denies_the_write(api: Api) -> None:
    annotations = [{"key": "size", "valueExpression": "string(object.data.missing)"}]
    install(api, VALIDATING, policy("true", auditAnnotations=annotations))
    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 422
    api.create(CONFIGMAPS, configmap("b") | {"data": {"missing": "text"}})


PARAMS = {"apiVersion": "v1", "kind": "ConfigMap"}
NOT_LIMITS = {"name": "others", "expression": "object.metadata.name != 'limits'"}


@pytest.mark.parametrize(
    "reference", [{"name": "limits"}, {"selector": {"matchLabels": {"a": "b"}}}]
)
def test_parameters_are_objects_of_the_cluster(api: Api, reference: dict[str, Any]) -> None:
    api.create(CONFIGMAPS, configmap("limits", labels={"a": "b"}) | {"data": {"max": "1"}})
    limited = policy(
        "size(object.data) <= int(params.data.max)",
        paramKind=PARAMS,
        matchConditions=[NOT_LIMITS],
    )
    install(api, VALIDATING, limited, paramRef={**reference, "parameterNotFoundAction": "Deny"})
    two = {"data": {"a": "", "b": ""}}
    assert api.call("POST", CONFIGMAPS, configmap("a") | two).status == 422
    api.patch(f"{CONFIGMAPS}/limits", {"data": {"max": "2"}})
    api.create(CONFIGMAPS, configmap("a") | two)


@pytest.mark.parametrize(("action", "status"), [("Deny", 422), ("Allow", 201)])
def test_missing_parameters_are_denied_or_allowed(api: Api, action: str, status: int) -> None:
    reference = {"name": "limits", "parameterNotFoundAction": action}
    install(api, VALIDATING, policy("false", paramKind=PARAMS), paramRef=reference)
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    assert answer.status == status
    if action == "Deny":
        assert "failed to configure binding: no params found" in message_of(answer)


def test_rules_selectors_and_names_choose_the_writes(api: Api) -> None:
    def rule(**fields: Any) -> dict[str, Any]:
        return constraints()["resourceRules"][0] | fields

    matched = {
        "resourceRules": [rule()],
        "excludeResourceRules": [rule(resourceNames=["free"])],
        "objectSelector": {"matchLabels": {"guarded": "yes"}},
        "namespaceSelector": {
            "matchLabels": {"kubernetes.io/metadata.name": "default"},
        },
    }
    install(api, VALIDATING, policy("false", matchConstraints=matched))
    guarded = {"guarded": "yes"}
    api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, configmap("free", labels=guarded))
    elsewhere = CONFIGMAPS.replace("default", "kube-system")
    api.create(elsewhere, configmap("a", labels=guarded))
    assert api.call("POST", CONFIGMAPS, configmap("b", labels=guarded)).status == 422


def test_a_binding_can_match_less_than_its_policy(api: Api) -> None:
    less = {"objectSelector": {"matchLabels": {"guarded": "yes"}}}
    install(api, VALIDATING, policy("false"), matchResources=less)
    api.create(CONFIGMAPS, configmap("a"))
    assert api.call("POST", CONFIGMAPS, configmap("b", labels={"guarded": "yes"})).status == 422


def test_policies_do_not_apply_to_policies(api: Api) -> None:
    everything = {
        "resourceRules": [
            {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
        ]
    }
    install(api, VALIDATING, policy("false", matchConstraints=everything))
    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 422
    api.delete(f"{VALIDATING}/p")
    api.create(CONFIGMAPS, configmap("a"))


# -- what is stored


def causes(answer: Any) -> list[str]:
    assert answer.status == 422, answer
    return [cause["field"] for cause in answer.body["details"]["causes"]]


def test_policies_get_their_defaults(api: Api) -> None:
    spec = api.create(VALIDATING, policy("true"))["spec"]
    assert spec["failurePolicy"] == "Fail"
    matched = spec["matchConstraints"]
    assert (matched["matchPolicy"], matched["namespaceSelector"]) == ("Equivalent", {})
    assert (matched["objectSelector"], matched["resourceRules"][0]["scope"]) == ({}, "*")


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"validations": []}, ["spec.validations", "spec.auditAnnotations"]),
        ({"matchConstraints": None}, ["spec.matchConstraints"]),
        ({"matchConstraints": {}}, ["spec.matchConstraints.resourceRules"]),
        ({"failurePolicy": "Maybe"}, ["spec.failurePolicy"]),
        ({"validations": [{"expression": "1 +"}]}, ["spec.validations[0].expression"]),
        ({"validations": [{"expression": "1"}]}, ["spec.validations[0].expression"]),
        ({"validations": [{"expression": "params.x"}]}, ["spec.validations[0].expression"]),
        ({"validations": [{"expression": "variables.x"}]}, ["spec.validations[0].expression"]),
        (
            {"validations": [{"expression": "true", "messageExpression": "authorizer"}]},
            ["spec.validations[0].messageExpression"],
        ),
        (
            {"validations": [{"expression": "true", "message": "a\nb", "reason": "Why"}]},
            ["spec.validations[0].message", "spec.validations[0].reason"],
        ),
        ({"validations": [{"expression": "object.spec.on"}]}, ["spec.validations[0].expression"]),
        ({"validations": [{"expression": "request.on"}]}, ["spec.validations[0].expression"]),
        (
            {"validations": [{"expression": "namespaceObject.on"}]},
            ["spec.validations[0].expression"],
        ),
        (
            {"validations": [{"expression": "true", "messageExpression": "object.metadata.name"}]},
            ["spec.validations[0].messageExpression"],
        ),
        ({"variables": [{"name": "a-b", "expression": "1"}]}, ["spec.variables[0].name"]),
        (
            {"matchConditions": [{"name": "a", "expression": "1"}]},
            ["spec.matchConditions[0].expression"],
        ),
        (
            {"paramKind": {"apiVersion": "a/b/c", "kind": "K k"}},
            ["spec.paramKind.apiVersion", "spec.paramKind.kind"],
        ),
    ],
)
def test_a_malformed_policy_is_refused(api: Api, spec: dict[str, Any], fields: list[str]) -> None:
    assert causes(api.call("POST", VALIDATING, policy("true", **spec))) == fields


def test_what_is_known_of_a_request_and_a_namespace_has_its_type(api: Api) -> None:
    validations = [
        {"expression": "request.dryRun", "messageExpression": "request.userInfo.username"},
        {"expression": "true", "messageExpression": "namespaceObject.metadata.labels['a']"},
    ]
    api.create(VALIDATING, policy("true", validations=validations))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"apply": "Object{}"}, []),
        ({"apply": "object"}, ["spec.mutations[0].applyConfiguration.expression"]),
        ({"apply": "{'a': 1}"}, ["spec.mutations[0].applyConfiguration.expression"]),
        ({"apply": "Object.spec{}"}, ["spec.mutations[0].applyConfiguration.expression"]),
        ({"patch": "true ? [] : [JSONPatch{}]"}, []),
        ({"patch": "[]"}, ["spec.mutations[0].jsonPatch.expression"]),
        ({"patch": "[JSONPatch{operation: 'add'}]"}, ["spec.mutations[0].jsonPatch.expression"]),
        ({"patch": "[{'op': 'add'}]"}, ["spec.mutations[0].jsonPatch.expression"]),
        ({"apply": "Object{}", "reinvocationPolicy": None}, ["spec.reinvocationPolicy"]),
        ({"apply": "Object{}", "mutations": []}, ["spec.mutations"]),
    ],
)
def test_a_malformed_mutation_is_refused(
    api: Api, change: dict[str, Any], fields: list[str]
) -> None:
    answer = api.call("POST", MUTATING, mutating(**change))
    assert (causes(answer) if fields else answer.status) == (fields or 201)


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"policyName": ""}, ["spec.policyName"]),
        ({"validationActions": []}, ["spec.validationActions"]),
        ({"validationActions": ["Deny", "Warn"]}, ["spec.validationActions"]),
        ({"validationActions": ["Shout"]}, ["spec.validationActions[0]"]),
        ({"paramRef": {"parameterNotFoundAction": "Deny"}}, ["spec.paramRef"]),
        ({"paramRef": {"name": "a"}}, ["spec.paramRef.parameterNotFoundAction"]),
    ],
)
def test_a_malformed_binding_is_refused(api: Api, spec: dict[str, Any], fields: list[str]) -> None:
    binding = {"policyName": "p", "validationActions": ["Deny"], **spec}
    path = f"{GROUP}/validatingadmissionpolicybindings"
    answer = api.call("POST", path, {"metadata": {"name": "b"}, "spec": binding})
    assert causes(answer) == fields


def test_a_changed_policy_applies_immediately(api: Api) -> None:
    install(api, VALIDATING, policy("false"))
    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 422
    change = {"spec": {"validations": [{"expression": "true"}]}}
    assert api.call("PATCH", f"{VALIDATING}/p", change, MERGE_PATCH).status == 200
    api.create(CONFIGMAPS, configmap("a"))
