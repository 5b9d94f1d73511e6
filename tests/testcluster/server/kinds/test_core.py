"""What Events, Secrets, Nodes, Leases and subresources of Pods may have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import MERGE_PATCH, Api
from tests.testcluster.server.kinds.causes import CORE, Causes, Object, causes, change, named

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
SECRETS = f"{CORE}/secrets"
NODES = "/api/v1/nodes"
EVENT = {
    "eventTime": "2024-01-02T03:04:05.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "c-1",
    "action": "Act",
    "reason": "Because",
    "type": "Normal",
    "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"type": "X"}, [("type", "Invalid")]),
        ({"action": ""}, [("action", "Required")]),
        ({"reason": "x" * 129}, [("reason", "Invalid")]),
        ({"deprecatedCount": 2}, [("count", "Invalid")]),
        (
            {"series": {"count": 1, "lastObservedTime": "2024-01-02T03:04:05.000000Z"}},
            [("series.count", "Invalid")],
        ),
        ({"reportingController": "a b"}, [("reportingController", "Invalid")]),
    ],
)
def test_events(shared: Api, fields: Object, expected: Causes) -> None:
    assert causes(shared, EVENTS, {**EVENT, **fields}) == expected


def test_only_the_series_of_an_event_changes(api: Api) -> None:
    api.create(EVENTS, named(**EVENT))
    series = {"count": 2, "lastObservedTime": "2024-01-02T03:04:06.000000Z"}
    path = f"{EVENTS}/a"

    assert change(api, path, {"series": series}) == []
    assert change(api, path, {"note": "other"}) == [("message", "Invalid")]
    assert change(api, path, {"reason": "Other"}) == [("reason", "Invalid")] * 2


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("kubernetes.io/basic-auth", {"username": "eA=="}, []),
        (
            "kubernetes.io/basic-auth",
            {},
            [("data[password]", "Required"), ("data[username]", "Required")],
        ),
        ("kubernetes.io/dockercfg", {".dockercfg": "e30="}, []),
        ("kubernetes.io/dockercfg", {".dockercfg": "eA=="}, [("data[.dockercfg]", "Invalid")]),
        (
            "kubernetes.io/service-account-token",
            {},
            [("metadata.annotations[kubernetes.io/service-account.name]", "Required")],
        ),
        ("Opaque", {"..": "eA=="}, [("data[..]", "Invalid")]),
    ],
)
def test_secrets(shared: Api, kind: str, data: Object, expected: Causes) -> None:
    assert causes(shared, SECRETS, {"type": kind, "data": data}) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"spec": {"podCIDR": "10.0.0.0/24"}}, []),
        ({"spec": {"podCIDRs": ["x"]}}, [("spec.podCIDRs[0]", "Invalid")]),
        (
            {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}},
            [("spec.podCIDRs", "Invalid")],
        ),
        (
            {"spec": {"taints": [{"key": "k", "effect": "X"}]}},
            [("metadata.taints[0].effect", "NotSupported")],
        ),
        ({"spec": {"taints": [{"key": "k"}]}}, [("metadata.taints[0].effect", "Required")]),
        (
            {"status": {"capacity": {"cpu": "-1"}}},
            [("status.allocatable.cpu", "Invalid"), ("status.capacity.cpu", "Invalid")],
        ),
    ],
)
def test_nodes(shared: Api, body: Object, expected: Causes) -> None:
    assert causes(shared, NODES, body) == expected


def test_a_node_is_created_with_its_status(shared: Api) -> None:
    body = named(status={"capacity": {"cpu": "4"}})
    status = shared.call("POST", NODES, body, dryRun="All").body["status"]

    assert status["allocatable"] == status["capacity"] == {"cpu": "4"}
    assert status["nodeInfo"]["kubeletVersion"] == ""


def test_a_generation_that_the_server_does_not_count_is_the_clients(shared: Api) -> None:
    def created(generation: int) -> Any:
        metadata = {"name": "a", "generation": generation}
        return shared.call("POST", SECRETS, {"metadata": metadata}, dryRun="All")

    assert created(9).body["metadata"]["generation"] == 9
    assert created(-1).body["details"]["causes"][0]["field"] == "metadata.generation"


def test_a_lease_has_no_fields_of_coordinated_election(shared: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"holderIdentity": "me", "preferredHolder": "you", "strategy": "OldestEmulationVersion"}

    assert shared.call("POST", path, named(spec=spec), dryRun="All").body["spec"] == {
        "holderIdentity": "me"
    }


def test_an_update_of_a_node_checks_taints_twice_and_addresses_once(api: Api) -> None:
    address = {"type": "InternalIP", "address": "1.2.3.4"}
    api.create(NODES, {"metadata": {"name": "n"}})
    path = f"{NODES}/n"
    taint = {"spec": {"taints": [{"key": "-x", "effect": "NoSchedule"}]}}
    tainted = api.call("PATCH", path, taint, MERGE_PATCH)
    addresses = {"status": {"addresses": [address, address], "capacity": {"pods": "1.5"}}}
    status = api.call("PATCH", f"{path}/status", addresses, MERGE_PATCH)

    fields = [cause["field"] for cause in tainted.body["details"]["causes"]]
    assert fields == ["metadata.taints[0].key"] * 2
    fields = [cause["field"] for cause in status.body["details"]["causes"]]
    assert sorted(fields) == [
        "status.addresses[1]",
        "status.allocatable.pods",
        "status.capacity.pods",
    ]


def test_credentials_of_a_registry_are_a_json_object(shared: Api) -> None:
    for text, expected in (("{}", []), ("null", []), ("1", "Invalid"), ("x", "Invalid")):
        body = {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": text}}
        assert causes(shared, SECRETS, body) == (expected and [("data[.dockercfg]", expected)])


def test_the_bytes_of_a_secret_are_counted_without_base64(shared: Api) -> None:
    fits = {"stringData": {"a": "x" * 1024 * 1024}}
    assert causes(shared, SECRETS, fits) == []
    too_long = {"stringData": {"a": "x" * (1024 * 1024 + 1)}}
    assert causes(shared, SECRETS, too_long) == [("data", "TooLong")]


def test_a_name_that_is_no_hostname_is_warned_of(shared: Api) -> None:
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    workload = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    once = {"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}}
    for path, spec, use in (
        (f"{CORE}/pods", {"containers": containers}, "the Pod's hostname"),
        ("/apis/apps/v1/namespaces/default/deployments", workload, "Pod names and hostnames"),
        ("/apis/batch/v1/namespaces/default/jobs", once, "Pod names and hostnames"),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {"schedule": "* * * * *", "jobTemplate": {"spec": once}},
            "Pod names and hostnames",
        ),
    ):
        body = {"metadata": {"name": "a.b"}, "spec": spec}
        answer = shared.call("POST", path, body, dryRun="All")
        assert answer.status == 201, answer.body
        assert f"metadata.name: this is used in {use}" in answer.warnings[0]
        assert "[must not contain dots]" in answer.warnings[0]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"metadata": "x", "target": {"name": "n"}}, 400),
        ({"metadata": {"name": "p"}, "target": "x"}, 400),
        ({"metadata": {"name": "p"}, "target": None}, 500),
        ({"metadata": {"name": "q"}, "target": {"name": "n"}}, 400),
        ({"metadata": {"name": "p"}, "target": {"name": "n", "kind": "Pod"}}, 500),
    ],
)
def test_a_binding_that_can_not_be_read_is_refused(shared: Api, body: Object, status: int) -> None:
    assert shared.call("POST", f"{CORE}/pods/p/binding", body).status == status


def test_an_eviction_that_can_not_be_read_is_refused(shared: Api) -> None:
    assert shared.call("POST", f"{CORE}/pods/p/eviction", {"metadata": "x"}).status == 400
