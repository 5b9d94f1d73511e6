"""The status of a resource quota shows its limits and what is used of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.controllers import quotas
from tests.testcluster.server.http_api import MERGE_PATCH, Api, configmap

NAMESPACE = "/api/v1/namespaces/default"
QUOTAS = f"{NAMESPACE}/resourcequotas"
PODS = f"{NAMESPACE}/pods"
CONFIGMAPS = f"{NAMESPACE}/configmaps"
CLAIMS = f"{NAMESPACE}/persistentvolumeclaims"


@pytest.fixture(autouse=True)
def _without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "_FIRST_DELAY", 0)


class Quota:
    """A quota whose status is waited for."""

    def __init__(self, api: Api, hard: dict[str, str], **spec: Any) -> None:
        body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
        version = api.create(QUOTAS, body)["metadata"]["resourceVersion"]
        self._watch = api.watch(QUOTAS, resourceVersion=version)

    def wait_for(self, used: dict[str, str]) -> dict[str, Any]:
        """Return the first status with these amounts."""
        while (status := self.next_status()).get("used") != used:
            pass
        return status

    def next_status(self) -> dict[str, Any]:
        """Return the status after the next change."""
        found: dict[str, Any] = self._watch.next()["object"].get("status", {})
        return found


def pod(name: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "300m", "memory": "64Mi"}, "limits": {"example.com/x": "1"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    return {"metadata": {"name": name}, "spec": {"containers": containers}}


def claim(name: str, attributes_class: str) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
    }
    if attributes_class:
        spec["volumeAttributesClassName"] = attributes_class
    return {"metadata": {"name": name}, "spec": spec}


def test_a_new_quota_shows_its_limits_and_that_nothing_is_used(api: Api) -> None:
    hard = {"pods": "2", "memory": "1Gi", "count/jobs.batch": "5", "services.nodeports": "0"}
    quota = Quota(api, hard)

    assert quota.wait_for(dict.fromkeys(hard, "0"))["hard"] == hard


def test_what_is_used_follows_pods_that_come_and_end_and_go(api: Api) -> None:
    quota = Quota(api, {"pods": "5", "requests.cpu": "2", "requests.memory": "1Gi"})
    api.create(PODS, pod("a"))
    quota.wait_for({"pods": "1", "requests.cpu": "300m", "requests.memory": "64Mi"})
    api.create(PODS, pod("b"))
    quota.wait_for({"pods": "2", "requests.cpu": "600m", "requests.memory": "128Mi"})
    api.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    quota.wait_for({"pods": "1", "requests.cpu": "300m", "requests.memory": "64Mi"})
    api.call("DELETE", f"{PODS}/b", gracePeriodSeconds="0")
    quota.wait_for({"pods": "0", "requests.cpu": "0", "requests.memory": "0"})


def test_objects_from_before_the_quota_count(api: Api) -> None:
    for name in "ab":
        api.create(CONFIGMAPS, configmap(name))
    quota = Quota(api, {"configmaps": "1", "count/configmaps": "5"})

    quota.wait_for({"configmaps": "2", "count/configmaps": "2"})
    api.delete(CONFIGMAPS)
    quota.wait_for({"configmaps": "0", "count/configmaps": "0"})


def test_the_status_follows_the_spec(api: Api) -> None:
    quota = Quota(api, {"configmaps": "1"})
    quota.wait_for({"configmaps": "0"})

    api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"configmaps": None, "secrets": "3"}}})

    assert quota.wait_for({"secrets": "0"})["hard"] == {"secrets": "3"}


def test_what_nothing_uses_is_limited_but_not_used(api: Api) -> None:
    """Of the resources with a domain a quota counts what pods request."""
    hard = {"example.com/x": "1", "limits.example.com/x": "0", "requests.example.com/y": "1"}
    quota = Quota(api, hard)

    assert quota.wait_for({"requests.example.com/y": "0"})["hard"] == hard
    assert api.call("POST", PODS, pod("a")).status == 201


def test_claims_count_for_their_storage_class(api: Api) -> None:
    gold = "gold.storageclass.storage.k8s.io"
    hard = {f"{gold}/requests.storage": "3Gi", f"{gold}/persistentvolumeclaims": "5"}
    quota = Quota(api, hard)
    claims = f"{NAMESPACE}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    annotated = {"annotations": {"volume.beta.kubernetes.io/storage-class": "gold"}}
    api.create(claims, {"metadata": {"name": "a"}, "spec": spec | {"storageClassName": "gold"}})
    api.create(claims, {"metadata": {"name": "b"}, "spec": spec | {"storageClassName": "other"}})
    refused = api.call("POST", claims, {"metadata": {"name": "c"} | annotated, "spec": spec})

    quota.wait_for({f"{gold}/persistentvolumeclaims": "1", f"{gold}/requests.storage": "2Gi"})
    assert refused.status == 403


@pytest.mark.parametrize(
    ("operator", "values", "counted"),
    [
        ("In", ["gold"], "2"),
        ("In", ["bronze"], "0"),
        ("NotIn", ["gold"], "1"),
        ("NotIn", ["bronze"], "3"),
        ("Exists", [], "2"),
        ("DoesNotExist", [], "1"),
    ],
)
def test_claims_are_counted_by_their_attributes_class(
    api: Api, operator: str, values: list[str], counted: str
) -> None:
    for name, attributes in (("a", "gold"), ("b", "gold"), ("c", "")):
        api.create(CLAIMS, claim(name, attributes))
    expression = {"scopeName": "VolumeAttributesClass", "operator": operator}
    if values:
        expression |= {"values": values}  # type: ignore[dict-item]
    scopes = {"scopeSelector": {"matchExpressions": [expression]}}

    quota = Quota(api, {"persistentvolumeclaims": "2"}, **scopes)

    quota.wait_for({"persistentvolumeclaims": counted})


def test_a_claim_that_moves_into_a_scope_is_counted_whole(api: Api) -> None:
    expression = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
    scopes = {"scopeSelector": {"matchExpressions": [expression]}}
    quota = Quota(api, {"requests.storage": "1Gi"}, **scopes)
    api.create(CLAIMS, claim("a", "gold"))
    api.create(CLAIMS, claim("b", "silver"))
    quota.wait_for({"requests.storage": "1Gi"})
    api.patch(f"{CLAIMS}/b/status", {"status": {"phase": "Bound"}})

    moved = {"spec": {"volumeAttributesClassName": "gold"}}
    refused = api.call("PATCH", f"{CLAIMS}/b", moved, content_type=MERGE_PATCH)

    assert refused.status == 403
    assert "requested: requests.storage=1Gi, used: requests.storage=1Gi" in refused.body["message"]

    current = {"status": {"currentVolumeAttributesClassName": "gold"}}
    api.patch(f"{CLAIMS}/b/status", current)
    quota.wait_for({"requests.storage": "2Gi"})
    api.patch(f"{CLAIMS}/b/status", {"status": {"allocatedResources": {"storage": "2.0001Gi"}}})
    quota.wait_for({"requests.storage": "3221332847"})


def test_resource_claims_count_for_their_device_classes(api: Api) -> None:
    """A list of alternatives counts as the most of each class, all devices as 32."""
    gpu, fpga = (f"{name}.deviceclass.resource.k8s.io/devices" for name in ("gpu", "fpga"))
    hard = {gpu: "40", fpga: "4", "count/resourceclaims.resource.k8s.io": "5"}
    quota = Quota(api, hard)
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    every = {"deviceClassName": "gpu", "allocationMode": "All"}
    one, three = ({"deviceClassName": name, "name": name} for name in ("gpu", "fpga"))
    requests = [
        {"name": "a", "exactly": every},
        {"name": "b", "exactly": {"deviceClassName": "gpu"}},
        {"name": "c", "firstAvailable": [one, {**three, "count": 3}]},
    ]
    spec = {"devices": {"requests": requests}}

    api.create(claims, {"metadata": {"name": "a"}, "spec": spec})
    refused = api.call("POST", claims, {"metadata": {"name": "b"}, "spec": spec})

    used = {gpu: "34", fpga: "3", "count/resourceclaims.resource.k8s.io": "1"}
    assert quota.wait_for(used)["used"] == used
    assert refused.status == 403
    assert f"exceeded quota: q, requested: {fpga}=3,{gpu}=34" in refused.body["message"]


def test_a_status_that_is_right_is_not_written(api: Api) -> None:
    quota = Quota(api, {"configmaps": "5"})
    quota.wait_for({"configmaps": "0"})
    before = api.get(f"{QUOTAS}/q")["metadata"]["resourceVersion"]
    api.create(f"{NAMESPACE}/secrets", {"metadata": {"name": "other"}})
    api.create(CONFIGMAPS, configmap("a"))
    quota.wait_for({"configmaps": "1"})
    api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
    api.delete(f"{CONFIGMAPS}/a")
    quota.wait_for({"configmaps": "0"})

    history = api.watch(QUOTAS, resourceVersion=before)
    used = [history.next()["object"]["status"]["used"]["configmaps"] for _ in range(2)]
    history.close()
    assert used == ["1", "0"]


def test_a_status_that_a_client_writes_stays_until_the_next_count(api: Api) -> None:
    quota = Quota(api, {"configmaps": "5"})
    quota.wait_for({"configmaps": "0"})
    api.patch(f"{QUOTAS}/q/status", {"status": {"used": {"configmaps": "3"}}})
    quota.wait_for({"configmaps": "3"})
    assert api.get(f"{QUOTAS}/q")["status"]["used"] == {"configmaps": "3"}

    api.create(CONFIGMAPS, configmap("a"))

    quota.wait_for({"configmaps": "1"})


def test_a_quota_counts_once_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        api = Api(server.url)
        quota = Quota(api, {"configmaps": "5"})
        api.create(CONFIGMAPS, configmap("a"))
        quota.wait_for({"configmaps": "1"})
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        api = Api(server.url)
        version = api.get(f"{QUOTAS}/q")["metadata"]["resourceVersion"]
        watch = api.watch(QUOTAS, resourceVersion=version)
        api.create(CONFIGMAPS, configmap("b"))
        assert watch.next()["object"]["status"]["used"] == {"configmaps": "2"}
        watch.close()


def test_an_object_without_a_namespace_is_not_counted_in_the_one_of_its_name(api: Api) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    count = "count/clusterroles.rbac.authorization.k8s.io"
    quota = Quota(api, {count: "5", "count/configmaps": "5"})
    quota.wait_for({count: "0", "count/configmaps": "0"})
    api.create(roles, {"metadata": {"name": "default"}, "rules": []})
    api.create(CONFIGMAPS, configmap("a"))
    statuses = [quota.next_status()["used"]]
    while statuses[-1]["count/configmaps"] == "0":
        statuses.append(quota.next_status()["used"])
    assert [used[count] for used in statuses] == ["0"] * len(statuses)
