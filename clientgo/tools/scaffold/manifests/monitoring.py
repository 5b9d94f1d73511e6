"""What a cluster's Prometheus needs to collect an operator's metrics.

Promises: a Service, a ServiceMonitor for the Prometheus operator, and the role of those that may
read metrics. The NetworkPolicy of the pods lets Prometheus in (`network_policy`).

Source: kubebuilder's ``config/prometheus`` and ``config/rbac``.
"""

from __future__ import annotations

from typing import Final

from clientgo.codegen.manifests import Manifest
from clientgo.operator.permissions import PolicyRule
from clientgo.tools.scaffold.manifests.deployment import METRICS_PORT, labels_of
from clientgo.tools.scaffold.manifests.roles import role
from clientgo.tools.scaffold.project import Project

_SERVICE_PORT: Final = 8443


def monitoring_manifests(project: Project) -> list[Manifest]:
    name = f"{project.name}-metrics"
    labels = labels_of(project)
    metadata = {"name": name, "namespace": project.namespace, "labels": labels}
    reader = PolicyRule(urls=("/metrics",), verbs=("get",))
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "selector": dict(labels),
                "ports": [{"name": "metrics", "port": _SERVICE_PORT, "targetPort": METRICS_PORT}],
            },
        },
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": dict(metadata),
            "spec": {
                "selector": {"matchLabels": dict(labels)},
                "endpoints": [{"port": "metrics", "path": "/metrics"}],
            },
        },
        role("ClusterRole", {"name": f"{project.name}-metrics-reader"}, [reader]),
    ]
