"""Webhooks are registered as their decorators say."""

from __future__ import annotations

from typing import Any

from clientgo.codegen.crd import definitions_of
from clientgo.operator.certificates import inject_annotation
from clientgo.operator.webhooks import Operation, WebhookManifest, Webhooks, default, validate
from clientgo.tools.scaffold.manifests.webhook_configurations import (
    add_conversions,
    by_url,
    through_service,
    webhook_configurations,
    webhook_service,
)
from tests.tools.scaffold.declared import Note, OldShop, Shop


@default(Shop, object_selector={"matchLabels": {"a": "b"}})
def complete(obj: Shop, ctx: Any) -> None: ...


@validate(Shop, on=[Operation.CREATE, Operation.DELETE], timeout_seconds=3)
def check(obj: Shop, old: Shop | None, ctx: Any) -> None: ...


@validate(Note, failure_policy="Ignore", namespace_selector={"matchLabels": {"c": "d"}})
def look(obj: Note, old: Note | None, ctx: Any) -> None: ...


def _manifests() -> tuple[WebhookManifest, ...]:
    webhooks = Webhooks()
    webhooks.register(complete, check, look)
    return webhooks.manifests


def _configurations(**options: Any) -> list[dict[str, Any]]:
    reach = through_service("shopkeeper", "shops")
    options = {"namespace": "shops"} | options
    return webhook_configurations("shopkeeper", _manifests(), reach, **options)


def test_each_decorator_is_an_entry_of_its_configuration() -> None:
    """OP-GEN-16"""
    mutating, validating = _configurations()

    assert mutating["kind"] == "MutatingWebhookConfiguration"
    assert mutating["metadata"] == {"name": "shopkeeper-mutating-webhook-configuration"}
    (entry,) = mutating["webhooks"]
    assert entry["clientConfig"]["service"] == {
        "name": "shopkeeper-webhook",
        "namespace": "shops",
        "port": 443,
        "path": "/mutate-example-com-v1-shop",
    }
    assert entry["objectSelector"] == {"matchLabels": {"a": "b"}}
    assert entry["reinvocationPolicy"] == "Never"
    by_name = {entry["name"]: entry for entry in validating["webhooks"]}
    assert by_name["vshop.example.com"]["timeoutSeconds"] == 3
    assert by_name["vshop.example.com"]["rules"] == [
        {
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "resources": ["shops"],
            "operations": ["CREATE", "DELETE"],
            "scope": "*",
        }
    ]


def test_no_configuration_is_written_for_what_there_is_not() -> None:
    """OP-GEN-16"""
    only = [manifest for manifest in _manifests() if manifest.mutating]

    assert [c["kind"] for c in webhook_configurations("o", only, through_service("o", "ns"))] == [
        "MutatingWebhookConfiguration"
    ]


def test_the_service_leads_to_the_operators_pods() -> None:
    """OP-GEN-16: 443 to 9443."""
    service = webhook_service("shopkeeper", "shops", {"app": "x"})

    assert service["metadata"] == {"name": "shopkeeper-webhook", "namespace": "shops"}
    assert service["spec"] == {
        "selector": {"app": "x"},
        "ports": [{"name": "webhook", "port": 443, "targetPort": 9443}],
    }


def test_webhooks_that_refuse_what_they_cannot_judge_leave_the_operators_namespace_out() -> None:
    """OP-WHK-19"""
    _, validating = _configurations()
    by_name = {entry["name"]: entry for entry in validating["webhooks"]}

    assert by_name["vshop.example.com"]["namespaceSelector"] == {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shops"]}
        ]
    }
    assert by_name["vnote.example.com"]["namespaceSelector"] == {"matchLabels": {"c": "d"}}


def test_annotations_say_where_cert_manager_writes_its_authority() -> None:
    """OP-CRT-03"""
    annotations = inject_annotation("shopkeeper-serving-cert", "shops")
    for configuration in _configurations(annotations=annotations):
        assert configuration["metadata"]["annotations"] == {
            "cert-manager.io/inject-ca-from": "shops/shopkeeper-serving-cert"
        }


def test_an_operator_outside_of_the_cluster_is_called_by_url() -> None:
    """OP-GEN-21: no namespace is left out, since no pod of it has to start."""
    reach = by_url("https://127.0.0.1:1234", b"PEM")
    mutating, validating = webhook_configurations("shopkeeper", _manifests(), reach)

    assert mutating["webhooks"][0]["clientConfig"] == {
        "url": "https://127.0.0.1:1234/mutate-example-com-v1-shop",
        "caBundle": "UEVN",
    }
    assert "namespaceSelector" not in validating["webhooks"][1]


def test_kinds_with_converters_are_converted_by_the_operator_and_others_are_not() -> None:
    """OP-GEN-11: the conversion stanza."""
    shops, notes = definitions = definitions_of([Shop, OldShop, Note])

    add_conversions(definitions, ["shops.example.com"], through_service("shopkeeper", "shops"))

    assert "conversion" not in notes["spec"]
    assert shops["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {
                    "name": "shopkeeper-webhook",
                    "namespace": "shops",
                    "port": 443,
                    "path": "/convert",
                }
            },
            "conversionReviewVersions": ["v1"],
        },
    }
