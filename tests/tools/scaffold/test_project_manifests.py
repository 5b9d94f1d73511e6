"""Every manifest of a project, from its code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from clientgo.meta import Resource, resource
from clientgo.operator.errors import DeclarationError
from clientgo.operator.permissions import PolicyRule
from clientgo.operator.webhooks import conversion, validate
from clientgo.tools.scaffold.manifests.project_manifests import generate
from clientgo.tools.scaffold.project_code import require_converters
from tests.tools.scaffold.declared import (
    Note,
    OldShop,
    Shop,
    ShopReconciler,
    ShopSpec,
    manager,
    of_kind,
    operator,
)


@validate(Shop)
def check(obj: Shop, old: Shop | None, ctx: Any) -> None: ...


@conversion(OldShop, hub=Shop)
class OldShopConverter:
    def to_hub(self, spoke: OldShop) -> Shop:
        return Shop(metadata=spoke.metadata, spec=spoke.spec)

    def from_hub(self, hub: Shop) -> OldShop:
        return OldShop(metadata=hub.metadata, spec=hub.spec)


def _documents(files: Mapping[str, str], name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(files[name]))


def test_a_plain_operator_has_what_it_needs_and_no_more() -> None:
    """OP-GEN-19: all parts."""
    files = generate(operator(manager(ShopReconciler()))).files

    assert sorted(files) == [
        "crd/shops.example.com.yaml",
        "deploy/deployment.yaml",
        "deploy/disruption-budget.yaml",
        "deploy/namespace.yaml",
        "deploy/network-policy.yaml",
        "kustomization.yaml",
        "rbac/operator.yaml",
        "rbac/users.yaml",
        "samples/v1_shop.yaml",
    ]
    (kustomization,) = _documents(files, "kustomization.yaml")
    assert kustomization["resources"] == [
        "deploy/namespace.yaml",
        "crd/shops.example.com.yaml",
        "rbac/operator.yaml",
        "rbac/users.yaml",
        "deploy/deployment.yaml",
        "deploy/disruption-budget.yaml",
        "deploy/network-policy.yaml",
    ]


def test_webhooks_and_converters_bring_a_service_and_their_registration() -> None:
    """OP-GEN-16, OP-GEN-11"""
    made = manager(ShopReconciler())
    made.webhook(check, OldShopConverter)
    files = generate(operator(made, Shop, OldShop)).files

    (service,) = _documents(files, "webhooks/service.yaml")
    (deployment,) = _documents(files, "deploy/deployment.yaml")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    (configuration,) = _documents(files, "webhooks/configurations.yaml")
    assert configuration["kind"] == "ValidatingWebhookConfiguration"
    (definition,) = _documents(files, "crd/shops.example.com.yaml")
    assert definition["spec"]["conversion"]["strategy"] == "Webhook"
    role = of_kind(_documents(files, "rbac/operator.yaml"), "ClusterRole")[0]
    assert any(r.get("resourceNames") == ["shops.example.com"] for r in role["rules"])


def test_with_cert_manager_the_operator_keeps_no_certificate() -> None:
    """OP-CRT-03"""
    made = manager(ShopReconciler())
    made.webhook(check)
    files = generate(operator(made, certificates="cert-manager")).files

    issuer, certificate = _documents(files, "webhooks/certificate.yaml")
    assert (issuer["kind"], certificate["spec"]["secretName"]) == (
        "Issuer",
        "shopkeeper-webhook-cert",
    )
    assert "secrets" not in files["rbac/operator.yaml"]


def test_what_is_granted_beside_the_controllers_is_in_the_role() -> None:
    """OP-GEN-14"""
    nodes = PolicyRule(groups=("",), resources=("pods/log",), verbs=("get",))
    files = generate(operator(manager(ShopReconciler()), granted=(nodes,))).files

    assert "pods/log" in files["rbac/operator.yaml"]


def test_monitoring_is_written_if_it_is_wanted() -> None:
    """OP-GEN-18"""
    files = generate(operator(manager(ShopReconciler()), monitoring=True)).files

    assert [m["kind"] for m in _documents(files, "deploy/monitoring.yaml")] == [
        "Service",
        "ServiceMonitor",
        "ClusterRole",
    ]


def test_pods_are_protected_beside_the_deployment_unless_the_project_says_otherwise() -> None:
    """OP-GEN-17"""
    files = generate(operator(manager(ShopReconciler()))).files
    without = generate(operator(manager(ShopReconciler()), network_policy=False)).files

    assert files.keys() - without.keys() == {"deploy/network-policy.yaml"}
    assert [m["kind"] for m in _documents(without, "deploy/disruption-budget.yaml")] == [
        "PodDisruptionBudget"
    ]
    (kustomization,) = _documents(files, "kustomization.yaml")
    assert "deploy/network-policy.yaml" in kustomization["resources"]


def test_the_same_code_makes_the_same_bytes() -> None:
    """OP-GEN-01"""
    assert (
        generate(operator(manager(ShopReconciler()))).files
        == generate(operator(manager(ShopReconciler()))).files
    )


@resource(group="example.com", version="v1alpha1", plural="shops", kind="Shop")
class OldestShop(Resource):
    """A version that was forgotten."""

    spec: ShopSpec = ShopSpec()


def test_a_version_of_a_converted_kind_without_a_converter_is_refused() -> None:
    """OP-CNV-02: the API server would ask for it, and every read of it would fail."""
    made = manager()
    made.webhook(OldShopConverter)
    require_converters(made, [Note, Shop, OldShop])

    with pytest.raises(
        DeclarationError, match=r"no converter for example\.com/v1alpha1, Kind=Shop"
    ):
        require_converters(made, [Note, Shop, OldShop, OldestShop])
