"""The defaults of built-in kinds that are not run."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.kinds.tables.builtin_table import BuiltinTable
from tests.testcluster.server.http_api import Api

CORE = "/api/v1"
NETWORKING = "/apis/networking.k8s.io/v1"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CLAIMS = f"{CORE}/namespaces/default/persistentvolumeclaims"
CLAIM = {
    "metadata": {"name": "a"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
NO_DISRUPTION = {
    "currentHealthy": 0,
    "desiredHealthy": 0,
    "disruptionsAllowed": 0,
    "expectedPods": 0,
}


def test_a_default_is_set_in_every_item_of_a_list_and_never_replaces_a_value() -> None:
    slice_: dict[str, Any] = {"ports": [{"port": 1}, {"port": 2, "protocol": "UDP"}]}

    BuiltinTable("discovery.k8s.io/v1", "EndpointSlice").set_defaults(slice_)

    assert [item["protocol"] for item in slice_["ports"]] == ["TCP", "UDP"]
    assert slice_["endpoints"] is None


def test_a_default_does_not_create_its_parent() -> None:
    ingress_class: dict[str, Any] = {"spec": {"controller": "c"}}

    BuiltinTable("networking.k8s.io/v1", "IngressClass").set_defaults(ingress_class)

    assert ingress_class == {"spec": {"controller": "c"}}


def test_objects_do_not_share_a_default() -> None:
    first: dict[str, Any] = {"status": {}}
    second: dict[str, Any] = {"status": {}}
    table = BuiltinTable("networking.k8s.io/v1", "Ingress")
    table.set_defaults(first)
    first["status"]["loadBalancer"]["ingress"] = []

    table.set_defaults(second)

    assert second == {"status": {"loadBalancer": {}}}


@pytest.mark.parametrize(
    ("collection", "body", "expected"),
    [
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            {"provisioner": "example.com/p"},
            {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"value": 1},
            {"preemptionPolicy": "PreemptLowerPriority"},
        ),
        (
            f"{NETWORKING}/ingressclasses",
            {"spec": {"controller": "example.com/c", "parameters": {"kind": "K", "name": "n"}}},
            {"spec": {"parameters": {"scope": "Cluster"}}},
        ),
        (BUDGETS, {"spec": {"minAvailable": 1}}, {"status": NO_DISRUPTION}),
        (
            CLAIMS,
            {"spec": CLAIM["spec"]},
            {"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}},
        ),
    ],
)
def test_a_new_object_has_the_defaults_of_its_kind(
    api: Api, collection: str, body: dict[str, Any], expected: dict[str, Any]
) -> None:
    created = api.create(collection, {"metadata": {"name": "a"}, **body})

    _assert_contains(created, expected)


def _assert_contains(value: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, part in expected.items():
        if isinstance(part, dict):
            _assert_contains(value[name], part)
        else:
            assert value[name] == part


def test_a_status_that_was_written_stays_and_the_rest_has_its_zeros(api: Api) -> None:
    api.create(BUDGETS, {"metadata": {"name": "a"}, "spec": {"minAvailable": 1}})

    written = api.patch(f"{BUDGETS}/a/status", {"status": {"expectedPods": 3}})

    assert written["status"] == {**NO_DISRUPTION, "expectedPods": 3}


def test_a_bound_claim_stays_bound(api: Api) -> None:
    api.create(CLAIMS, CLAIM)
    api.patch(f"{CLAIMS}/a/status", {"status": {"phase": "Bound"}})

    changed = api.patch(f"{CLAIMS}/a", {"metadata": {"labels": {"a": "b"}}})

    assert changed["status"]["phase"] == "Bound"


AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


def test_an_autoscaler_without_metrics_scales_by_cpu(api: Api) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 5}

    created = api.create(AUTOSCALERS, {"metadata": {"name": "a"}, "spec": spec})

    [metric] = created["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"egress": [{}], "policyTypes": ["Egress"]}, ["Egress"]),
    ],
)
def test_the_types_of_a_network_policy_follow_from_its_rules(
    api: Api, spec: dict[str, Any], types: list[str]
) -> None:
    policies = f"{NETWORKING}/namespaces/default/networkpolicies"
    body = {"metadata": {"name": "a"}, "spec": {"podSelector": {}, **spec}}

    assert api.create(policies, body)["spec"]["policyTypes"] == types
