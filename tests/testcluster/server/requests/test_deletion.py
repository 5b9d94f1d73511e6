"""Deletions: grace periods, propagation, finalizers and preconditions."""

from __future__ import annotations

import time
from typing import Any

import pytest

from clientgo.meta.timestamps import parse_time
from tests.testcluster.server.http_api import CONFIGMAPS, MERGE_PATCH, Api, configmap

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def pod(name: str, node: str = "n1", grace: int | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    return {"metadata": {"name": name}, "spec": spec}


def test_a_pending_deletion_is_shortened_but_never_prolonged(api: Api) -> None:
    api.create(PODS, pod("a"))
    path = f"{PODS}/a"

    first = api.delete(path, {"gracePeriodSeconds": 20})["metadata"]
    for options in (None, {"gracePeriodSeconds": 20}, {"gracePeriodSeconds": 60}):
        assert api.delete(path, options)["metadata"] == first
    sooner = api.delete(path, {"gracePeriodSeconds": 5})["metadata"]

    assert (first["deletionGracePeriodSeconds"], sooner["deletionGracePeriodSeconds"]) == (20, 5)
    assert sooner["deletionTimestamp"] < first["deletionTimestamp"]
    assert sooner["generation"] == first["generation"]
    api.delete(path, {"gracePeriodSeconds": 0})
    assert api.call("GET", path).status == 404


def test_the_default_grace_period_is_for_the_begin_of_a_deletion_only(api: Api) -> None:
    api.create(PODS, pod("a", grace=0))

    api.delete(f"{PODS}/a", {"gracePeriodSeconds": 2})
    again = api.delete(f"{PODS}/a")

    assert again["metadata"]["deletionGracePeriodSeconds"] == 2


@pytest.mark.parametrize("grace", [2**33, 10**10, 2**63 - 1])
def test_a_grace_period_that_no_duration_holds_has_a_time_of_deletion(api: Api, grace: int) -> None:
    api.create(PODS, pod("a"))

    deleted = api.delete(f"{PODS}/a", {"gracePeriodSeconds": grace})

    assert deleted["metadata"]["deletionGracePeriodSeconds"] == grace
    assert parse_time(deleted["metadata"]["deletionTimestamp"]) < time.time() + 2**63 / 10**9


def test_a_negative_grace_period_is_one_second(api: Api) -> None:
    api.create(PODS, pod("a"))

    deleted = api.delete(f"{PODS}/a", {"gracePeriodSeconds": -7})

    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 1


def test_finalizers_do_not_change_while_a_grace_period_passes(api: Api) -> None:
    api.create(PODS, pod("a"))
    api.delete(f"{PODS}/a")

    again = api.delete(f"{PODS}/a", {"propagationPolicy": "Orphan"})

    assert "finalizers" not in again["metadata"]


def test_jobs_keep_their_pods_unless_the_client_says_otherwise(api: Api) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}

    def delete(**options: Any) -> tuple[list[str], int]:
        api.create(
            JOBS,
            {"metadata": {"name": "a", "finalizers": ["e.com/x"]}, "spec": {"template": template}},
        )
        answer = api.call("DELETE", f"{JOBS}/a", options or None)
        api.patch(f"{JOBS}/a", {"metadata": {"finalizers": None}})
        return answer.body["metadata"]["finalizers"], len(answer.warnings)

    assert delete() == (["e.com/x", "orphan"], 1)
    assert delete(propagationPolicy="Background") == (["e.com/x"], 0)
    assert delete(propagationPolicy="Orphan") == (["e.com/x", "orphan"], 0)
    assert delete(orphanDependents=False) == (["e.com/x"], 0)


