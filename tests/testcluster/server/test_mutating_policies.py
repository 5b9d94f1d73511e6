"""Mutating admission policies: what they change, and what they may not."""

from __future__ import annotations

from typing import Any

import pytest

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

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def test_an_apply_configuration_is_merged(api: Api) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'made-by': object.metadata.name}}}"
    install(api, MUTATING, mutating(apply=expression))
    created = api.create(CONFIGMAPS, configmap("a", labels={"x": "y"}))
    assert created["metadata"]["labels"] == {"x": "y", "made-by": "a"}
    assert created["data"] == {"k": "v"}


def test_lists_are_merged_by_their_keys(api: Api) -> None:
    sidecar = "Object.spec.template.spec.containers{name: 'side', image: 'proxy:1'}"
    expression = (
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
        f"containers: [{sidecar}]}}}}}}}}"
    )
    matched = constraints("deployments", "apps")
    install(api, MUTATING, mutating(apply=expression, matchConstraints=matched))
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    created = api.create(DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    containers = created["spec"]["template"]["spec"]["containers"]
    assert [item["name"] for item in containers] == ["main", "side"]
    assert containers[1]["terminationMessagePath"] == "/dev/termination-log"  # defaulted


def test_a_json_patch_is_applied(api: Api) -> None:
    expression = (
        "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, "
        "JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a/b'), "
        "value: 'x'}, "
        "JSONPatch{op: 'add', path: '/metadata/labels', value: {'n': string(object.data.size())}}]"
    )
    install(api, MUTATING, mutating(patch=expression))
    created = api.create(CONFIGMAPS, configmap("a", annotations={"q": ""}))
    assert created["metadata"]["annotations"] == {"q": "", "a/b": "x"}
    assert created["metadata"]["labels"] == {"n": "1"}


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        ("op: 'add', path: '/metadata/labels', value: ['x']", 422),
        ("op: 'replace', path: '/data', value: 'x'", 422),
        ("op: 'replace', path: '/kind', value: {'a': 1}", 422),
        ("op: 'remove', path: '/kind'", 201),
    ],
)
def test_a_json_patch_leaves_an_object_of_the_kind_for_the_next_policy(
    api: Api, patch: str, status: int
) -> None:
    install(api, MUTATING, mutating(patch=f"[JSONPatch{{{patch}}}]"))
    next_one = mutating(apply="Object{metadata: Object.metadata{labels: {'next': 'yes'}}}")
    next_one["metadata"]["name"] = "q"
    api.create(MUTATING, next_one)
    binding = {"metadata": {"name": "c"}, "spec": {"policyName": "q"}}
    api.create(MUTATING.removesuffix("policies") + "policybindings", binding)
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    assert answer.status == status
    assert status == 201 or "policy 'p' with binding 'b' denied request" in message_of(answer)


def patched_metadata(api: Api, field: str, value: str) -> tuple[Any, Any]:
    """Answers to a create and to an update of ConfigMaps, in which a policy sets a field."""
    api.create(CONFIGMAPS, configmap("old"))
    patch = f"[JSONPatch{{op: 'add', path: '/metadata/{field}', value: {value}}}]"
    install(api, MUTATING, mutating(patch=patch))
    created = api.call("POST", CONFIGMAPS, configmap("a"))
    return created, api.call("PATCH", f"{CONFIGMAPS}/old", {"data": {"z": "1"}}, MERGE_PATCH)


def test_a_new_object_has_the_name_that_admission_gives_it(api: Api) -> None:
    created, updated = patched_metadata(api, "name", "'x'")
    assert created.status == 201
    assert api.get(f"{CONFIGMAPS}/x") == created.body
    assert api.call("GET", f"{CONFIGMAPS}/a").status == 404
    assert (updated.status, updated.body["details"]["causes"][0]["field"]) == (422, "metadata.name")


def test_admission_does_not_move_an_object_to_another_namespace(api: Api) -> None:
    assert [answer.status for answer in patched_metadata(api, "namespace", "'x'")] == [400, 400]


def test_admission_does_not_decide_on_the_fields_of_the_server(api: Api) -> None:
    time = "2020-01-01T00:00:00Z"
    created, updated = patched_metadata(api, "creationTimestamp", f"'{time}'")
    assert (created.status, updated.status) == (201, 200)
    assert time not in (
        created.body["metadata"]["creationTimestamp"],
        updated.body["metadata"]["creationTimestamp"],
    )


