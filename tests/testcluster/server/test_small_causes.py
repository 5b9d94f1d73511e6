"""What a real API server answers to requests that are slightly unusual."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import CONFIGMAPS, CRDS, Api, configmap, widget_crd

ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SERVICES = "/api/v1/namespaces/default/services"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def causes(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cause["field"], cause["reason"]) for cause in body["details"]["causes"]]


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [
        ("10.0.0.1", True),
        ("2001:db8::1", True),
        ("2001:DB8::1", False),
        ("2001:db8:0::1", False),
        ("10.0.0.01", False),
        ("a.example", False),
    ],
)
def test_the_name_of_an_address_is_an_address(api: Api, name: str, is_valid: bool) -> None:
    reference = {"resource": "services", "namespace": "default", "name": "a"}
    body = {"metadata": {"name": name}, "spec": {"parentRef": reference}}

    answer = api.call("POST", ADDRESSES, body)

    assert answer.status == (201 if is_valid else 422)
    if is_valid:
        assert api.get(f"{ADDRESSES}/{name}")["metadata"]["name"] == name


def test_a_dry_run_does_not_look_at_the_version_of_a_new_object(api: Api) -> None:
    body = configmap("a", resourceVersion="5")

    assert api.call("POST", CONFIGMAPS, body).status == 500
    answer = api.call("POST", CONFIGMAPS, body, dryRun="All")
    assert (answer.status, answer.body["metadata"]["resourceVersion"]) == (201, "5")
    assert api.call("GET", f"{CONFIGMAPS}/a").status == 404


def test_a_review_has_no_table(api: Api) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get"}}}

    assert api.call("POST", ACCESS, body, headers={"Accept": TABLE}).status == 406
    both = api.call("POST", ACCESS, body, headers={"Accept": f"{TABLE}, application/json"})
    assert (both.status, both.body["kind"]) == (201, "SelfSubjectAccessReview")
    metadata = {"Accept": TABLE.replace("Table", "PartialObjectMetadata")}
    partial = api.call("POST", ACCESS, body, headers=metadata)
    assert (partial.status, partial.body["kind"]) == (201, "PartialObjectMetadata")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            b'{"x": 1, "metadata": {"name": "a", "y": 1}, "data": {"k": "1", "k": "2"}, "a": 1}',
            'unknown field "x", unknown field "metadata.y", duplicate field "data.k", '
            'unknown field "a"',
        ),
        (
            b'{"metadata": {"name": "a"}, "x": {"y": 1, "y": 2}, "x": {"y": 1}}',
            'unknown field "x"',
        ),
    ],
)
def test_problems_of_fields_are_in_the_order_of_the_body(
    api: Api, text: bytes, problems: str
) -> None:
    answer = api.call("POST", CONFIGMAPS, text, fieldValidation="Strict")

    assert answer.status == 400
    assert answer.body["message"].endswith(f"strict decoding error: {problems}")


def test_the_addresses_of_a_status_are_not_checked_where_none_are_allowed(api: Api) -> None:
    api.create(SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})
    bad = {"status": {"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "a_b"}]}}}
    content_type = "application/merge-patch+json"

    answer = api.call("PATCH", f"{SERVICES}/a/status", bad, content_type)
    assert causes(answer.body) == [("status.loadBalancer.ingress", "FieldValueForbidden")]

    api.patch(f"{SERVICES}/a", {"spec": {"type": "LoadBalancer"}})
    answer = api.call("PATCH", f"{SERVICES}/a/status", bad, content_type)
    assert [field.rpartition(".")[2] for field, _ in causes(answer.body)] == ["ip", "hostname"]


def test_the_start_of_a_job_changes_only_when_the_job_is_resumed(api: Api) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    api.create(JOBS, {"metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}})
    status = f"{JOBS}/a/status"
    start = {"status": {"startTime": "2026-01-01T00:00:00Z"}}
    api.patch(status, start)

    for other in ("2026-01-02T00:00:00Z", None):
        body = {"status": {"startTime": other}}
        answer = api.call("PATCH", status, body, "application/merge-patch+json")
        assert causes(answer.body) == [("status.startTime", "FieldValueInvalid")]

    condition = {"type": "Suspended", "status": "True", "lastTransitionTime": None}
    api.patch(status, {"status": {"conditions": [condition]}})
    resumed = {"conditions": [condition | {"status": "False"}]}
    api.patch(status, {"status": resumed | {"startTime": "2026-01-02T00:00:00Z"}})


@pytest.mark.parametrize("keyword", ["$schema", "id", "$ref"])
def test_a_keyword_that_no_schema_may_have_refuses_the_definition(api: Api, keyword: str) -> None:
    crd = widget_crd()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"][keyword] = "x"

    assert api.call("POST", CRDS, crd).status == 422


@pytest.mark.parametrize(
    ("init", "own", "expected"),
    [
        ({}, {}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, {}, "Burstable"),
        ({}, {"limits": {"cpu": "1", "memory": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1"}}, {"limits": {"cpu": "2", "memory": "1"}}, "G"),
        ({"requests": {"ephemeral-storage": "1"}}, {}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, {}, "BestEffort"),
    ],
)
def test_the_quality_of_service_counts_init_containers(
    api: Api, init: dict[str, Any], own: dict[str, Any], expected: str
) -> None:
    body = {
        "metadata": {"name": "a"},
        "spec": {
            "initContainers": [{"name": "i", "image": "i", "resources": init}],
            "containers": [{"name": "c", "image": "i", "resources": own}],
        },
    }

    service_class = api.create(PODS, body)["status"]["qosClass"]

    assert service_class == expected.replace("G", "Guaranteed")


def test_a_service_that_becomes_a_name_has_no_traffic_policy(api: Api) -> None:
    api.create(SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})

    change = {"spec": {"type": "ExternalName", "externalName": "a.example"}}
    assert "internalTrafficPolicy" not in api.patch(f"{SERVICES}/a", change)["spec"]

    back = {"spec": {"type": "ClusterIP", "externalName": None}}
    assert api.patch(f"{SERVICES}/a", back)["spec"]["internalTrafficPolicy"] == "Cluster"


@pytest.mark.parametrize("stored", [None, []])
def test_a_status_without_stored_versions_has_the_one_that_is_stored(
    api: Api, stored: list[str] | None
) -> None:
    path = f"{CRDS}/{api.create(CRDS, widget_crd())['metadata']['name']}/status"

    changed = api.patch(path, {"status": {"storedVersions": stored}})

    assert changed["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(
    ("claims", "volumes", "mount", "expected"),
    [
        (["data", "data", "logs"], ["data", "a"], "data", []),
        (
            ["data"],
            ["data", "a", "a"],
            "b",
            [
                ("spec.template.spec.volumes[2].name", "FieldValueDuplicate"),
                ("spec.template.spec.containers[0].volumeMounts[0].name", "FieldValueNotFound"),
            ],
        ),
        (
            ["A"],
            [],
            "A",
            [
                ("spec.template.spec.volumes[0].name", "FieldValueInvalid"),
                ("spec.template.spec.containers[0].volumeMounts[0].name", "FieldValueNotFound"),
            ],
        ),
    ],
)
def test_claims_of_a_stateful_set_are_the_first_volumes_of_its_pods(
    api: Api,
    claims: list[str],
    volumes: list[str],
    mount: str,
    expected: list[tuple[str, str]],
) -> None:
    """A claim takes the place of a volume of the same name."""
    answer = api.call("POST", STATEFUL_SETS, stateful_set(claims, volumes, mount))

    assert (causes(answer.body) if answer.status == 422 else []) == expected, answer


def test_a_stateful_set_that_mounts_its_claims_can_be_updated(api: Api) -> None:
    api.create(STATEFUL_SETS, stateful_set(["data"], [], "data"))

    assert api.patch(f"{STATEFUL_SETS}/a", {"spec": {"replicas": 2}})["spec"]["replicas"] == 2


def stateful_set(claims: list[str], volumes: list[str], mount: str) -> dict[str, Any]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": mount, "mountPath": "/a"}]}
    pods = {"containers": [container], "volumes": [{"name": name} for name in volumes]}
    labels = {"app": "a"}
    spec = {
        "serviceName": "a",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pods},
        "volumeClaimTemplates": [{"metadata": {"name": name}, "spec": claim} for name in claims],
    }
    return {"metadata": {"name": "a"}, "spec": spec}
