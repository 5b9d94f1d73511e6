"""How an operator's webhooks are registered: configurations, and the Service that leads to them.

Promises: the names that the operator's own certificates look for. Webhooks that fail closed leave
out the operator's namespace, where they would refuse the pod that answers them.

Upstream: controller-tools ``pkg/webhook``, kubebuilder's ``config/webhook``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from clientgo.codegen.manifests import Manifest
from clientgo.operator.webhooks import CONVERSION_PATH, WebhookManifest, WebhookObjectNames

PORT: Final = 9443
"""The port of the webhook server in the operator's pod."""
_API_VERSION: Final = "admissionregistration.k8s.io/v1"

ClientConfig = Callable[[str], Manifest]
"""Returns the ``clientConfig`` of the webhook at a path: how the API server calls it."""


def through_service(operator: str, namespace: str) -> ClientConfig:
    """Return how to call the webhooks of an operator that runs in the cluster."""
    name = WebhookObjectNames.of(operator).service
    return lambda path: {
        "service": {"name": name, "namespace": namespace, "port": 443, "path": path}
    }


def by_url(url: str, authority: bytes) -> ClientConfig:
    """Return how to call webhooks that are served at ``url`` and trust the PEM ``authority``."""
    bundle = base64.b64encode(authority).decode()
    return lambda path: {"url": f"{url}{path}", "caBundle": bundle}


def webhook_configurations(
    operator: str,
    webhooks: Sequence[WebhookManifest],
    client_config: ClientConfig,
    *,
    namespace: str = "",
    annotations: Manifest | None = None,
) -> list[Manifest]:
    """Return the configurations of the mutating webhooks and of the validating ones.

    ``namespace`` is that of the operator's own pods, empty if it runs outside of the cluster.
    """
    names = WebhookObjectNames.of(operator)
    return [
        {
            "apiVersion": _API_VERSION,
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name} | ({"annotations": annotations} if annotations else {}),
            "webhooks": [_webhook(webhook, client_config, namespace) for webhook in chosen],
        }
        for kind, name, chosen in (
            ("Mutating", names.mutating, [w for w in webhooks if w.mutating]),
            ("Validating", names.validating, [w for w in webhooks if not w.mutating]),
        )
        if chosen
    ]


def webhook_service(operator: str, namespace: str, labels: dict[str, str]) -> Manifest:
    """Return the Service through which the API server calls the operator."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WebhookObjectNames.of(operator).service, "namespace": namespace},
        "spec": {
            "selector": dict(labels),
            "ports": [{"name": "webhook", "port": 443, "targetPort": PORT}],
        },
    }


def add_conversions(
    definitions: Iterable[Manifest],
    converted: Sequence[str],
    client_config: ClientConfig,
    annotations: Manifest | None = None,
) -> None:
    """Set the operator as converter of these definitions; changes them in place."""
    for definition in definitions:
        if definition["metadata"]["name"] not in converted:
            continue
        definition["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": client_config(CONVERSION_PATH),
                "conversionReviewVersions": ["v1"],
            },
        }
        if annotations:
            definition["metadata"].setdefault("annotations", {}).update(annotations)


def _webhook(webhook: WebhookManifest, client_config: ClientConfig, namespace: str) -> Manifest:
    webhook = webhook.excluding(namespace) if namespace else webhook
    manifest: Manifest = {
        "name": webhook.name,
        "clientConfig": client_config(webhook.path),
        "rules": [
            {
                "apiGroups": list(webhook.groups),
                "apiVersions": list(webhook.versions),
                "resources": list(webhook.resources),
                "operations": [operation.value for operation in webhook.operations],
                "scope": webhook.scope,
            }
        ],
        "failurePolicy": webhook.failure_policy,
        "matchPolicy": webhook.match_policy,
        "sideEffects": webhook.side_effects,
        "timeoutSeconds": webhook.timeout_seconds,
        "admissionReviewVersions": list(webhook.admission_review_versions),
    }
    if webhook.mutating:
        manifest["reinvocationPolicy"] = webhook.reinvocation_policy
    if webhook.namespace_selector:
        manifest["namespaceSelector"] = dict(webhook.namespace_selector)
    if webhook.object_selector is not None:
        manifest["objectSelector"] = dict(webhook.object_selector)
    if webhook.match_conditions:
        manifest["matchConditions"] = [dict(condition) for condition in webhook.match_conditions]
    return manifest
