"""Cells of built-in kinds: what kubectl users read in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.columns.table import columns_for

Object = dict[str, Any]


def cells(api_version: str, plural: str, obj: Object) -> Object:
    obj = {"metadata": {"name": "a"}, "spec": {}, **obj}
    return {item.name: item.cell(obj) for item in columns_for(api_version, plural)}


def ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("api_version", "plural"),
    [(item.api_version, item.plural) for item in builtin_resources() if "list" in item.verbs],
    ids=str,
)
def test_an_object_without_optional_fields_has_all_its_cells(api_version: str, plural: str) -> None:
    columns = columns_for(api_version, plural)

    row = cells(api_version, plural, {"roleRef": {}})

    assert all(isinstance(cell, str | int | bool | None) for cell in row.values())
    assert all(item.description.endswith(".") for item in columns), "each is explained"


# -- pods


def container(state: Object, *, ready: bool = False, restarts: int = 0, **more: Any) -> Object:
    return {"name": "c", "state": state, "ready": ready, "restartCount": restarts, **more}


RUNNING: Object = {"running": {}}
DONE: Object = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def waiting(reason: str) -> Object:
    return {"waiting": {"reason": reason}}


def failed(**how: Any) -> Object:
    return {"terminated": {"exitCode": 1, **how}}


def pod(
    phase: str,
    *statuses: Object,
    init: tuple[Object, ...] = (),
    inits: int = 0,
    **status: Any,
) -> Object:
    return {
        "spec": {
            "containers": [{"name": "c"}] * max(1, len(statuses)),
            "initContainers": [{"name": f"i{number}"} for number in range(inits)],
        },
        "status": {
            "phase": phase,
            "containerStatuses": list(statuses),
            "initContainerStatuses": list(init),
            **status,
        },
    }


@pytest.mark.parametrize(
    ("obj", "ready", "status"),
    [
        (pod("Pending"), "0/1", "Pending"),
        (pod("Pending", container(waiting("ContainerCreating"))), "0/1", "ContainerCreating"),
        (pod("Running", container(RUNNING, ready=True)), "1/1", "Running"),
        (pod("Running", container(RUNNING, ready=True), container(RUNNING)), "1/2", "Running"),
        (pod("Running", container(waiting("CrashLoopBackOff"))), "0/1", "CrashLoopBackOff"),
        (pod("Pending", container(waiting("ImagePullBackOff"))), "0/1", "ImagePullBackOff"),
        (pod("Succeeded", container(DONE)), "0/1", "Completed"),
        (pod("Failed", container(failed(reason="Error"))), "0/1", "Error"),
        (pod("Failed", container(failed(signal=9))), "0/1", "Signal:9"),
        (pod("Failed", container(failed())), "0/1", "ExitCode:1"),
        (pod("Failed", reason="Evicted"), "0/1", "Evicted"),
        (pod("Running", container(DONE), container(RUNNING, ready=True)), "1/2", "NotReady"),
        (pod("Pending", inits=2, init=(container(RUNNING),)), "0/1", "Init:0/2"),
        (pod("Pending", container(waiting("PodInitializing")), inits=2,
             init=(container(DONE), container(RUNNING))), "0/1", "Init:1/2"),
        (pod("Pending", inits=1, init=(container(waiting("PodInitializing")),)), "0/1", "Init:0/1"),
        (pod("Pending", inits=1, init=(container(waiting("ErrImagePull")),)),
         "0/1", "Init:ErrImagePull"),
        (pod("Pending", inits=1, init=(container(failed(reason="Error")),)), "0/1", "Init:Error"),
        (pod("Pending", inits=1, init=(container(failed(),),)), "0/1", "Init:ExitCode:1"),
        (pod("Running", container(RUNNING, ready=True), inits=1, init=(container(DONE),)),
         "1/1", "Running"),
        (pod("Pending", conditions=[
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]),
         "0/1", "SchedulingGated"),
    ],
)  # fmt: skip
def test_a_pod_shows_the_status_of_its_containers(obj: Object, ready: str, status: str) -> None:
    row = cells("v1", "pods", obj)

    assert (row["Ready"], row["Status"]) == (ready, status)


def test_a_pod_runs_again_if_one_of_its_containers_is_done_and_it_is_ready() -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    obj = pod("Running", container(DONE), container(RUNNING, ready=True), conditions=conditions)

    assert cells("v1", "pods", obj)["Status"] == "Running"


def test_a_sidecar_counts_as_a_container_once_it_has_started() -> None:
    sidecar = container(RUNNING, ready=True, restarts=2, started=True) | {"name": "i0"}
    obj = pod("Running", container(RUNNING, ready=True, restarts=1), inits=1, init=(sidecar,))
    obj["spec"]["initContainers"][0]["restartPolicy"] = "Always"

    row = cells("v1", "pods", obj)

    assert (row["Ready"], row["Status"], row["Restarts"]) == ("2/2", "Running", "3")


def test_restarts_of_init_containers_count_until_they_are_done() -> None:
    tried = container(waiting("CrashLoopBackOff"), restarts=3)
    over = container(DONE, restarts=3)

    before = pod("Pending", container(waiting("PodInitializing")), inits=1, init=(tried,))
    after = pod("Running", container(RUNNING, ready=True, restarts=1), inits=1, init=(over,))

    assert [cells("v1", "pods", obj)["Restarts"] for obj in (before, after)] == ["3", "1"]


@pytest.mark.parametrize(
    ("phase", "status"), [("Running", "Terminating"), ("Succeeded", "Completed")]
)
def test_a_pod_that_is_deleted_terminates_unless_it_is_over(phase: str, status: str) -> None:
    obj = pod(phase, container(DONE)) | {"metadata": {"deletionTimestamp": ago(seconds=5)}}

    assert cells("v1", "pods", obj)["Status"] == status


def test_restarts_show_the_time_of_the_last_one() -> None:
    before = {"terminated": {"finishedAt": ago(minutes=30)}}
    obj = pod("Running", container(RUNNING, restarts=3, lastState=before))

    assert cells("v1", "pods", obj)["Restarts"] == "3 (30m ago)"


def test_wide_output_of_a_pod_shows_node_and_address() -> None:
    obj = pod("Running", podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}])
    obj["spec"] |= {"nodeName": "n", "readinessGates": [{"conditionType": "a"}]}

    row = cells("v1", "pods", obj)

    assert [row[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == [
        "10.0.0.1", "n", "<none>", "0/1",
    ]  # fmt: skip


# -- other kinds


def test_a_node_shows_its_addresses_and_software() -> None:
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {"kubeletVersion": "v1.36.0", "osImage": "Linux"},
    }
    metadata = {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}}
    spec = {"unschedulable": True}

    row = cells("v1", "nodes", {"metadata": metadata, "spec": spec, "status": status})

    del row["Age"], row["Name"]
    assert list(row.values()) == [
        "Ready,SchedulingDisabled", "edge,worker", "v1.36.0", "10.0.0.1", "<none>", "Linux",
        "<unknown>", "<unknown>",
    ]  # fmt: skip


def test_an_ingress_shows_hosts_address_and_ports() -> None:
    rules = [{"host": f"{letter}.example.com"} for letter in "abcd"]
    status = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"hostname": "lb"}]}}

    row = cells(
        "networking.k8s.io/v1",
        "ingresses",
        {"spec": {"rules": rules, "tls": [{}]}, "status": status},
    )

    assert row["Hosts"] == "a.example.com,b.example.com,c.example.com + 1 more..."
    assert (row["Class"], row["Address"], row["Ports"]) == ("<none>", "10.0.0.1,lb", "80, 443")


def test_endpoints_are_addresses_with_ports() -> None:
    subsets = [
        {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]},
        {"addresses": [{"ip": "10.0.0.3"}]},
    ]

    assert cells("v1", "endpoints", {"subsets": subsets})["Endpoints"] == (
        "10.0.0.1:80,[fd00::1]:80,10.0.0.3"
    )
    assert cells("v1", "endpoints", {})["Endpoints"] == "<none>"


def test_an_endpoint_slice_shows_ports_and_addresses() -> None:
    obj = {
        "addressType": "IPv4",
        "ports": [{"port": 80}, {"name": "web"}, {}],
        "endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(5)],
    }

    row = cells("discovery.k8s.io/v1", "endpointslices", obj)

    assert row["Ports"] == "80,web,*"
    assert row["Endpoints"] == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."


def test_an_autoscaler_shows_current_and_target_values() -> None:
    def resource(name: str, **target: Any) -> Object:
        return {"type": "Resource", "resource": {"name": name, "target": target}}

    pods = {"type": "Pods", "pods": {"metric": {}, "target": {"averageValue": "10"}}}
    metrics = [resource("cpu", averageUtilization=80), resource("memory", averageValue="1Gi"), pods]
    now = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 12}}}
    obj = {
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "maxReplicas": 5,
            "metrics": metrics,
        },
        "status": {"currentMetrics": [now], "currentReplicas": 2},
    }

    row = cells("autoscaling/v2", "horizontalpodautoscalers", obj)

    assert row["Targets"] == "cpu: 12%/80%, memory: <unknown>/1Gi + 1 more..."
    assert [row[name] for name in ("Reference", "MinPods", "MaxPods", "Replicas")] == [
        "Deployment/web", "<unset>", 5, 2,
    ]  # fmt: skip


def test_a_quota_shows_used_and_hard_of_requests_and_limits() -> None:
    status = {"hard": {"pods": "3", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "1"}}

    row = cells("v1", "resourcequotas", {"status": status})

    assert (row["Request"], row["Limit"]) == ("cpu: 0/1, pods: 1/3", "limits.cpu: 0/2")


@pytest.mark.parametrize(
    ("spec", "shown"),
    [({"completions": 3}, "1/3"), ({"parallelism": 4}, "1/1 of 4"), ({}, "1/1")],
)
def test_a_job_shows_the_number_of_succeeded_pods(spec: Object, shown: str) -> None:
    obj = {"spec": spec, "status": {"succeeded": 1}}

    assert cells("batch/v1", "jobs", obj)["Completions"] == shown


@pytest.mark.parametrize(
    ("conditions", "metadata", "shown"),
    [
        (("Complete",), {"deletionTimestamp": "x"}, "Complete"),
        (("Suspended",), {"deletionTimestamp": "x"}, "Terminating"),
        (("Suspended",), {}, "Suspended"),
        ((), {}, "Running"),
    ],
)
def test_a_job_shows_its_status(conditions: tuple[str, ...], metadata: Object, shown: str) -> None:
    status = {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}

    assert cells("batch/v1", "jobs", {"metadata": metadata, "status": status})["Status"] == shown


def test_a_cron_job_that_never_ran_has_no_last_schedule() -> None:
    row = cells("batch/v1", "cronjobs", {})

    assert (row["Last Schedule"], row["Suspend"], row["Timezone"]) == ("<none>", "False", "<none>")


def test_the_default_storage_class_is_marked() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    obj = {"metadata": {"name": "fast", "annotations": annotations}, "allowVolumeExpansion": True}

    row = cells("storage.k8s.io/v1", "storageclasses", obj)

    assert (row["Name"], row["AllowVolumeExpansion"]) == ("fast (default)", True)


def test_a_volume_shows_its_claim_and_modes() -> None:
    spec = {
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "claimRef": {"namespace": "ns", "name": "c"},
    }

    row = cells("v1", "persistentvolumes", {"spec": spec, "status": {"phase": "Bound"}})

    assert [row[name] for name in ("Access Modes", "Claim", "Status", "VolumeAttributesClass")] == [
        "RWO,ROX", "ns/c", "Bound", "<unset>",
    ]  # fmt: skip


def test_a_revision_shows_its_controller() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}

    row = cells("apps/v1", "controllerrevisions", {"metadata": {"ownerReferences": [owner]}})

    assert row["Controller"] == "statefulset.apps/db"


def test_a_selector_that_is_not_valid_is_shown_as_an_error() -> None:
    """Found by random requests: not every kind validates its selector."""
    expression = {"key": "a", "operator": "Like", "values": ["b"]}
    policy = {"spec": {"podSelector": {"matchExpressions": [expression]}}}

    row = cells("networking.k8s.io/v1", "networkpolicies", policy)

    assert row["Pod-Selector"] == "<error>"
