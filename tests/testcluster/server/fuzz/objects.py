"""Correct objects to begin with, and values that are wrong in most places."""

from __future__ import annotations

from typing import Any

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]

JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**31, 2**63, 2**64, 10**30, -(2**70), 1e308),
    *("", "x", "é", "\ud800", "a\0b", "x" * 300, "1", "true", "2020-01-01T00:00:00Z", "..", "a/b"),
    *([], {}, [None], [[]], [{}], {"a": None}, {"": ""}, {"x": {"y": [1, "z", {}]}}, DEEP),
    *({"$patch": "replace"}, {"$patch": "nonsense"}, {"$retainKeys": 1}, {"$setElementOrder/x": 1}),
]

_CONTAINER = {
    "name": "c",
    "image": "i",
    "ports": [{"containerPort": 80, "protocol": "TCP"}],
    "env": [{"name": "e", "value": "v"}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [_CONTAINER]}}
_ONCE = {**_TEMPLATE, "spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}
_SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
_METADATA = {
    "name": "a",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": [],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}],
    "managedFields": [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k": {}}},
        }
    ],
}
_WEBHOOK = {
    "name": "w.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    "rules": [
        {"operations": ["*"], "apiGroups": ["none"], "apiVersions": ["*"], "resources": ["x"]}
    ],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "matchConditions": [{"name": "m", "expression": "object.metadata.name == 'x'"}],
}


def _object(version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": _METADATA, **fields}


_APPS = "/apis/apps/v1/namespaces/default"
_CORE = "/api/v1/namespaces/default"
_WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"

OBJECTS: dict[str, dict[str, Any]] = {
    f"{_CORE}/configmaps": _object("v1", "ConfigMap", data={"k": "v"}, binaryData={"b": "eA=="}),
    f"{_CORE}/secrets": _object("v1", "Secret", data={"k": "eA=="}, stringData={"s": "x"}),
    f"{_CORE}/pods": _object("v1", "Pod", spec=_TEMPLATE["spec"]),
    f"{_CORE}/services": _object(
        "v1",
        "Service",
        spec={"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
    ),
    f"{_CORE}/events": _object(
        "v1", "Event", involvedObject={"kind": "Pod", "name": "a", "namespace": "default"}, count=1
    ),
    "/api/v1/namespaces": _object("v1", "Namespace", spec={"finalizers": ["kubernetes"]}),
    "/api/v1/nodes": _object("v1", "Node", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]}),
    f"{_APPS}/deployments": _object(
        "apps/v1",
        "Deployment",
        spec={"replicas": 1, "selector": _SELECTOR, "template": _TEMPLATE, "strategy": {}},
        status={"conditions": [{"type": "Available", "status": "True"}]},
    ),
    f"{_APPS}/statefulsets": _object(
        "apps/v1", "StatefulSet", spec={"selector": _SELECTOR, "template": _TEMPLATE}
    ),
    "/apis/batch/v1/namespaces/default/jobs": _object("batch/v1", "Job", spec={"template": _ONCE}),
    "/apis/batch/v1/namespaces/default/cronjobs": _object(
        "batch/v1",
        "CronJob",
        spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _ONCE}}},
    ),
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": _object(
        "coordination.k8s.io/v1",
        "Lease",
        spec={"holderIdentity": "h", "renewTime": "2020-01-01T00:00:00.000000Z"},
    ),
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": _object(
        "policy/v1", "PodDisruptionBudget", spec={"selector": _SELECTOR, "minAvailable": "50%"}
    ),
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": _object(
        "networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": _SELECTOR}
    ),
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses": _object(
        "networking.k8s.io/v1",
        "Ingress",
        spec={"rules": [{"host": "h"}], "defaultBackend": {"resource": {"kind": "k", "name": "n"}}},
    ),
    "/api/v1/persistentvolumes": _object(
        "v1",
        "PersistentVolume",
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/"},
        },
    ),
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles": _object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ),
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "maxReplicas": 3,
        },
    ),
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    },
    f"{_ADMISSION}/validatingwebhookconfigurations": _object(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[_WEBHOOK]
    ),
    f"{_ADMISSION}/mutatingwebhookconfigurations": _object(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", webhooks=[_WEBHOOK]
    ),
    _WIDGETS: {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {"size": 1, "list": ["a"], "map": {"k": 1}, "set": [{"name": "n"}]},
        "status": {"ready": True},
    },
}
