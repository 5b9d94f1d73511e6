"""Registering webhooks with the embedded API server."""

from __future__ import annotations

from typing import Any

import msgspec

from clientgo.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.meta import NotFoundError, resource_of
from clientgo.operator.webhooks import WebhookManifest
from clientgo.util.wait import Backoff, on_error
from tests.operator.webhooks.reviews import Foo

CONFIGURATION = "demo"
"""The name of both configurations."""


def serve_foos(client: Client) -> None:
    """Make the server know Foos; returns when it does."""
    resource = resource_of(Foo)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    client.resource(resource_of(CustomResourceDefinition)).create(
        {
            "metadata": {"name": resource.group_resource},
            "spec": {
                "group": resource.group,
                "names": {"plural": resource.plural, "kind": resource.kind},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": resource.version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": schema},
                        "subresources": {"status": {}},
                    }
                ],
            },
        }
    )
    on_error(
        Backoff(duration=0.01, steps=500),
        lambda error: isinstance(error, NotFoundError),
        lambda: client.resource(Foo).namespace("default").list(),
    )


def register(client: Client, manifests: tuple[WebhookManifest, ...], url: str) -> None:
    """Register webhooks that answer at ``url``, without a caBundle."""
    for kind, mutating in (
        (MutatingWebhookConfiguration, True),
        (ValidatingWebhookConfiguration, False),
    ):
        client.resource(resource_of(kind)).create(
            {
                "metadata": {"name": CONFIGURATION},
                "webhooks": [webhook_of(m, url) for m in manifests if m.mutating is mutating],
            }
        )


def webhook_of(manifest: WebhookManifest, url: str) -> dict[str, Any]:
    """One webhook of a configuration, which answers at ``url``."""
    webhook = {
        "name": manifest.name,
        "clientConfig": {"url": url + manifest.path},
        "rules": [
            {
                "apiGroups": manifest.groups,
                "apiVersions": manifest.versions,
                "resources": manifest.resources,
                "operations": manifest.operations,
                "scope": manifest.scope,
            }
        ],
        "failurePolicy": manifest.failure_policy,
        "sideEffects": manifest.side_effects,
        "timeoutSeconds": manifest.timeout_seconds,
        "matchPolicy": manifest.match_policy,
        "admissionReviewVersions": manifest.admission_review_versions,
    }
    plain: dict[str, Any] = msgspec.to_builtins(webhook)
    return plain
