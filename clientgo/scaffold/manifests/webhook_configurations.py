"""How an operator's webhooks are registered: configurations, and the Service that leads to them.

In a cluster the API server calls them through a Service; an operator that runs outside of it is
called by URL.

Promises what the decorators say, in the names that the operator's own certificates look for.
Namespaces that hold the operator itself are left out of webhooks which refuse what they cannot be
asked about: otherwise its first pod could wait for itself.

Upstream: controller-tools ``pkg/webhook``, kubebuilder's ``config/webhook``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from clientgo.codegen.manifests import Manifest
from clientgo.operator.webhooks import WebhookManifest
from clientgo.operator.webhooks.conversion_endpoint import CONVERSION_PATH
from clientgo.operator.webhooks.manifest import WebhookObjectNames

PORT: Final = 9443
"""Where the operator's webhook server listens in its pod."""
_API_VERSION: Final = "admissionregistration.k8s.io/v1"
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"

ClientConfig = Callable[[str], Manifest]
"""Return how the API server calls the webhook at a path: its ``clientConfig``."""


def through_service(operator: str, namespace: str) -> ClientConfig:
    """Call the webhooks of an operator that runs in the cluster."""
    name = WebhookObjectNames.of(operator).service
    return lambda path: {
        "service": {"name": name, "namespace": namespace, "port": 443, "path": path}
    }


def by_url(url: str, authority: bytes) -> ClientConfig:
    """Call the webhooks that are served at ``url``, and trust the PEM ``authority``."""
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
    """The Service through which the API server calls the operator."""
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
    """Have the definitions of these names converted by the operator; changes them in place."""
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
    said: Manifest = {
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
        said["reinvocationPolicy"] = webhook.reinvocation_policy
    if selector := _namespace_selector(webhook, namespace):
        said["namespaceSelector"] = selector
    if webhook.object_selector is not None:
        said["objectSelector"] = dict(webhook.object_selector)
    if webhook.match_conditions:
        said["matchConditions"] = [dict(condition) for condition in webhook.match_conditions]
    return said


def _namespace_selector(webhook: WebhookManifest, namespace: str) -> dict[str, Any]:
    selector = dict(webhook.namespace_selector or {})
    if namespace and webhook.failure_policy == "Fail":
        elsewhere = {"key": _NAMESPACE_NAME, "operator": "NotIn", "values": [namespace]}
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), elsewhere]
    return selector
