"""What a cluster's Prometheus needs to collect an operator's metrics.

Promises: a Service, a ServiceMonitor for the Prometheus operator, a NetworkPolicy for namespaces
with the label ``metrics: enabled``, and the role of those that may read metrics.

Source: kubebuilder's ``config/prometheus``, ``config/network-policy`` and ``config/rbac``.
"""

from __future__ import annotations

from typing import Final

from clientgo.codegen.manifests import Manifest
from clientgo.operator.permissions import PolicyRule
from clientgo.tools.scaffold.manifests.deployment import METRICS_PORT, labels_of
from clientgo.tools.scaffold.manifests.roles import role
from clientgo.tools.scaffold.project import Project

_SERVICE_PORT: Final = 8443


def monitoring_manifests(project: Project, *, open_ports: tuple[int, ...] = ()) -> list[Manifest]:
    """Return the manifests; ``open_ports`` can be reached from all namespaces."""
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
        _network_policy(project, name, open_ports),
        role("ClusterRole", {"name": f"{project.name}-metrics-reader"}, [reader]),
    ]


def _network_policy(project: Project, name: str, open_ports: tuple[int, ...]) -> Manifest:
    prometheus = {"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}
    ingress: list[Manifest] = [{"from": [prometheus], "ports": [_tcp(METRICS_PORT)]}]
    if open_ports:
        ingress.append({"ports": [_tcp(port) for port in open_ports]})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": project.namespace},
        "spec": {
            "podSelector": {"matchLabels": labels_of(project)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }


def _tcp(port: int) -> Manifest:
    return {"protocol": "TCP", "port": port}
