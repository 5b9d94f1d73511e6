"""Who may connect to an operator's pods.

Promises: its health can be read and its webhooks called from everywhere, since kubelets and API
servers have no namespace; its metrics only if they are collected, from namespaces with the label
``metrics: enabled``. What the operator connects to is not limited.

Source: kubebuilder's ``config/network-policy``.
"""

from __future__ import annotations

from clientgo.codegen.manifests import Manifest
from clientgo.tools.scaffold.manifests.deployment import HEALTH_PORT, METRICS_PORT, labels_of
from clientgo.tools.scaffold.manifests.webhook_configurations import PORT
from clientgo.tools.scaffold.project import Project


def network_policy(project: Project, *, has_webhooks: bool) -> Manifest:
    """Return the NetworkPolicy; other policies can allow more."""
    open_ports = (HEALTH_PORT, PORT) if has_webhooks else (HEALTH_PORT,)
    ingress: list[Manifest] = [{"ports": [_tcp(port) for port in open_ports]}]
    if project.deploy.monitoring:
        prometheus = {"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}
        ingress.append({"from": [prometheus], "ports": [_tcp(METRICS_PORT)]})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": project.name, "namespace": project.namespace},
        "spec": {
            "podSelector": {"matchLabels": labels_of(project)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }


def _tcp(port: int) -> Manifest:
    return {"protocol": "TCP", "port": port}
