"""``metadata.generation``: which kinds have one, and what raises it."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.generations import GENERATION_FIELDS
from tests.testcluster.server.http_api import Api, configmap

PODS = "/api/v1/namespaces/default/pods"
NETWORKING = "/apis/networking.k8s.io/v1"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

POD = {
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "main", "image": "example.com/app:1"}]},
}
SLICE = {
    "metadata": {"name": "a"},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.0.0.1"]}],
}


def _generation(obj: dict[str, Any]) -> Any:
    return obj["metadata"].get("generation")


@pytest.mark.parametrize(
    ("collection", "body", "change"),
    [
        (PODS, POD, {"spec": {"activeDeadlineSeconds": 5}}),
        (
            f"{NETWORKING}/namespaces/default/networkpolicies",
            {"metadata": {"name": "a"}, "spec": {"podSelector": {}}},
            {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
        ),
        (
            f"{NETWORKING}/ingressclasses",
            {"metadata": {"name": "a"}, "spec": {"controller": "example.com/c"}},
            {"spec": {"parameters": {"kind": "K", "name": "n"}}},
        ),
        (SLICES, SLICE, {"endpoints": [{"addresses": ["10.0.0.2"]}]}),
        (SLICES, SLICE, {"metadata": {"labels": {"a": "b"}}}),
    ],
)
def test_a_generation_starts_at_1_and_rises_with_the_kinds_own_fields_only(
    api: Api, collection: str, body: dict[str, Any], change: dict[str, Any]
) -> None:
    created = api.create(collection, body)
    annotated = api.patch(f"{collection}/a", {"metadata": {"annotations": {"a": "b"}}})
    changed = api.patch(f"{collection}/a", change)

    assert [_generation(obj) for obj in (created, annotated, changed)] == [1, 1, 2]


def test_a_driver_has_a_generation_once_it_has_changed(api: Api) -> None:
    drivers = "/apis/storage.k8s.io/v1/csidrivers"
    created = api.create(drivers, {"metadata": {"name": "a"}, "spec": {}})
    changed = api.patch(f"{drivers}/a", {"spec": {"podInfoOnMount": True}})

    assert [_generation(obj) for obj in (created, changed)] == [None, 1]


def test_a_status_does_not_raise_the_generation_of_a_pod(api: Api) -> None:
    api.create(PODS, POD)

    assert _generation(api.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})) == 1


def test_an_annotation_raises_the_generation_of_a_deployment_but_not_by_its_status(
    api: Api,
) -> None:
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"matchLabels": {"a": "b"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    api.create(deployments, {**POD, "spec": {"selector": labels, "template": template}})

    by_status = api.patch(
        f"{deployments}/a/status", {"metadata": {"annotations": {"revision": "1"}}}
    )
    by_itself = api.patch(f"{deployments}/a", {"metadata": {"annotations": {"revision": "2"}}})

    assert by_status["metadata"]["annotations"] == {"revision": "1"}
    assert [_generation(obj) for obj in (by_status, by_itself)] == [1, 2]


def test_the_binding_of_a_pod_does_not_raise_its_generation(api: Api) -> None:
    api.create(PODS, POD)

    api.create(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}})

    assert _generation(api.get(f"{PODS}/a")) == 1


def test_a_priority_class_keeps_generation_1(api: Api) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    created = api.create(classes, {"metadata": {"name": "a"}, "value": 5})
    described = api.patch(f"{classes}/a", {"description": "text"})

    assert [_generation(created), _generation(described)] == [1, 1]


def test_other_kinds_have_no_generation(api: Api) -> None:
    assert _generation(api.create("/api/v1/namespaces/default/configmaps", configmap("a"))) is None


def test_every_kind_in_the_table_is_served() -> None:
    assert GENERATION_FIELDS.keys() <= {resource.kind for resource in builtin_resources()}


def test_the_deletion_of_an_object_with_the_greatest_generation_keeps_it(api: Api) -> None:
    greatest = 2**63 - 1
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    metadata = {"name": "a", "generation": greatest, "finalizers": ["example.com/f"]}
    api.create(leases, {"metadata": metadata, "spec": {}})

    assert _generation(api.delete(f"{leases}/a")) == greatest
    assert _generation(api.patch(f"{leases}/a", {"metadata": {"labels": {"a": "b"}}})) == greatest
