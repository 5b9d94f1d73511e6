"""What limits, quotas, autoscalers and disruption budgets may have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import BUDGETS, CORE, Causes, Object, causes, named

LIMITS = f"{CORE}/limitranges"
QUOTAS = f"{CORE}/resourcequotas"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}, []),
        (
            {"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}},
            [("spec.limits[0].min[cpu]", "Invalid")],
        ),
        ({"type": "Pod", "default": {"cpu": "1"}}, [("spec.limits[0].default", "Forbidden")]),
        ({"type": "X", "max": {"cpu": "1"}}, [("spec.limits[0].type", "Invalid")]),
        ({"type": "PersistentVolumeClaim"}, [("spec.limits[0].limits", "Required")]),
        (
            {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
            [("spec.limits[0].defaultRequest[cpu]", "Invalid")],
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}},
            [("spec.limits[0].maxLimitRequestRatio[cpu]", "Invalid")],
        ),
    ],
)
def test_limit_ranges(shared: Api, item: Object, expected: Causes) -> None:
    assert causes(shared, LIMITS, {"spec": {"limits": [item]}}) == expected


def test_limits_of_containers_complete_each_other(shared: Api) -> None:
    item = {"type": "Container", "max": {"memory": "1Gi"}, "min": {"cpu": "1"}}
    body = named(spec={"limits": [item]})
    [shown] = shared.call("POST", LIMITS, body, dryRun="All").body["spec"]["limits"]

    assert shown["default"] == {"memory": "1Gi"}
    assert shown["defaultRequest"] == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hard": {"pods": "1", "requests.cpu": "1", "count/pods": "1"}}, []),
        ({"hard": {"storage": "1"}}, [("spec.hard[storage]", "Invalid")]),
        ({"hard": {"pods": "-1"}}, [("spec.hard[pods]", "Invalid")]),
        ({"scopes": ["X"]}, [("spec.scopes", "Invalid")]),
        ({"scopes": ["BestEffort", "NotBestEffort"]}, [("spec.scopes", "Invalid")]),
    ],
)
def test_quotas(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, QUOTAS, {"spec": spec}) == expected


SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def scaler(**spec: Any) -> Object:
    return {"scaleTargetRef": SCALED, "maxReplicas": 3, **spec}


def metric(**parts: Any) -> Object:
    return scaler(metrics=[{"type": "Resource", **parts}])


VALUE = {"type": "Value", "value": "1"}
CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (scaler(), []),
        (metric(resource=CPU), []),
        (
            scaler(maxReplicas=0),
            [("spec.maxReplicas", "Invalid"), ("spec.maxReplicas", "Required")],
        ),
        (scaler(minReplicas=5), [("spec.maxReplicas", "Invalid")]),
        (
            scaler(scaleTargetRef={**SCALED, "apiVersion": "v1"}),
            [("spec.scaleTargetRef.apiVersion", "Invalid")],
        ),
        (metric(), [("spec.metrics[0].resource", "Required")]),
        (
            metric(resource={**CPU, "target": {"type": "Utilization"}}),
            [("spec.metrics[0].resource.target.averageUtilization", "Required")],
        ),
        (
            metric(resource={"name": ""}, pods={"target": VALUE, "metric": {"name": "a/b"}}),
            [
                ("spec.metrics[0].pods", "Forbidden"),
                ("spec.metrics[0].pods.metric.name", "Invalid"),
                ("spec.metrics[0].pods.target.averageValue", "Required"),
            ],
        ),
        (
            metric(resource=CPU, containerResource={"name": ""}),
            [("spec.metrics[0].containerResource", "Forbidden")],
        ),
        (
            scaler(behavior={"scaleUp": {"selectPolicy": "X"}}),
            [("spec.behavior.scaleUp.selectPolicy", "NotSupported")],
        ),
    ],
)
def test_autoscalers(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, SCALERS, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%", "selector": {}}, []),
        ({"minAvailable": 1, "maxUnavailable": 1}, [("spec", "Invalid")]),
        ({"minAvailable": -1}, [("spec.minAvailable", "Invalid")]),
        ({"maxUnavailable": "x"}, [("spec.maxUnavailable", "Invalid")]),
        ({"maxUnavailable": "101%"}, [("spec.maxUnavailable", "Invalid")]),
        (
            {"unhealthyPodEvictionPolicy": "X"},
            [("spec.unhealthyPodEvictionPolicy", "NotSupported")],
        ),
    ],
)
def test_budgets(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, BUDGETS, {"spec": spec}) == expected


def test_a_budget_is_updated_with_its_version_only(api: Api) -> None:
    created = api.create(BUDGETS, named(spec={"minAvailable": 1}))
    without = api.call("PUT", f"{BUDGETS}/a", named(spec={"minAvailable": 2}))
    created["spec"]["minAvailable"] = 2

    assert without.body["details"]["causes"][0]["field"] == "metadata.resourceVersion"
    assert api.call("PUT", f"{BUDGETS}/a", created).status == 200
