"""Services, budgets, volumes, nodes."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import (
    ContainerPort,
    Endpoints,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
)
from clientgo.api.discovery_v1 import EndpointSlice
from clientgo.api.policy_v1 import PodDisruptionBudget
from clientgo.api.storage_v1 import StorageClass
from clientgo.meta import NotFoundError, to_plain
from clientgo.testing.fakes.actions import Action
from tests.testcluster.workloads.objects import deployment, made, pod
from tests.testcluster.workloads.still_cluster import StillCluster


def addresses(cluster: StillCluster) -> list[tuple[str, bool | None]]:
    return [
        (endpoint.addresses[0], endpoint.conditions.ready)
        for each in cluster.all(EndpointSlice)
        if each.metadata.name.startswith("web-")
        for endpoint in each.endpoints or ()
    ]


def claim(name: str = "data", **spec: object) -> PersistentVolumeClaim:
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    }
    return made(PersistentVolumeClaim, plain)  # type: ignore[no-any-return]


def test_a_service_has_the_addresses_of_its_pods(cluster: StillCluster) -> None:
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    cluster.create(made(Service, plain), deployment(replicas=2))
    assert addresses(cluster) == []

    cluster.step(1)
    assert addresses(cluster) == [("10.128.0.1", True), ("10.128.0.2", True)]
    assert cluster.settle() == 0

    first, _ = cluster.pods(app="web")
    cluster.patch(type(first), first.metadata.name, {"metadata": {"labels": {"app": "other"}}})
    cluster.step(1)
    assert len(addresses(cluster)) == 2
    assert first.status.pod_ip not in dict(addresses(cluster))


def test_a_named_port_with_two_numbers_makes_two_slices(cluster: StillCluster) -> None:
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
    }
    pods = [pod(f"web-{number}") for number in (8080, 9090)]
    for number, each in zip((8080, 9090), pods, strict=True):
        each.metadata.labels = {"app": "web"}
        each.spec.containers[0].ports = [ContainerPort(container_port=number, name="http")]
    cluster.create(made(Service, plain), *pods)
    cluster.step(1)

    slices = {
        each.ports[0].port: [one.target_ref.name for one in each.endpoints]
        for each in cluster.all(EndpointSlice)
        if each.metadata.labels.get("kubernetes.io/service-name") == "web"
    }
    assert slices == {8080: ["web-8080"], 9090: ["web-9090"]}
    assert cluster.settle() == 0


def test_endpoints_of_a_service_without_a_selector_are_mirrored(cluster: StillCluster) -> None:
    plain = {"metadata": {"name": "db", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
    subset = {
        "addresses": [{"ip": "10.1.2.3"}, {"ip": "fd00::1"}],
        "notReadyAddresses": [{"ip": "10.1.2.4"}],
        "ports": [{"name": "sql", "port": 5432}],
    }
    endpoints = {"metadata": {"name": "db", "namespace": "default"}, "subsets": [subset]}
    cluster.create(made(Service, plain), made(Endpoints, endpoints))

    def mirrored() -> list[tuple[str, list[tuple[str, bool | None]], list[int | None]]]:
        return sorted(
            (
                each.address_type,
                [(one.addresses[0], one.conditions.ready) for one in each.endpoints],
                [port.port for port in each.ports],
            )
            for each in cluster.all(EndpointSlice)
            if each.metadata.labels.get("kubernetes.io/service-name") == "db"
        )

    assert mirrored() == [
        ("IPv4", [("10.1.2.3", True), ("10.1.2.4", False)], [5432]),
        ("IPv6", [("fd00::1", True)], [5432]),
    ]
    assert cluster.settle() == 0

    changed = {"addresses": [{"ip": "10.9.9.9"}], "ports": [{"name": "sql", "port": 5433}]}
    cluster.patch(Endpoints, "db", {"subsets": [changed]})
    assert mirrored() == [("IPv4", [("10.9.9.9", True)], [5433])]

    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    cluster.patch(Endpoints, "db", {"metadata": {"labels": skip}})
    assert mirrored() == []


def test_a_budget_says_how_many_pods_may_go(cluster: StillCluster) -> None:
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    cluster.create(made(PodDisruptionBudget, plain), deployment(replicas=3))
    assert cluster.get(PodDisruptionBudget, "web").status.disruptions_allowed == 0

    cluster.step(1)

    status = cluster.get(PodDisruptionBudget, "web").status
    assert (status.expected_pods, status.current_healthy, status.disruptions_allowed) == (3, 3, 1)
    assert status.observed_generation == 1
    assert cluster.settle() == 0


def test_a_claim_gets_a_volume_that_goes_with_it(cluster: StillCluster) -> None:
    cluster.create(claim())

    bound = cluster.get(PersistentVolumeClaim, "data")
    (volume,) = cluster.all(PersistentVolume)
    assert (bound.status.phase, volume.status.phase) == ("Bound", "Bound")
    assert bound.spec.volume_name == volume.metadata.name

    cluster.delete(PersistentVolumeClaim, "data")
    assert cluster.all(PersistentVolume) == []


def test_a_claim_may_wait_for_its_first_pod(cluster: StillCluster) -> None:
    plain = {
        "metadata": {"name": "slow"},
        "provisioner": "example.com/disk",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Retain",
    }
    cluster.create(made(StorageClass, plain), claim(storageClassName="slow"))
    assert cluster.all(PersistentVolume) == []

    source = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    plain_pod = pod("user").to_dict()
    plain_pod["spec"]["volumes"] = [source]
    cluster.create(made(type(pod()), plain_pod))
    cluster.step(1)
    assert cluster.get(PersistentVolumeClaim, "data").status.phase == "Bound"
    assert cluster.get(type(pod()), "user").status.phase == "Running"


def free_volume(**spec: Any) -> PersistentVolume:
    plain: dict[str, Any] = {
        "metadata": {"name": "free"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "example.com", "volumeHandle": "x"},
            "storageClassName": "free",
            **spec,
        },
    }
    return made(PersistentVolume, plain)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("of_volume", "of_claim"),
    [
        ({"volumeMode": "Block"}, {}),
        ({}, {"volumeMode": "Block"}),
        ({"volumeAttributesClassName": "gold"}, {}),
        ({}, {"volumeAttributesClassName": "gold"}),
        ({}, {"selector": {"matchLabels": {"disk": "ssd"}}}),
        ({"capacity": {"storage": "1Mi"}}, {}),
        ({"storageClassName": "other"}, {}),
        ({"accessModes": ["ReadWriteMany"]}, {}),
    ],
)
def test_a_volume_must_fit_its_claim(
    cluster: StillCluster, of_volume: dict[str, Any], of_claim: dict[str, Any]
) -> None:
    cluster.create(free_volume(**of_volume), claim(storageClassName="free", **of_claim))

    assert cluster.get(PersistentVolumeClaim, "data").spec.volume_name.startswith("pvc-")


def test_what_others_write_about_a_bound_claim_stays(cluster: StillCluster) -> None:
    same = {"volumeAttributesClassName": "gold", "volumeMode": "Block"}
    volume = free_volume(**same)
    volume.metadata.labels = {"disk": "ssd"}
    selector = {"matchLabels": {"disk": "ssd"}}
    cluster.create(volume, claim(storageClassName="free", selector=selector, **same))
    before = to_plain(cluster.get(PersistentVolumeClaim, "data"))["status"]
    assert (before["phase"], before["currentVolumeAttributesClassName"]) == ("Bound", "gold")

    changed = {
        "capacity": {"storage": "5Gi"},
        "currentVolumeAttributesClassName": "silver",
        "allocatedResources": {"storage": "6Gi"},
    }
    cluster.patch(PersistentVolumeClaim, "data", {"status": changed}, subresource="status")

    kept = to_plain(cluster.get(PersistentVolumeClaim, "data"))["status"]
    assert kept == {**before, **changed}


def test_a_volume_without_a_claim_can_be_deleted(cluster: StillCluster) -> None:
    cluster.create(free_volume())
    assert cluster.get(PersistentVolume, "free").metadata.finalizers

    cluster.delete(PersistentVolume, "free")
    assert cluster.all(PersistentVolume) == []


def test_a_volume_is_gone_only_if_the_404_names_it(cluster: StillCluster) -> None:
    named = "free"

    def not_found(action: Action) -> None:
        if str(action).startswith("patch persistentvolumes"):
            raise NotFoundError.of("not here", name=named)

    cluster.create(free_volume())
    cluster.asked.before = not_found
    cluster.delete(PersistentVolume, "free")
    named = ""
    with pytest.raises(NotFoundError, match="not here"):
        cluster.settle()
    cluster.asked.before = None
    cluster.settle()
    assert cluster.all(PersistentVolume) == []


def test_nodes_renew_their_leases_and_nothing_else(cluster: StillCluster) -> None:
    def renewed() -> list[str | None]:
        return [lease.spec.renew_time for lease in cluster.all(Lease)]

    first = renewed()
    version = cluster.get(Node, "node-1").metadata.resource_version
    assert len(first) == 2

    cluster.step(11)

    assert all(later > earlier for earlier, later in zip(first, renewed(), strict=True))  # type: ignore[operator]
    assert cluster.get(Node, "node-1").metadata.resource_version == version
