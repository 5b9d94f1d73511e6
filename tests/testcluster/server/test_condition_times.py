"""Times of conditions are always written; unset ones are null."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api

PODS = "/api/v1/namespaces/default/pods"
SPEC = {"containers": [{"name": "main", "image": "example.com/app:1"}]}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LABELS = {"app": "a"}
DEPLOYMENT = {
    "metadata": {"name": "a"},
    "spec": {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": SPEC},
    },
}
TIME = "2026-01-02T03:04:05Z"


def _condition(api: Api, collection: str, body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    api.create(collection, body)
    condition = {"type": "Ready", "status": "True", **fields}
    api.patch(f"{collection}/a/status", {"status": {"conditions": [condition]}})
    [read] = api.get(f"{collection}/a")["status"]["conditions"]
    assert read["type"] == "Ready"
    return {name: value for name, value in read.items() if name.endswith("Time")}


@pytest.mark.parametrize(
    ("collection", "body", "times"),
    [
        (DEPLOYMENTS, DEPLOYMENT, {"lastTransitionTime", "lastUpdateTime"}),
        (PODS, {"metadata": {"name": "a"}, "spec": SPEC}, {"lastProbeTime", "lastTransitionTime"}),
        ("/api/v1/nodes", {"metadata": {"name": "a"}}, {"lastHeartbeatTime", "lastTransitionTime"}),
    ],
)
def test_unset_times_of_conditions_are_null(
    api: Api, collection: str, body: dict[str, Any], times: set[str]
) -> None:
    assert _condition(api, collection, body) == dict.fromkeys(times)


def test_a_time_that_is_null_stays_null_and_one_that_is_set_stays(api: Api) -> None:
    times = {"lastTransitionTime": TIME, "lastUpdateTime": None}

    assert _condition(api, DEPLOYMENTS, DEPLOYMENT, **times) == times


def test_an_unset_time_elsewhere_is_left_out(api: Api) -> None:
    pod = api.create(PODS, {"metadata": {"name": "a"}, "spec": SPEC})
    patched = api.patch(f"{PODS}/a/status", {"status": {"startTime": None}})

    assert "startTime" not in pod["status"]
    assert "startTime" not in patched["status"]
