"""The objects that the recorded server has, as they come from an API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_GROUP: Final = "samplecontroller.k8s.io/v1alpha1"
_CREATED: Final = "2026-01-01T00:00:00Z"


def foo(number: int, version: int, note: int = 500) -> dict[str, Any]:
    """Return a Foo of about a kilobyte; a longer note makes it larger."""
    return {
        "apiVersion": _GROUP,
        "kind": "Foo",
        "metadata": {
            "name": f"foo-{number}",
            "namespace": f"ns-{number % 10}",
            "uid": f"3f0e0c3a-3f3e-4a7e-9a6f-{number:012d}",
            "resourceVersion": str(version),
            "creationTimestamp": _CREATED,
            "labels": {"app": f"web-{number % 50}", "tier": "backend"},
        },
        "spec": {"deploymentName": f"foo-{number}", "replicas": 3, "note": "x" * note},
        "status": {"availableReplicas": 3},
    }


def managed_foo(number: int, version: int) -> dict[str, Any]:
    """Return a Foo of a kilobyte of which half is its managed fields, as in a cluster."""
    made = foo(number, version, note=100)
    labels: dict[str, Any] = {".": {}, "f:app": {}, "f:tier": {}}
    spec: dict[str, Any] = {".": {}, "f:deploymentName": {}, "f:note": {}, "f:replicas": {}}
    made["metadata"]["managedFields"] = [
        _managed(_GROUP, "kubectl-client-side-apply", {"f:metadata": {"f:labels": labels}}, spec),
        {
            **_managed(_GROUP, "sample-controller", {"f:status": {"f:availableReplicas": {}}}),
            "subresource": "status",
        },
    ]
    return made


def _managed(
    version: str, manager: str, fields: dict[str, Any], spec: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": version,
        "time": _CREATED,
        "fieldsType": "FieldsV1",
        "fieldsV1": {**fields, "f:spec": spec} if spec else fields,
    }


def pod(number: int, version: int) -> dict[str, Any]:
    """Return a running pod of six kilobytes: two containers, conditions, managed fields."""
    name = f"web-6b474476c4-{number:07d}"
    containers = ("web", "proxy")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": "web-6b474476c4-",
            "namespace": f"ns-{number % 10}",
            "uid": f"3b7c7f5e-3f3e-4a7e-9a6f-{number:012d}",
            "resourceVersion": str(version),
            "creationTimestamp": _CREATED,
            "labels": {"app": f"web-{number % 50}", "pod-template-hash": "6b474476c4"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-6b474476c4",
                    "uid": "0b0f7a3a-3f3e-4a7e-9a6f-000000000001",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": _fields_of_pod(containers),
        },
        "spec": {
            "nodeName": f"node-{number % 100}",
            "serviceAccountName": "web",
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "securityContext": {"runAsNonRoot": True, "fsGroup": 2000},
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{reason}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for reason in ("not-ready", "unreachable")
            ],
            "containers": [_container(each) for each in containers],
            "volumes": [
                {"name": "config", "configMap": {"name": "web", "defaultMode": 420}},
                {"name": "data", "emptyDir": {}},
            ],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "hostIP": "10.0.0.1",
            "podIP": "10.1.2.3",
            "podIPs": [{"ip": "10.1.2.3"}],
            "startTime": _CREATED,
            "conditions": [
                {"type": each, "status": "True", "lastTransitionTime": _CREATED}
                for each in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": each,
                    "image": f"registry.example.com/{each}:1.27.3",
                    "imageID": f"registry.example.com/{each}@sha256:{'4f' * 32}",
                    "containerID": f"containerd://{number:064x}",
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": _CREATED}},
                    "lastState": {},
                }
                for each in containers
            ],
        },
    }


def _container(name: str) -> dict[str, Any]:
    variables = {"LOG_LEVEL": "info", "LISTEN": ":8080", "REGION": "eu-central", "WORKERS": "4"}
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "failureThreshold": 3,
        "successThreshold": 1,
    }
    return {
        "name": name,
        "image": f"registry.example.com/{name}:1.27.3",
        "imagePullPolicy": "IfNotPresent",
        "args": ["--config=/etc/web/config.yaml", "--v=2"],
        "env": [{"name": key, "value": value} for key, value in variables.items()],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "256Mi"},
        },
        "livenessProbe": probe,
        "readinessProbe": probe,
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/web", "readOnly": True},
            {"name": "data", "mountPath": "/data"},
        ],
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def _fields_of_pod(containers: tuple[str, ...]) -> list[dict[str, Any]]:
    def leaves(*names: str) -> dict[str, Any]:
        return {".": {}, **{f"f:{name}": {} for name in names}}

    container = leaves(
        "args", "image", "imagePullPolicy", "livenessProbe", "name", "ports", "readinessProbe",
        "resources", "securityContext", "terminationMessagePath", "volumeMounts",
    )  # fmt: skip
    metadata = {"f:labels": leaves("app", "pod-template-hash"), "f:generateName": {}}
    spec = {
        "f:containers": {f'k:{{"name":"{name}"}}': container for name in containers},
        **{key: {} for key in ("f:dnsPolicy", "f:restartPolicy", "f:schedulerName")},
    }
    conditions = {
        f'k:{{"type":"{name}"}}': leaves("lastTransitionTime", "status", "type")
        for name in ("ContainersReady", "Initialized", "Ready")
    }
    status = {
        "f:conditions": conditions,
        **{key: {} for key in ("f:containerStatuses", "f:phase", "f:podIP", "f:startTime")},
    }
    return [
        _managed("v1", "kube-controller-manager", {"f:metadata": metadata}, spec),
        {**_managed("v1", "kubelet", {"f:status": status}), "subresource": "status"},
    ]


@dataclass(frozen=True)
class Shape:
    """Objects of one kind that a recorded server can have: ``make(number, version)``."""

    make: Callable[[int, int], dict[str, Any]]
    path: str
    api_version: str
    kind: str


FOOS: Final = "/apis/samplecontroller.k8s.io/v1alpha1/foos"
SHAPES: Final[Mapping[str, Shape]] = {
    "foo": Shape(foo, FOOS, _GROUP, "Foo"),
    "managed foo": Shape(managed_foo, FOOS, _GROUP, "Foo"),
    "pod": Shape(pod, "/api/v1/pods", "v1", "Pod"),
}
"""What can be recorded, by name."""
