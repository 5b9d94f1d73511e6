"""Fields of features that are off by default: owned as they were sent, and not stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import named

CONTAINER = {"name": "c", "image": "i"}
STOPS = {"stopSignal": "SIGTERM"}
PRESTOP = {"exec": {"command": ["x"]}}
SOURCES = [{"clusterTrustBundle": {"name": "x", "path": "y"}}]
SELECTOR = {"matchLabels": {"a": "b"}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"containers": [CONTAINER], **spec}


def template(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"a": "b"}}, "spec": pod(**spec)}


@pytest.mark.parametrize(
    ("collection", "spec", "path", "stored"),
    [
        ("v1 pods", pod(schedulingGroup={"podGroupName": "x"}), ["schedulingGroup"], None),
        (
            "v1 pods",
            pod(containers=[{**CONTAINER, "lifecycle": STOPS}]),
            ["containers", 0, "lifecycle"],
            None,
        ),
        (
            "v1 pods",
            pod(containers=[{**CONTAINER, "lifecycle": {**STOPS, "preStop": PRESTOP}}]),
            ["containers", 0, "lifecycle"],
            {"preStop": PRESTOP},
        ),
        (
            "v1 pods",
            pod(volumes=[{"name": "v", "projected": {"sources": SOURCES}}]),
            ["volumes", 0, "projected", "sources"],
            [{}],
        ),
        (
            "apps/v1 statefulsets",
            {
                "selector": SELECTOR,
                "template": template(schedulingGroup={"podGroupName": "x"}),
                "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}},
            },
            ["updateStrategy", "rollingUpdate"],
            {"partition": 0},
        ),
        (
            "apps/v1 deployments",
            {"selector": SELECTOR, "template": template(schedulingGroup={"podGroupName": "x"})},
            ["template", "spec", "schedulingGroup"],
            None,
        ),
        ("coordination.k8s.io/v1 leases", {"preferredHolder": "x"}, ["preferredHolder"], None),
    ],
)
def test_a_field_of_a_feature_that_is_off_is_dropped(
    shared: Api, collection: str, spec: dict[str, Any], path: list[Any], stored: Any
) -> None:
    version, plural = collection.split()
    prefix = "/apis" if "/" in version else "/api"
    where = f"{prefix}/{version}/namespaces/default/{plural}"

    answer = shared.call("POST", where, named(spec=spec), dryRun="All")

    assert answer.status == 201, answer.body
    value = answer.body["spec"]
    for step in path:
        value = value.get(step) if isinstance(step, str) else value[step]
    assert value == stored


def test_a_dropped_field_has_the_owner_that_sent_it(shared: Api) -> None:
    group = {"podGroupName": "x"}
    body = named(spec=pod(schedulingGroup=group))

    answer = shared.call("POST", "/api/v1/namespaces/default/pods", body, dryRun="All")

    [entry] = answer.body["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:spec"]["f:schedulingGroup"] == {".": {}, "f:podGroupName": {}}