@pytest.mark.parametrize("field", ["uid", "deletionTimestamp"])
def test_admission_does_not_identify_or_delete_a_new_object(api: Api, field: str) -> None:
    created, _ = patched_metadata(api, field, "'2020-01-01T00:00:00Z'")
    assert created.status == 201
    assert created.body["metadata"].get(field) != "2020-01-01T00:00:00Z"


def test_a_patch_whose_test_fails_changes_nothing(api: Api) -> None:
    expression = (
        "[JSONPatch{op: 'test', path: '/data/k', value: 'other'}, "
        "JSONPatch{op: 'add', path: '/data/x', value: 'y'}]"
    )
    install(api, MUTATING, mutating(patch=expression))
    assert api.create(CONFIGMAPS, configmap("a"))["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("Object{spec: Object.wrong{}}", "type mismatch: unexpected type name"),
        ("Object{data: object.data.missing}", "no such key: missing"),
        ("Object{bogus: 1}", "failed to convert patch object to typed object"),
    ],
)
def test_a_mutation_that_fails_denies_the_write(api: Api, expression: str, problem: str) -> None:
    install(api, MUTATING, mutating(apply=expression))
    answer = api.call("POST", CONFIGMAPS, configmap("a"))
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    text = message_of(answer)
    assert text.startswith("configmaps \"a\" is forbidden: policy 'p' with binding 'b' denied")
    assert problem in text


def test_an_apply_configuration_is_not_merged_into_an_object_that_does_not_fit_its_type(
    api: Api,
) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'x': 'y'}}}"
    install(
        api, MUTATING, mutating(apply=expression, matchConstraints=constraints("serviceaccounts"))
    )
    account = {"metadata": {"name": "a"}, "secrets": [{"namespace": "no name, which is the key"}]}
    answer = api.call("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    assert answer.status == 422
    assert "failed to convert original object to typed object: .secrets" in message_of(answer)


def test_atomic_lists_and_maps_are_not_changed_by_an_apply_configuration(api: Api) -> None:
    expression = (
        "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'c'}}}}"
    )
    matched = constraints("deployments", "apps")
    install(api, MUTATING, mutating(apply=expression, matchConstraints=matched))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    answer = api.call("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 422
    assert "may not mutate atomic arrays, maps or structs: .spec.selector" in message_of(answer)


@pytest.mark.parametrize("write", ["create", "update"])
def test_a_policy_does_not_set_a_status_with_the_main_resource(api: Api, write: str) -> None:
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}}
    if write == "update":
        api.create(budgets, budget)
    expression = """
        Object{
          metadata: Object.metadata{labels: {'seen': 'yes'}},
          status: Object.status{disruptionsAllowed: 7}
        }
    """
    matched = constraints("poddisruptionbudgets", "policy")
    install(api, MUTATING, mutating(apply=expression, matchConstraints=matched))

    if write == "create":
        result = api.create(budgets, budget)
    else:
        result = api.call("PATCH", f"{budgets}/b", {"spec": {"minAvailable": 2}}, MERGE_PATCH).body

    assert result["metadata"]["labels"] == {"seen": "yes"}
    assert result["status"]["disruptionsAllowed"] == 0


def test_a_validating_policy_sees_what_a_mutating_one_made(api: Api) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'made': 'yes'}}}"
    install(api, MUTATING, mutating(apply=expression))
    install(api, VALIDATING, policy("object.metadata.labels['made'] == 'no'"))
    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 422


def test_a_policy_is_reinvoked_after_a_later_change(api: Api) -> None:
    copying = mutating(
        apply="has(object.metadata.labels) ? Object{data: {'labels': 'yes'}} : Object{}",
        reinvocationPolicy="IfNeeded",
    )
    copying["metadata"]["name"] = "a-copies"
    labelling = mutating(apply="Object{metadata: Object.metadata{labels: {'x': 'y'}}}")
    labelling["metadata"]["name"] = "b-labels"
    for number, obj in enumerate((copying, labelling)):
        api.create(MUTATING, obj)
        binding = {"policyName": obj["metadata"]["name"]}
        api.create(
            f"{GROUP}/mutatingadmissionpolicybindings",
            {"metadata": {"name": f"b{number}"}, "spec": binding},
        )
    assert api.create(CONFIGMAPS, configmap("a"))["data"] == {"k": "v", "labels": "yes"}
