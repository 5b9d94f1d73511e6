"""An operator's Namespace and Deployment, and how many of its pods may be evicted at once.

Promises: a pod that the "restricted" pod security standard admits, with more time to stop than the
manager needs.

Source: kubebuilder's ``config/manager``.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.codegen.manifests import Manifest
from clientgo.operator.webhooks import WebhookObjectNames
from clientgo.tools.scaffold.manifests.webhook_configurations import PORT
from clientgo.tools.scaffold.project import Deploy, Project

METRICS_PORT: Final = 8080
HEALTH_PORT: Final = 8081
_TEMPORARY: Final = "/tmp"
"""The only directory that can be written: certificates that the operator makes are files there, as
Python's TLS needs them. It is in memory, so that their keys are not on the node's disk."""
_CERTIFICATES: Final = f"{_TEMPORARY}/k8s-webhook-server/serving-certs"
"""The default directory of a webhook server's certificate."""
_USER: Final = 65532
_GRACE_BESIDES: Final = 10
"""Seconds for the interpreter to start and exit, added to the manager's time to stop."""
_GRACE_WITHOUT_END: Final = 3600
"""Seconds for a manager that has no limit."""


def labels_of(project: Project) -> dict[str, str]:
    """Return the labels of the operator's pods."""
    return {"app.kubernetes.io/name": project.name, "control-plane": "operator"}


def namespace_manifest(project: Project) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": project.namespace,
            "labels": {
                "app.kubernetes.io/name": project.name,
                "pod-security.kubernetes.io/enforce": "restricted",
            },
        },
    }


def deployment(project: Project, *, grace: float | None, has_webhooks: bool) -> Manifest:
    """Return the Deployment; ``grace`` is how many seconds the manager may take to stop."""
    labels = labels_of(project)
    mounts_certificate = has_webhooks and project.deploy.certificates == "cert-manager"
    end = _GRACE_WITHOUT_END if grace is None else int(grace) + _GRACE_BESIDES
    pod: Manifest = {
        "serviceAccountName": project.name,
        "terminationGracePeriodSeconds": end,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": dict(labels)},
            }
        ],
        "containers": [
            _container(project, has_webhooks=has_webhooks, mounts_certificate=mounts_certificate)
        ],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
    }
    if mounts_certificate:
        secret = {"secretName": WebhookObjectNames.of(project.name).secret}
        pod["volumes"].append({"name": "webhook-cert", "secret": secret})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": project.name, "namespace": project.namespace, "labels": labels},
        "spec": {
            "replicas": project.deploy.replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }


def disruption_budget(project: Project) -> Manifest:
    """Return the PodDisruptionBudget: nodes are drained one replica at a time.

    A single replica can be evicted, or its node could never be drained; so can a pod that is not
    ready.
    """
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": project.name, "namespace": project.namespace},
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": labels_of(project)},
        },
    }


def _container(project: Project, *, has_webhooks: bool, mounts_certificate: bool) -> Manifest:
    ports = [
        {"name": "metrics", "containerPort": METRICS_PORT},
        {"name": "health", "containerPort": HEALTH_PORT},
    ]
    if has_webhooks:
        ports.append({"name": "webhook", "containerPort": PORT})
    container: Manifest = {
        "name": "operator",
        "image": project.image,
        "imagePullPolicy": "IfNotPresent",
        "env": [_own("POD_NAMESPACE", "metadata.namespace")],
        "ports": ports,
        "livenessProbe": _probe("/healthz", delay=15, period=20),
        "readinessProbe": _probe("/readyz", delay=5, period=10),
        "resources": _resources(project.deploy),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": _TEMPORARY}],
    }
    if mounts_certificate:
        container["volumeMounts"].append(
            {"name": "webhook-cert", "mountPath": _CERTIFICATES, "readOnly": True}
        )
    return container


def _own(variable: str, field: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _probe(path: str, *, delay: int, period: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
        "timeoutSeconds": 3,
    }


def _resources(deploy: Deploy) -> Manifest:
    given = {
        "requests": {"cpu": deploy.cpu_request, "memory": deploy.memory_request},
        "limits": {"cpu": deploy.cpu_limit, "memory": deploy.memory_limit},
    }
    return {
        kind: {name: amount for name, amount in amounts.items() if amount}
        for kind, amounts in given.items()
    }
