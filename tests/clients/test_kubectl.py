"""kubectl, as it is typed every day, against the embedded server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.kubectl import Kubectl, KubectlError, version
from tests.clients.objects import GROUP, config_map, deployment, widget, widget_crd

VERSION = version()

pytestmark = pytest.mark.skipif(VERSION is None, reason="there is no kubectl on PATH")
asks_for_stable_versions = pytest.mark.skipif(
    VERSION is not None and VERSION < (1, 22),
    reason=f"kubectl {VERSION} creates this in a beta version, which is no longer served",
)


@pytest.fixture(scope="module")
def kubectl(server: EmbeddedAPIServer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def widgets(kubectl: Kubectl) -> None:
    create(kubectl, widget_crd())
    kubectl("wait", "--for=condition=Established", f"crd/widgets.{GROUP}", "--timeout=10s")


def create(kubectl: Kubectl, *objects: dict[str, Any]) -> str:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return kubectl("create", "-f", "-", stdin=listed)


def write_status(server: EmbeddedAPIServer, deployment: str, status: dict[str, Any]) -> None:
    """Write fields of a status, as a controller would; kubectl can only since 1.24."""
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        apps = client.AppsV1Api(api)
        apps.patch_namespaced_deployment_status(deployment, "default", {"status": status})


# -- get


def test_the_output_forms_of_get_agree(kubectl: Kubectl) -> None:
    create(kubectl, config_map("forms", a="1", b="2"))

    assert kubectl("get", "cm", "forms", "-o", "name") == "configmap/forms\n"
    assert kubectl("get", "cm", "forms", "-o", "jsonpath={.data.b}") == "2"
    assert '  b: "2"\n' in kubectl("get", "cm", "forms", "-o", "yaml")
    assert kubectl.json("get", "cm", "forms")["data"] == {"a": "1", "b": "2"}
    columns = kubectl("get", "cm", "forms", "--no-headers", "-o", "custom-columns=:.data.a,:.kind")
    assert columns.split() == ["1", "ConfigMap"]
    assert kubectl("get", "--raw", "/api/v1/namespaces/default/configmaps/forms").startswith("{")


@pytest.fixture(scope="module")
def one_of_each(kubectl: Kubectl) -> None:
    create(kubectl, *ONE_OF_EACH)


@pytest.mark.usefixtures("one_of_each", "widgets")
@pytest.mark.parametrize(
    ("resource", "headers"),
    [
        ("configmaps", "NAME DATA AGE"),
        ("cronjobs", "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE"),
        ("customresourcedefinitions", "NAME CREATED AT"),
        ("daemonsets", "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE"),
        ("deployments", "NAME READY UP-TO-DATE AVAILABLE AGE"),
        ("endpoints", "NAME ENDPOINTS AGE"),
        ("endpointslices", "NAME ADDRESSTYPE PORTS ENDPOINTS AGE"),
        ("events", "LAST SEEN TYPE REASON OBJECT MESSAGE"),
        ("events.events.k8s.io", "LAST SEEN TYPE REASON OBJECT MESSAGE"),
        ("horizontalpodautoscalers", "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE"),
        ("ingresses", "NAME CLASS HOSTS ADDRESS PORTS AGE"),
        ("jobs", "NAME STATUS COMPLETIONS DURATION AGE"),
        ("leases", "NAME HOLDER AGE"),
        ("limitranges", "NAME CREATED AT"),
        ("namespaces", "NAME STATUS AGE"),
        ("networkpolicies", "NAME POD-SELECTOR AGE"),
        ("nodes", "NAME STATUS ROLES AGE VERSION"),
        ("persistentvolumeclaims",
         "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE"),
        ("persistentvolumes", "NAME CAPACITY ACCESS MODES RECLAIM POLICY STATUS CLAIM"
         " STORAGECLASS VOLUMEATTRIBUTESCLASS REASON AGE"),
        ("poddisruptionbudgets", "NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE"),
        ("pods", "NAME READY STATUS RESTARTS AGE"),
        ("priorityclasses", "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY"),
        ("replicasets", "NAME DESIRED CURRENT READY AGE"),
        ("resourcequotas", "NAME REQUEST LIMIT AGE"),
        ("rolebindings", "NAME ROLE AGE"),
        ("roles", "NAME CREATED AT"),
        ("secrets", "NAME TYPE DATA AGE"),
        ("serviceaccounts", "NAME AGE"),
        ("services", "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE"),
        ("statefulsets", "NAME READY AGE"),
        ("storageclasses",
         "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE"),
    ],
)  # fmt: skip
def test_get_shows_the_usual_columns(kubectl: Kubectl, resource: str, headers: str) -> None:
    printed = kubectl("get", resource).splitlines()

    assert printed[0].split() == headers.split()
    assert len(printed) > 1


CLUSTER_SCOPED = ("Node", "PersistentVolume", "PriorityClass", "StorageClass")


def _named(api_version: str, kind: str, name: str = "one", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({} if kind in CLUSTER_SCOPED else {"namespace": "default"})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _event(name: str, kind: str, message: str, **involved: str) -> dict[str, Any]:
    return _named(
        "v1",
        "Event",
        f"{name}.1",
        involvedObject={"kind": kind, "name": name, "namespace": "default", **involved},
        type="Warning",
        reason="Tested",
        message=message,
        lastTimestamp="2024-01-01T00:00:00Z",
    )


_TEMPLATE = deployment("one")["spec"]["template"]
_WORKLOAD = {"selector": {"matchLabels": {"app": "one"}}, "template": _TEMPLATE}
_POD_SPEC = {**_TEMPLATE["spec"], "restartPolicy": "Never"}
_JOB = {"template": {"spec": _POD_SPEC}}
_CRON_JOB = {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}}

_VOLUME = {"accessModes": ["ReadWriteOnce"], "storageClassName": "one"}

ONE_OF_EACH = (
    config_map("one"),
    deployment("one"),
    _event("one", "Pod", "It works"),
    _named("apps/v1", "DaemonSet", spec=_WORKLOAD),
    _named("apps/v1", "ReplicaSet", spec=_WORKLOAD),
    _named("apps/v1", "StatefulSet", spec={**_WORKLOAD, "serviceName": "one"}),
    _named("batch/v1", "CronJob", spec=_CRON_JOB),
    _named("batch/v1", "Job", spec=_JOB),
    _named("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me"}),
    _named("autoscaling/v2", "HorizontalPodAutoscaler",
           spec={"maxReplicas": 2, "scaleTargetRef": {
               "apiVersion": "apps/v1", "kind": "Deployment", "name": "one"}}),
    _named("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[]),
    _named("networking.k8s.io/v1", "Ingress",
           spec={"defaultBackend": {"service": {"name": "one", "port": {"number": 80}}}}),
    _named("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}}),
    _named("policy/v1", "PodDisruptionBudget", spec={"maxUnavailable": 1}),
    _named("rbac.authorization.k8s.io/v1", "Role", rules=[]),
    _named("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"}),
    _named("scheduling.k8s.io/v1", "PriorityClass", value=1),
    _named("storage.k8s.io/v1", "StorageClass", provisioner="example.com/none"),
    _named("v1", "Endpoints"),
    _named("v1", "LimitRange", spec={"limits": [{"type": "Pod"}]}),
    _named("v1", "Node"),
    _named("v1", "PersistentVolume", spec=_VOLUME | {"capacity": {"storage": "1Gi"},
           "hostPath": {"path": "/"}}),
    _named("v1", "PersistentVolumeClaim", spec=_VOLUME | {
        "resources": {"requests": {"storage": "1Gi"}}}),
    _named("v1", "Pod", spec=_POD_SPEC),
    _named("v1", "ResourceQuota", spec={"hard": {"pods": "1"}}),
    _named("v1", "Secret", stringData={"password": "x"}),
    _named("v1", "Service", spec={"ports": [{"port": 80}]}),
    _named("v1", "ServiceAccount"),
)  # fmt: skip


def test_wide_output_adds_columns(kubectl: Kubectl) -> None:
    create(kubectl, deployment("wide"))

    headers, row = kubectl.table("get", "deployment", "wide", "-o", "wide")

    assert headers[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert row[-3:] == ["main", "example/main:1", "app=wide"]


@pytest.mark.usefixtures("one_of_each")
def test_wide_output_of_nodes_shows_addresses_and_software(kubectl: Kubectl) -> None:
    headers = kubectl("get", "nodes", "-o", "wide").splitlines()[0].split()

    assert headers[5:] == [
        "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME",
    ]  # fmt: skip


def test_custom_resources_have_the_columns_of_their_definition(
    kubectl: Kubectl, widgets: None
) -> None:
    create(kubectl, widget("columns", 3))

    assert kubectl.table("get", "widgets", "columns") == [["NAME", "SIZE"], ["columns", "3"]]


def test_lists_are_selected_and_sorted(kubectl: Kubectl) -> None:
    create(kubectl, config_map("sorted-b", k="1"), config_map("sorted-a", k="2"))
    kubectl("label", "cm", "sorted-a", "sorted-b", "set=sorted")

    by_value = kubectl("get", "cm", "-l", "set=sorted", "--sort-by=.data.k", "-o", "name")
    by_field = kubectl("get", "cm", "--field-selector=metadata.name=sorted-a", "-o", "name")

    assert by_value.split() == ["configmap/sorted-b", "configmap/sorted-a"]
    assert by_field.split() == ["configmap/sorted-a"]


def test_a_followed_list_prints_what_changes(kubectl: Kubectl) -> None:
    create(kubectl, deployment("followed", 1))

    with kubectl.following("get", "deployment", "followed", "-w", "--no-headers") as lines:
        assert next(lines).split()[:2] == ["followed", "0/1"]
        kubectl("scale", "deployment", "followed", "--replicas=3")
        assert next(lines).split()[:2] == ["followed", "0/3"]
        kubectl("delete", "deployment", "followed")
        assert next(lines).split()[:2] == ["followed", "0/3"]


# -- writes


@pytest.mark.parametrize(
    ("command", "field", "value"),
    [
        ("configmap typed --from-literal=a=b", "{.data.a}", "b"),
        ("secret generic typed --from-literal=a=b", "{.data.a}", "Yg=="),
        ("namespace typed", "{.status.phase}", "Active"),
        ("deployment typed --image=web --replicas=0", "{.spec.replicas}", "0"),
        ("job typed --image=web -- run", "{.spec.template.spec.containers[0].command}", '["run"]'),
        pytest.param("cronjob typed --image=web --schedule=@daily", "{.spec.schedule}", "@daily",
                     marks=asks_for_stable_versions),
        ("service clusterip typed --tcp=80:web", "{.spec.ports[0].targetPort}", "web"),
        ("ingress typed --rule=a.b/c=web:80", "{.spec.rules[0].host}", "a.b"),
        ("quota typed --hard=cpu=2", "{.spec.hard.cpu}", "2"),
        ("serviceaccount typed", "{.metadata.name}", "typed"),
        ("role typed --verb=get --resource=pods", "{.rules[0].verbs}", '["get"]'),
        ("rolebinding typed --role=typed --user=me", "{.subjects[0].name}", "me"),
        ("clusterrole typed --verb=get --resource=nodes", "{.rules[0].resources}", '["nodes"]'),
        ("clusterrolebinding typed --clusterrole=typed --group=us", "{.roleRef.name}", "typed"),
        ("priorityclass typed --value=7", "{.value}", "7"),
        pytest.param("poddisruptionbudget typed --selector=a=b --min-available=50%",
                     "{.spec.minAvailable}", "50%", marks=asks_for_stable_versions),
    ],
)  # fmt: skip
def test_create_makes_each_kind_it_knows(
    kubectl: Kubectl, command: str, field: str, value: str
) -> None:
    kubectl("create", *command.split())

    kind = command.split()[0]
    assert kubectl("get", kind, "typed", "-o", f"jsonpath={field}") == value


def test_a_quota_can_be_waited_for_and_described(kubectl: Kubectl) -> None:
    kubectl("create", "quota", "described", "--hard=secrets=2k")

    kubectl("wait", "quota/described", "--for=jsonpath={.status.hard.secrets}=2k", "--timeout=30s")
    create(kubectl, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "counted"}})

    rows = [line.split() for line in kubectl("describe", "quota", "described").splitlines()]
    [[_, used, hard]] = [row for row in rows if row[:1] == ["secrets"]]
    assert (int(used) > 0, hard) == (True, "2k")


def test_a_service_account_is_given_a_token(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "bearer")

    if VERSION is not None and VERSION >= (1, 24):
        assert kubectl("create", "token", "bearer").strip()


def test_every_action_is_allowed(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "delete", "nodes").strip() == "yes"
    assert "*.*" in kubectl("auth", "can-i", "--list")


def test_apply_creates_changes_and_prunes_fields(kubectl: Kubectl) -> None:
    applied = deployment("applied")
    assert "created" in kubectl("apply", "-f", "-", stdin=applied)
    assert "unchanged" in kubectl("apply", "-f", "-", stdin=applied)

    del applied["spec"]["replicas"]
    applied["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "side:1"})
    assert "configured" in kubectl("apply", "-f", "-", stdin=applied)

    spec = kubectl.json("get", "deployment", "applied")["spec"]
    assert spec["replicas"] == 1, "the default, now that nobody asks for two"
    assert [item["name"] for item in spec["template"]["spec"]["containers"]] == ["main", "side"]


def test_apply_refuses_a_field_that_the_kind_does_not_have(kubectl: Kubectl) -> None:
    mistyped = deployment("mistyped")
    mistyped["spec"]["replica"] = 1

    with pytest.raises(KubectlError, match=r"unknown field \"(spec\.)?replica\""):
        kubectl("apply", "-f", "-", stdin=mistyped)


def test_server_side_apply_reports_conflicts_and_forces(kubectl: Kubectl, widgets: None) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    assert "serverside-applied" in kubectl(*apply, stdin=widget("owned", 2))
    kubectl("patch", "widget", "owned", "--type=merge", "-p", '{"spec":{"size":5}}')

    with pytest.raises(KubectlError, match=r"conflict with \"kubectl-patch\"") as raised:
        kubectl(*apply, stdin=widget("owned", 3))
    kubectl(*apply, "--force-conflicts", stdin=widget("owned", 3))

    assert ".spec.size" in raised.value.output
    assert kubectl.json("get", "widget", "owned")["spec"]["size"] == 3


def test_diff_shows_what_apply_would_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=deployment("compared"))

    assert kubectl("diff", "-f", "-", stdin=deployment("compared")) == ""
    with pytest.raises(KubectlError) as raised:
        kubectl("diff", "-f", "-", stdin=deployment("compared", 7))

    assert raised.value.status == 1
    assert {"-  replicas: 2", "+  replicas: 7"} <= set(raised.value.output.splitlines())


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("json", '[{"op": "replace", "path": "/spec/template/spec/containers/0/image",'
                 ' "value": "example/main:2"}]'),
        ("merge", '{"spec": {"template": {"spec": {"containers":'
                  ' [{"name": "main", "image": "example/main:2"}]}}}}'),
        ("strategic", '{"spec": {"template": {"spec": {"containers":'
                      ' [{"name": "main", "image": "example/main:2"}]}}}}'),
    ],
)  # fmt: skip
def test_patches_of_all_types_change_the_image(kubectl: Kubectl, kind: str, patch: str) -> None:
    create(kubectl, deployment(f"patched-{kind}"))

    kubectl("patch", "deployment", f"patched-{kind}", f"--type={kind}", "-p", patch)

    patched = kubectl.json("get", "deployment", f"patched-{kind}")
    assert patched["spec"]["template"]["spec"]["containers"][0]["image"] == "example/main:2"
    assert patched["metadata"]["generation"] == 2


def test_edit_sends_the_file_of_the_editor(server: EmbeddedAPIServer, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/before/after/ "$1"\n')
    editor.chmod(0o755)
    kubectl = Kubectl(server.kubeconfig, tmp_path, editor)
    create(kubectl, config_map("edited", a="before"))

    kubectl("edit", "cm", "edited")

    assert kubectl("get", "cm", "edited", "-o", "jsonpath={.data.a}") == "after"


def test_labels_and_annotations_come_and_go(kubectl: Kubectl) -> None:
    create(kubectl, config_map("marked"))

    kubectl("label", "cm", "marked", "tier=front")
    kubectl("annotate", "cm", "marked", "note=first")
    kubectl("annotate", "--overwrite", "cm", "marked", "note=second")
    with pytest.raises(KubectlError, match="already has a value"):
        kubectl("label", "cm", "marked", "tier=back")
    kubectl("label", "cm", "marked", "tier-")

    metadata = kubectl.json("get", "cm", "marked")["metadata"]
    assert "labels" not in metadata
    assert metadata["annotations"] == {"note": "second"}


def test_replace_needs_the_version_that_was_read(kubectl: Kubectl) -> None:
    create(kubectl, config_map("replaced", a="1"))
    read = kubectl.json("get", "cm", "replaced")
    kubectl("annotate", "cm", "replaced", "changed=since")

    with pytest.raises(KubectlError, match="the object has been modified"):
        kubectl("replace", "-f", "-", stdin=read)


def test_scale_changes_replicas_if_they_are_as_expected(kubectl: Kubectl) -> None:
    create(kubectl, deployment("scaled", 2))

    kubectl("scale", "deployment", "scaled", "--current-replicas=2", "--replicas=5")
    with pytest.raises(KubectlError, match="Expected replicas to be 2, was 5"):
        kubectl("scale", "deployment", "scaled", "--current-replicas=2", "--replicas=9")

    assert kubectl("get", "deployment", "scaled", "-o", "jsonpath={.spec.replicas}") == "5"


def test_rollout_status_follows_the_status(kubectl: Kubectl, server: EmbeddedAPIServer) -> None:
    create(kubectl, deployment("rolled", 1))

    with kubectl.following("rollout", "status", "deployment", "rolled") as lines:
        assert "Waiting for deployment" in next(lines)
        observe = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}
        ready = {"readyReplicas": 1, "availableReplicas": 1}
        write_status(server, "rolled", {**observe, **ready})
        assert any("successfully rolled out" in line for line in lines)


def test_wait_ends_when_the_condition_is_met_or_the_object_deleted(
    kubectl: Kubectl, server: EmbeddedAPIServer
) -> None:
    create(kubectl, deployment("awaited"))
    condition = {"type": "Available", "status": "True"}

    with kubectl.following(
        "wait", "deployment/awaited", "--for=condition=Available", "--timeout=20s"
    ) as lines:
        write_status(server, "awaited", {"conditions": [condition]})
        assert "condition met" in next(lines)
    with kubectl.following("wait", "deployment/awaited", "--for=delete", "--timeout=20s") as lines:
        assert "deleted" in kubectl("delete", "deployment", "awaited")
        assert "condition met" in next(lines, "condition met")

    with pytest.raises(KubectlError, match="NotFound"):
        kubectl("get", "deployment", "awaited")


def test_delete_waits_for_finalizers(kubectl: Kubectl) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["clients.example.com/hold"]
    create(kubectl, held)

    with kubectl.following("delete", "cm", "held") as lines:
        assert "deleted" in next(lines)
        assert kubectl.json("get", "cm", "held")["metadata"]["deletionTimestamp"]
        kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert next(lines, "") == ""

    with pytest.raises(KubectlError, match="NotFound"):
        kubectl("get", "cm", "held")


# -- asking about the server


def test_explain_knows_built_in_and_custom_fields(kubectl: Kubectl, widgets: None) -> None:
    builtin = kubectl("explain", "deployment.spec.replicas")
    custom = kubectl("explain", "widget.spec", "--recursive")

    assert re.search(r"FIELD:\s+replicas <integer>", builtin)
    assert re.search(r"size\s+<integer>", custom)
    assert "How large it is." in kubectl("explain", "widget.spec.size")


def test_api_resources_and_versions_list_what_is_served(kubectl: Kubectl, widgets: None) -> None:
    names = kubectl("api-resources", "--namespaced=true", "-o", "name").split()

    assert {"configmaps", "deployments.apps", f"widgets.{GROUP}"} <= set(names)
    assert {"v1", "apps/v1", f"{GROUP}/v1"} <= set(kubectl("api-versions").split())


def test_describe_shows_an_object_with_its_events(kubectl: Kubectl) -> None:
    create(kubectl, deployment("described"))
    uid = kubectl("get", "deployment", "described", "-o", "jsonpath={.metadata.uid}")
    create(kubectl, _event("described", "Deployment", "Told by describe", uid=uid))

    told = kubectl("describe", "deployment", "described")

    assert re.search(r"Replicas:\s+2 desired", told)
    assert re.search(r"Warning\s+Tested\s.*Told by describe", told)


@pytest.mark.parametrize("resource", ["events", "events.events.k8s.io"])
def test_events_of_an_object_are_listed(kubectl: Kubectl, resource: str) -> None:
    name = f"seen-{resource}"
    create(kubectl, _event(name, "ConfigMap", "Somebody looked"))
    field = "involvedObject" if resource == "events" else "regarding"

    [_, row] = kubectl.table("get", resource, f"--field-selector={field}.name={name}")

    assert row[1:] == ["Warning", "Tested", f"configmap/{name}", "Somebody looked"]
    assert re.fullmatch(r"\d+d|\d+y\d*d?", row[0])
