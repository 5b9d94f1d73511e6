"""What runs an operator in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.tools.scaffold.manifests.deployment import (
    deployment,
    disruption_budget,
    namespace_manifest,
)
from clientgo.tools.scaffold.manifests.monitoring import monitoring_manifests
from clientgo.tools.scaffold.manifests.network_policy import network_policy
from tests.tools.scaffold.declared import of_kind, project


def _pod(**changes: Any) -> dict[str, Any]:
    given = {"grace": 30.0, "has_webhooks": False} | changes
    deploy = given.pop("deploy", {})
    manifest = deployment(project(**deploy), **given)
    pod: dict[str, Any] = manifest["spec"]["template"]["spec"]
    return pod


def test_a_directory_for_temporary_files_can_be_written() -> None:
    """Certificates that the operator makes itself are files, and Python reads them from files."""
    pod = _pod(has_webhooks=True)
    (container,) = pod["containers"]

    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert pod["volumes"] == [
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}
    ]


def test_replicas_are_on_different_nodes_if_possible() -> None:
    (constraint,) = _pod()["topologySpreadConstraints"]

    assert constraint["topologyKey"] == "kubernetes.io/hostname"
    assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"


def test_the_pod_has_no_privileges() -> None:
    """OP-GEN-17"""
    pod = _pod()
    (container,) = pod["containers"]

    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    labels = namespace_manifest(project())["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_kubelet_asks_where_the_operator_answers() -> None:
    """OP-GEN-17: liveness 15/20 s, readiness 5/10 s on 8081."""
    (container,) = _pod()["containers"]

    assert container["livenessProbe"] == {
        "httpGet": {"path": "/healthz", "port": "health"},
        "initialDelaySeconds": 15,
        "periodSeconds": 20,
        "timeoutSeconds": 3,
    }
    assert container["readinessProbe"] == {
        "httpGet": {"path": "/readyz", "port": "health"},
        "initialDelaySeconds": 5,
        "periodSeconds": 10,
        "timeoutSeconds": 3,
    }
    assert {"name": "health", "containerPort": 8081} in container["ports"]


def test_resources_are_modest_unless_the_project_says_otherwise() -> None:
    """OP-GEN-17"""
    (usual,) = _pod()["containers"]
    (large,) = _pod(deploy={"memory_limit": "1Gi", "image": "example.com/x:1"})["containers"]

    assert usual["resources"] == {
        "requests": {"cpu": "10m", "memory": "128Mi"},
        "limits": {"memory": "256Mi"},
    }
    assert large["resources"]["limits"]["memory"] == "1Gi"
    assert (usual["image"], large["image"]) == ("shopkeeper:latest", "example.com/x:1")


def test_the_pod_is_given_longer_to_end_than_its_manager_takes() -> None:
    """OP-GEN-17"""
    assert _pod(grace=30.0)["terminationGracePeriodSeconds"] == 40
    assert _pod(grace=100.0)["terminationGracePeriodSeconds"] == 110
    assert _pod(grace=None)["terminationGracePeriodSeconds"] == 3600


def test_a_certificate_is_mounted_if_cert_manager_makes_it() -> None:
    """OP-CRT-03"""
    mounted = _pod(has_webhooks=True, deploy={"certificates": "cert-manager"})
    own = _pod(has_webhooks=True)

    assert mounted["volumes"][1:] == [
        {"name": "webhook-cert", "secret": {"secretName": "shopkeeper-webhook-cert"}}
    ]
    assert mounted["containers"][0]["volumeMounts"][1]["readOnly"] is True
    assert [volume["name"] for volume in own["volumes"]] == ["tmp"]
    assert {"name": "webhook", "containerPort": 9443} in own["containers"][0]["ports"]


def test_metrics_are_collected_through_a_service_by_who_may_read_them() -> None:
    """OP-GEN-18"""
    manifests = monitoring_manifests(project())

    (service,) = of_kind(manifests, "Service")
    assert service["spec"]["ports"] == [{"name": "metrics", "port": 8443, "targetPort": 8080}]
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    assert monitor["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]
    (reader,) = of_kind(manifests, "ClusterRole")
    assert reader["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_only_prometheus_may_connect_to_the_port_of_metrics() -> None:
    """OP-GEN-18"""
    policy = network_policy(project(monitoring=True), has_webhooks=False)

    everywhere, prometheus = policy["spec"]["ingress"]
    assert prometheus["ports"] == [{"protocol": "TCP", "port": 8080}]
    assert prometheus["from"][0]["namespaceSelector"]["matchLabels"] == {"metrics": "enabled"}
    assert everywhere == {"ports": [{"protocol": "TCP", "port": 8081}]}


@pytest.mark.parametrize(("has_webhooks", "ports"), [(False, [8081]), (True, [8081, 9443])])
def test_kubelets_and_api_servers_can_connect(has_webhooks: bool, ports: list[int]) -> None:
    """OP-GEN-17: they have no namespace that a policy could name."""
    policy = network_policy(project(), has_webhooks=has_webhooks)

    (rule,) = policy["spec"]["ingress"]
    assert "from" not in rule
    assert [port["port"] for port in rule["ports"]] == ports
    assert policy["spec"]["policyTypes"] == ["Ingress"]


def test_policies_select_the_pods_of_the_deployment() -> None:
    """OP-GEN-17"""
    pods = deployment(project(), grace=30.0, has_webhooks=False)["spec"]["template"]["metadata"]
    budget = disruption_budget(project())

    policy = network_policy(project(), has_webhooks=False)

    assert policy["spec"]["podSelector"]["matchLabels"] == pods["labels"]
    assert budget["spec"]["selector"]["matchLabels"] == pods["labels"]


def test_one_pod_can_be_evicted_even_if_it_is_the_only_one() -> None:
    """OP-GEN-17: a node with the last replica, or with a broken one, can be drained."""
    spec = disruption_budget(project(replicas=1))["spec"]

    assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
