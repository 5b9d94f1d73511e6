"""What workloads, Services and their neighbours are like after a write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import CORE, SERVICES, Causes, causes, named

APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
ENV = [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]
CONTAINER = {"name": "c", "image": "i"}
FILE = {"volumeName": "v", "path": "p", "key": "K"}
FILE_ENV = [{"name": "A", "valueFrom": {"fileKeyRef": FILE}}]
INDEXED = {
    "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}},
    "backoffLimitPerIndex": 1,
    "maxFailedIndexes": 1,
    "successPolicy": {},
}
BAD = {"matchLabels": {"a": "b!"}}


def workload(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    return {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}


@pytest.mark.parametrize(
    "strategy", [{"type": "OnDelete", "rollingUpdate": {}}, {"type": "OnDelete"}]
)
def test_a_rolling_update_of_a_daemon_set_has_both_numbers(
    shared: Api, strategy: dict[str, Any]
) -> None:
    body = named(spec=workload(updateStrategy=strategy))

    answer = shared.call("POST", f"{APPS}/daemonsets", body, dryRun="All")

    zeros = {"maxSurge": 0, "maxUnavailable": 0} if "rollingUpdate" in strategy else None
    assert answer.body["spec"]["updateStrategy"].get("rollingUpdate") == zeros


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "statefulsets"])
def test_a_template_is_not_checked_beside_an_unreadable_selector(shared: Api, plural: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{}]}}
    spec = workload(selector=BAD, template=template, serviceName="s")

    fields = {field for field, _ in causes(shared, f"{APPS}/{plural}", {"spec": spec})}

    assert fields == {"spec.selector", "spec.selector.matchLabels"}


def test_a_job_without_labels_gets_those_of_its_pods(shared: Api) -> None:
    pods = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}

    answer = shared.call("POST", JOBS, named(spec={"template": pods}), dryRun="All")

    metadata = answer.body["metadata"]
    assert metadata["labels"] == answer.body["spec"]["template"]["metadata"]["labels"]
    assert metadata["labels"]["batch.kubernetes.io/controller-uid"] == metadata["uid"]


def test_the_deletion_of_a_missing_job_warns_of_its_pods_too(shared: Api) -> None:
    answer = shared.call("DELETE", f"{JOBS}/none")

    assert (answer.status, len(answer.warnings)) == (404, 1)


@pytest.mark.parametrize(
    ("collection", "body", "expected"),
    [
        (
            f"{CORE}/pods",
            {"spec": {"containers": [{**CONTAINER, "env": ENV}]}},
            [("spec.containers[0].env[0].valueFrom.secretKeyRef.name", "Invalid")],
        ),
        (
            f"{CORE}/pods",
            {"spec": {"containers": [{**CONTAINER, "env": FILE_ENV}]}},
            [("spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName", "NotFound")],
        ),
        (
            f"{CORE}/pods",
            {"spec": {"containers": [{**CONTAINER, "restartPolicyRules": [{"action": "X"}]}]}},
            [
                ("spec.containers[0].restartPolicy", "Required"),
                ("spec.containers[0].restartPolicyRules[0].action", "NotSupported"),
                ("spec.containers[0].restartPolicyRules[0].exitCodes", "Required"),
            ],
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": INDEXED}}},
            [
                ("spec.jobTemplate.spec.maxFailedIndexes", "Invalid"),
                ("spec.jobTemplate.spec.backoffLimitPerIndex", "Invalid"),
                ("spec.jobTemplate.spec.successPolicy", "Invalid"),
            ],
        ),
        (
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {"spec": {"group": "x.io", "version": "v1", "versionPriority": 1}},
            [("metadata.name", "Invalid"), ("spec.groupPriorityMinimum", "Invalid")],
        ),
    ],
)
def test_causes(shared: Api, collection: str, body: dict[str, Any], expected: Causes) -> None:
    assert causes(shared, collection, body) == sorted(expected)


def test_a_status_is_checked_for_finalizers_without_a_domain(shared: Api) -> None:
    shared.create(SERVICES, {"metadata": {"name": "status"}, "spec": {"ports": [{"port": 80}]}})
    body = {"metadata": {"name": "status", "finalizers": ["bad"]}}

    answer = shared.call("PUT", f"{SERVICES}/status/status", body)

    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [
        "metadata.finalizers[0]"
    ]


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({}, ["is deprecated"]),
        ({"clusterIP": "None"}, ["is ignored for headless"]),
        ({"type": "ExternalName", "externalName": "a.b"}, ["is ignored when"]),
    ],
)
def test_external_addresses_are_deprecated_where_they_are_used(
    shared: Api, spec: dict[str, Any], warnings: list[str]
) -> None:
    body = named(spec={"ports": [{"port": 80}], "externalIPs": ["1.2.3.4"], **spec})

    found = shared.call("POST", SERVICES, body, dryRun="All").warnings

    assert [part for text in found for part in warnings if part in text] == warnings
    assert len(found) == len(warnings)


def test_an_external_name_has_no_policy_for_traffic_in_the_cluster(shared: Api) -> None:
    spec = {"type": "ExternalName", "externalName": "a.b", "internalTrafficPolicy": "Local"}

    created = shared.create(SERVICES, {"metadata": {"name": "external"}, "spec": spec})

    assert "internalTrafficPolicy" not in created["spec"]
    assert (
        "f:internalTrafficPolicy" in created["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    )


def test_pods_of_a_job_with_a_limit_for_each_index_may_restart(shared: Api) -> None:
    spec = {
        "completionMode": "Indexed",
        "completions": 1,
        "backoffLimitPerIndex": 1,
        "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "OnFailure"}},
    }
    assert causes(shared, JOBS, {"spec": spec}) == []


def test_an_update_of_a_service_shares_no_node_port(shared: Api) -> None:
    ports = [{"name": "a", "port": 80}]
    body = {"metadata": {"name": "ports"}, "spec": {"type": "NodePort", "ports": ports}}
    created = shared.create(SERVICES, body)
    created["spec"]["ports"].append({"name": "b", "port": 80, "protocol": "UDP"})

    updated = shared.call("PUT", f"{SERVICES}/ports", created)

    first, second = (port["nodePort"] for port in updated.body["spec"]["ports"])
    assert first == created["spec"]["ports"][0]["nodePort"] != second


def test_the_claims_of_a_stateful_set_are_not_checked_again(shared: Api) -> None:
    spec = workload(serviceName="s")
    created = shared.create(f"{APPS}/statefulsets", {"metadata": {"name": "claims"}, "spec": spec})
    created["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "d"}, "spec": {}}]

    answer = shared.call("PUT", f"{APPS}/statefulsets/claims", created)

    assert [cause["field"] for cause in answer.body["details"]["causes"]] == ["spec"]


def test_an_applied_value_that_does_not_fit_is_an_error_of_the_server(shared: Api) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "z"}}
    body = {**config, "binaryData": {"a": "!!"}}
    answer = shared.call(
        "PATCH", f"{CORE}/configmaps/z", body, "application/apply-patch+yaml", fieldManager="m"
    )

    assert answer.status == 500
    assert answer.body["message"].startswith(
        "failed to convert new object (/z; /v1, Kind=ConfigMap)"
    )


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([CONTAINER], []),
        ([{**CONTAINER, "name": "d"}], ["spec.containers[0].name"]),
        ([CONTAINER, {**CONTAINER, "name": "d"}], ["spec.containers"]),
    ],
)
def test_a_resize_keeps_the_containers_in_their_order(
    shared: Api, containers: list[dict[str, Any]], expected: list[str]
) -> None:
    name = f"resized-{len(expected)}-{len(containers)}"
    spec = {"containers": [CONTAINER]}
    pod = shared.create(f"{CORE}/pods", {"metadata": {"name": name}, "spec": spec})
    pod["spec"]["containers"] = containers

    answer = shared.call("PUT", f"{CORE}/pods/{name}/resize", pod)

    found = answer.body["details"]["causes"] if answer.status == 422 else []
    assert [cause["field"] for cause in found] == expected


def test_a_resize_owns_what_was_sent_with_it(shared: Api) -> None:
    spec = {"containers": [CONTAINER]}
    pod = shared.create(f"{CORE}/pods", {"metadata": {"name": "owned"}, "spec": spec})
    pod["status"]["message"] = "m"

    resized = shared.call("PUT", f"{CORE}/pods/owned/resize", pod, fieldManager="m").body

    [owner] = [item for item in resized["metadata"]["managedFields"] if item["manager"] == "m"]
    assert owner["fieldsV1"] == {"f:status": {"f:message": {}}}
    assert "message" not in resized["status"]


def test_a_cause_shows_the_bad_value_and_the_pattern(shared: Api) -> None:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["a"], "nonResourceURLs": ["/x"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"

    role = shared.call("POST", roles, {"metadata": {"name": "a"}, "rules": rules}).body
    service = shared.call("POST", SERVICES, {"metadata": {"name": "A"}, "spec": {}}).body

    assert role["details"]["causes"][0]["message"].startswith('Invalid value: ["/x"]: ')
    assert service["details"]["causes"][0]["message"].endswith(
        "(e.g. 'my-name',  or '123-abc', "
        "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )


def spec_of_container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{**CONTAINER, **fields}]}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (spec_of_container(livenessProbe={}), "Required value: must specify a handler type"),
        (
            spec_of_container(livenessProbe={"exec": {"command": ["a"]}, "grpc": {"port": 1}}),
            "Forbidden: may not specify more than 1 handler type",
        ),
        (
            spec_of_container(envFrom=[{}]),
            'Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        ),
        (
            spec_of_container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]),
            'Invalid value: "": a lowercase RFC 1123 subdomain must consist of',
        ),
    ],
)
def test_causes_of_pods_say_what_is_wrong(shared: Api, body: dict[str, Any], message: str) -> None:
    answer = shared.call("POST", f"{CORE}/pods", named(**body), dryRun="All")

    [cause] = answer.body["details"]["causes"]
    assert cause["message"].startswith(message)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"fieldManager": "a\0"}, "invalid character U+0000 (at position 1)"),
        ({"fieldValidation": "X"}, 'supported values: "", "Ignore", "Strict", "Warn"'),
    ],
)
def test_causes_of_options_say_what_is_wrong(
    shared: Api, query: dict[str, str], message: str
) -> None:
    answer = shared.call("POST", f"{CORE}/configmaps", named(), **query)

    assert answer.body["message"].endswith(message)