def test_a_finalizer_of_the_object_counts_as_its_propagation(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a", finalizers=["foregroundDeletion", "e.com/x"]))

    deleted = api.call("DELETE", f"{CONFIGMAPS}/a", {"propagationPolicy": "Orphan"})
    kept = deleted.body["metadata"]["finalizers"]

    assert kept == ["e.com/x", "orphan"]


def test_deleting_dependents_of_an_object_that_stays_is_accepted(api: Api) -> None:
    for name, finalizers in (("stays", ["e.com/x"]), ("goes", [])):
        api.create(CONFIGMAPS, configmap(name, finalizers=finalizers))

    statuses = [
        api.call("DELETE", f"{CONFIGMAPS}/{name}", {"orphanDependents": False}).status
        for name in ("stays", "goes")
    ]

    assert statuses == [202, 200]


def causes(api: Api, path: str, metadata: dict[str, Any]) -> list[str]:
    answer = api.call("PATCH", path, {"metadata": metadata}, MERGE_PATCH)
    assert answer.status == 422, answer
    return sorted(cause["field"] for cause in answer.body["details"]["causes"])


def test_each_check_of_metadata_reports_its_errors(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    api.create(leases, {"metadata": {"name": "a"}, "spec": {}})
    services = "/api/v1/namespaces/default/services"
    api.create(services, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})

    bad = {"finalizers": ["not qualified"]}
    both = {"finalizers": ["orphan", "foregroundDeletion"]}
    unqualified = {"finalizers": ["kubernetes", "other"]}

    assert (
        causes(api, f"{CONFIGMAPS}/a", bad)
        == ["metadata.finalizers"] * 2 + ["metadata.finalizers[0]"] * 2
    )
    assert causes(api, f"{services}/a", both) == ["metadata.finalizers"]
    assert causes(api, f"{CONFIGMAPS}/a", both) == ["metadata.finalizers"] * 2
    assert causes(api, f"{services}/a", unqualified) == ["metadata.finalizers[1]"]
    api.patch(f"{leases}/a", {"metadata": unqualified})


def test_the_status_of_a_pod_is_checked_as_a_change_only(api: Api) -> None:
    api.create(PODS, pod("a"))
    labels = {"labels": {"not a key": "v"}}

    assert len(causes(api, f"{PODS}/a", labels)) == 4
    assert len(causes(api, f"{PODS}/a/status", labels)) == 3


def test_annotations_raise_the_generation_of_deployments_only(api: Api) -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    for plural, expected in (("deployments", 2), ("replicasets", 1)):
        path = f"/apis/apps/v1/namespaces/default/{plural}"
        api.create(path, {"metadata": {"name": "a"}, "spec": spec})
        changed = api.patch(f"{path}/a", {"metadata": {"annotations": {"n": "1"}}})
        assert changed["metadata"]["generation"] == expected, plural


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("certificate", "key", "warning"),
    [
        ("x", KEY, "failed to find any PEM data in certificate input"),
        (CERTIFICATE, "x", "failed to find any PEM data in key input"),
        (KEY, CERTIFICATE, "PEM inputs may have been switched"),
        (CERTIFICATE, CERTIFICATE, "found a certificate rather than a key"),
        (CERTIFICATE.replace("CERTIFICATE", "X"), KEY, "of the following types: [X]"),
        (CERTIFICATE, KEY, ""),
    ],
)
def test_a_certificate_that_can_not_be_read_gives_a_warning(
    api: Api, certificate: str, key: str, warning: str
) -> None:
    data = {"tls.crt": certificate, "tls.key": key}
    secret = {"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "stringData": data}

    answer = api.call("POST", "/api/v1/namespaces/default/secrets", secret)

    assert answer.status == 201
    assert warning in " ".join(answer.warnings)
    assert bool(warning) is bool(answer.warnings)


def test_an_object_of_owners_that_never_existed_goes_after_a_while(api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "Secret", "name": "o", "uid": "u"}
    created = api.create(CONFIGMAPS, configmap("a", ownerReferences=[owner]))

    changed = api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "w"}})

    watch = api.watch(CONFIGMAPS, resourceVersion=created["metadata"]["resourceVersion"])
    assert [watch.next()["type"] for _ in range(2)] == ["MODIFIED", "DELETED"]
    assert changed["data"] == {"k": "w"}
    watch.close()
