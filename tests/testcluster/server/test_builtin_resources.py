"""The built-in resources are those of a real API server: discovery, columns, conversions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.kinds.builtin_resources import builtin_versions
from clientgo.testcluster.server.kinds.columns.table import columns_for
from tests.testcluster.server.http_api import MERGE_PATCH, Api

PUBLISHED = Path(__file__).parents[2] / "data/published"
"""What a real API server says; see ``hack/pack_openapi.py`` for the documents of types."""

STATUS = "application/merge-patch+json"


def published(name: str) -> Any:
    return json.loads(gzip.decompress((PUBLISHED / f"{name}.json.gz").read_bytes()))


DISCOVERY = published("discovery")


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


@pytest.mark.parametrize("version", DISCOVERY)
def test_a_version_lists_the_resources_of_a_real_server(shared: Api, version: str) -> None:
    served = shared.get(f"/apis/{version}" if "/" in version else f"/api/{version}")["resources"]

    assert [
        {key: value for key, value in item.items() if value != ""} for item in served
    ] == DISCOVERY[version]


@pytest.mark.parametrize(
    ("version", "plural"),
    [
        (version, plural)
        for version, plurals in published("printer-columns").items()
        for plural in plurals
    ],
)
def test_a_table_has_the_columns_of_a_real_server(version: str, plural: str) -> None:
    wanted = published("printer-columns")[version][plural]
    columns = columns_for(version, plural)

    assert [
        {"name": item.name, "type": item.type, "format": item.format, "priority": item.priority}
        for item in columns
    ] == wanted


def test_groups_are_in_the_order_of_their_priorities(shared: Api) -> None:
    groups = [item["name"] for item in shared.get("/apis")["groups"]]

    assert groups[:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]
    assert groups[-2:] == ["resource.k8s.io", "flowcontrol.apiserver.k8s.io"]


def test_the_newest_version_of_a_group_is_preferred(shared: Api) -> None:
    group = shared.get("/apis/autoscaling")

    assert group["preferredVersion"]["version"] == "v2"
    assert [item["version"] for item in group["versions"]] == ["v2", "v1"]


@pytest.mark.parametrize(
    ("version", "plural"),
    [
        (version.name, row.plural)
        for version in builtin_versions()
        for row in version.rows
        if "list" in row.verbs
    ],
)
def test_every_resource_can_be_listed(shared: Api, version: str, plural: str) -> None:
    root = "/apis" if "/" in version else "/api"

    assert shared.get(f"{root}/{version}/{plural}")["items"] is not None


# -- autoscalers in two versions

FIRST = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
LATEST = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
SCALED = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
METRICS = "autoscaling.alpha.kubernetes.io/metrics"


def autoscaler(**spec: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": SCALED, "maxReplicas": 3, **spec}
    return {"metadata": {"name": "a"}, "spec": spec}


def processor(utilization: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


PODS_METRIC = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "requests"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}


def test_an_autoscaler_of_the_first_version_is_read_in_the_latest(api: Api) -> None:
    created = api.create(FIRST, autoscaler(targetCPUUtilizationPercentage=50))
    latest = api.get(f"{LATEST}/a")

    assert created["apiVersion"] == "autoscaling/v1"
    assert created["spec"]["targetCPUUtilizationPercentage"] == 50
    assert latest["spec"]["metrics"] == [processor(50)]
    assert "targetCPUUtilizationPercentage" not in latest["spec"]


def test_the_first_version_shows_the_default_of_the_latest(api: Api) -> None:
    created = api.create(FIRST, autoscaler())

    assert created["spec"]["targetCPUUtilizationPercentage"] == 80
    assert created["spec"]["minReplicas"] == 1


def test_metrics_that_the_first_version_lacks_survive_an_update_in_it(api: Api) -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 5}}
    api.create(LATEST, autoscaler(metrics=[PODS_METRIC, processor(70)], behavior=behavior))

    first = api.get(f"{FIRST}/a")
    updated = api.call("PUT", f"{FIRST}/a", {**first, "spec": {**first["spec"], "maxReplicas": 9}})
    latest = api.get(f"{LATEST}/a")

    assert first["spec"]["targetCPUUtilizationPercentage"] == 70
    assert json.loads(first["metadata"]["annotations"][METRICS]) == [
        {"type": "Pods", "pods": {"metricName": "requests", "targetAverageValue": "10"}}
    ]
    assert updated.status == 200
    assert latest["spec"]["maxReplicas"] == 9
    assert latest["spec"]["metrics"] == [PODS_METRIC, processor(70)]
    assert latest["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 5
    assert "annotations" not in latest["metadata"]


def test_both_versions_list_and_patch_the_same_autoscalers(api: Api) -> None:
    api.create(LATEST, autoscaler(metrics=[processor(60)]))
    api.patch(f"{FIRST}/a", {"spec": {"targetCPUUtilizationPercentage": 40}})

    assert [item["spec"]["metrics"] for item in api.get(LATEST)["items"]] == [[processor(40)]]
    assert len(api.get(FIRST)["items"]) == 1


# -- certificate signing requests

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SIGNER = "example.com/signer"


def condition(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "Test"}


@pytest.fixture
def request_path(api: Api) -> str:
    spec = {"request": "eA==", "signerName": SIGNER, "usages": ["client auth"]}
    api.create(REQUESTS, {"metadata": {"name": "a"}, "spec": spec})
    return f"{REQUESTS}/a"


def test_a_certificate_request_is_decided_through_approval_only(
    api: Api, request_path: str
) -> None:
    change = {"status": {"conditions": [condition("Approved")]}}

    assert "conditions" not in api.patch(request_path, change)["status"]
    assert "conditions" not in api.patch(f"{request_path}/status", change)["status"]
    approved = api.patch(f"{request_path}/approval", change)["status"]["conditions"]
    assert [item["type"] for item in approved] == ["Approved"]
    assert approved[0]["lastUpdateTime"]


def test_a_certificate_is_issued_through_the_status(api: Api, request_path: str) -> None:
    api.patch(f"{request_path}/approval", {"status": {"conditions": [condition("Approved")]}})
    issued = api.patch(f"{request_path}/status", {"status": {"certificate": "eA=="}})["status"]
    ignored = api.patch(f"{request_path}/approval", {"status": {"certificate": "eQ=="}})["status"]

    assert issued["certificate"] == ignored["certificate"] == "eA=="
    assert [item["type"] for item in issued["conditions"]] == ["Approved"]


@pytest.mark.parametrize(
    ("conditions", "fields"),
    [
        ([condition("Denied")], {"status.conditions"}),
        ([condition("Approved"), condition("Denied")], {"status.conditions"}),
        ([condition("Approved"), condition("Approved")], {"status.conditions[1].type"}),
        (
            [condition("Approved"), condition("Failed") | {"status": "False"}],
            {"status.conditions[1].status"},
        ),
    ],
)
def test_a_decision_on_a_certificate_is_final(
    api: Api, request_path: str, conditions: list[dict[str, str]], fields: set[str]
) -> None:
    path = f"{request_path}/approval"
    api.patch(path, {"status": {"conditions": [condition("Approved")]}})

    answer = api.call("PATCH", path, {"status": {"conditions": conditions}}, MERGE_PATCH)

    assert answer.status == 422
    assert {cause["field"] for cause in answer.body["details"]["causes"]} == fields


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"usages": []}, "spec.usages"),
        ({"usages": ["client auth", "x"]}, "spec.usages[1]"),
        ({"usages": ["client auth", "client auth"]}, "spec.usages[1]"),
        ({"signerName": ""}, "spec.signerName"),
        ({"signerName": "signer"}, "spec.signerName"),
        ({"signerName": "example/signer"}, "spec.signerName"),
        ({"signerName": "kubernetes.io/legacy-unknown"}, "spec.signerName"),
        ({"expirationSeconds": 599}, "spec.expirationSeconds"),
    ],
)
def test_certificate_requests_that_are_refused(api: Api, wrong: dict[str, Any], field: str) -> None:
    spec = {"request": "eA==", "signerName": SIGNER, "usages": ["client auth"], **wrong}

    answer = api.call("POST", REQUESTS, {"metadata": {"name": "a"}, "spec": spec})

    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [field]


def test_the_spec_of_a_certificate_request_never_changes(api: Api, request_path: str) -> None:
    patched = api.patch(request_path, {"spec": {"signerName": "example.com/other"}})

    assert patched["spec"]["signerName"] == SIGNER


def test_a_binding_is_posted_to_its_own_resource_too(api: Api) -> None:
    pods = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    api.create(pods, pod)
    target = {"kind": "Node", "name": "n"}
    api.create("/api/v1/namespaces/default/bindings", {"metadata": {"name": "a"}, "target": target})

    assert api.get(f"{pods}/a")["spec"]["nodeName"] == "n"


@pytest.mark.parametrize(
    ("body", "status"), [({}, 500), ({"target": {"kind": "Node", "name": "n"}}, 400)]
)
def test_a_binding_without_a_name_has_its_target_checked_first(
    shared: Api, body: dict[str, Any], status: int
) -> None:
    answer = shared.call("POST", "/api/v1/namespaces/default/bindings", body)

    assert answer.status == status


MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("plural", "fields", "field"),
    [
        ("configmaps", {"data": {"a": "x" * MEBIBYTE}}, None),
        ("configmaps", {"data": {"a": "x" * MEBIBYTE, "b": "x"}}, "[]"),
        ("configmaps", {"data": {"a": "\u20ac" * (MEBIBYTE // 3)}}, None),
        ("configmaps", {"data": {"a": "\u20ac" * (MEBIBYTE // 3 + 1)}}, "[]"),
        ("secrets", {"stringData": {"a": "x" * MEBIBYTE}}, None),
        ("secrets", {"stringData": {"a": "x" * (MEBIBYTE + 1)}}, "data"),
    ],
)
def test_all_data_of_an_object_has_at_most_a_mebibyte(
    shared: Api, plural: str, fields: dict[str, Any], field: str | None
) -> None:
    path = f"/api/v1/namespaces/default/{plural}?dryRun=All"

    answer = shared.call("POST", path, {"metadata": {"name": "a"}, **fields})

    causes = answer.body.get("details", {}).get("causes", [])
    found = [(cause["field"], cause["reason"]) for cause in causes]
    assert found == ([] if field is None else [(field, "FieldValueTooLong")])
