"""How an operator's webhooks are registered: configurations, and the Service that leads to them.

Promises what the decorators say, in the names that the operator's own certificates look for.
Namespaces that hold the operator itself are left out of webhooks which refuse what they cannot be
asked about: otherwise its first pod could wait for itself.

Upstream: controller-tools ``pkg/webhook``, kubebuilder's ``config/webhook``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from clientgo.operator.certificates import inject_annotation
from clientgo.operator.generation.policy_rules import Manifest
from clientgo.operator.webhooks import WebhookManifest
from clientgo.operator.webhooks.conversion_endpoint import CONVERSION_PATH
from clientgo.operator.webhooks.object_names import WebhookObjectNames

PORT: Final = 9443
"""Where the operator's webhook server listens in its pod."""
_API_VERSION: Final = "admissionregistration.k8s.io/v1"
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


def webhook_configurations(
    operator: str,
    namespace: str,
    webhooks: Sequence[WebhookManifest],
    *,
    cert_manager: bool = False,
) -> list[Manifest]:
    """The configurations of those that change objects, and of those that judge them."""
    names = WebhookObjectNames.of(operator)
    return [
        {
            "apiVersion": _API_VERSION,
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name}
            | _annotations(names.certificate, namespace, cert_manager=cert_manager),
            "webhooks": [_webhook(webhook, names.service, namespace) for webhook in chosen],
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
    operator: str,
    namespace: str,
    *,
    cert_manager: bool = False,
) -> None:
    """Have the definitions of these names converted by the operator; changes them in place."""
    names = WebhookObjectNames.of(operator)
    for definition in definitions:
        if definition["metadata"]["name"] not in converted:
            continue
        definition["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": _service(names.service, namespace, CONVERSION_PATH),
                "conversionReviewVersions": ["v1"],
            },
        }
        if cert_manager:
            annotations = definition["metadata"].setdefault("annotations", {})
            annotations |= inject_annotation(names.certificate, namespace)


def _annotations(certificate: str, namespace: str, *, cert_manager: bool) -> Manifest:
    return {"annotations": inject_annotation(certificate, namespace)} if cert_manager else {}


def _webhook(webhook: WebhookManifest, service: str, namespace: str) -> Manifest:
    said: Manifest = {
        "name": webhook.name,
        "clientConfig": _service(service, namespace, webhook.path),
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
    if webhook.failure_policy == "Fail":
        elsewhere = {"key": _NAMESPACE_NAME, "operator": "NotIn", "values": [namespace]}
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), elsewhere]
    return selector


def _service(name: str, namespace: str, path: str) -> Manifest:
    return {"service": {"name": name, "namespace": namespace, "port": 443, "path": path}}
