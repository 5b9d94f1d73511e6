"""Webhooks: the API server calls them before it stores an object, and to convert versions.

    API server ──► WebhookServer ──► path ──► AdmissionEndpoint ──► @default, @validate, @mutate_raw
       TLS                            └─────► ConversionEndpoint ──► @conversion

    @validate(Foo)
    def check(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        errors = FieldErrors()
        if obj.spec.replicas < 0:
            errors.invalid(path("spec", "replicas"), obj.spec.replicas, "must not be negative")
        errors.raise_if_any()

    manager.webhook(check)

``Webhooks.manifests`` has the values with which to register them.
"""

from clientgo.operator.webhooks.admission_review import (
    AdmissionContext,
    AdmissionRequest,
    AdmissionResponse,
    Operation,
    UserInfo,
    plain_object,
)
from clientgo.operator.webhooks.conversion_endpoint import CONVERSION_PATH
from clientgo.operator.webhooks.conversions import Converter, as_version, conversion
from clientgo.operator.webhooks.declarations import (
    RunCoroutine,
    default,
    defaulting,
    mutate_raw,
    validate,
    validating,
)
from clientgo.operator.webhooks.manifest import WebhookManifest, WebhookObjectNames
from clientgo.operator.webhooks.refusals import Denied, FieldErrors, path
from clientgo.operator.webhooks.server import WebhookOptions, Webhooks, WebhookServer

__all__ = [
    # declaring
    "default",
    "validate",
    "mutate_raw",
    "conversion",
    "Converter",
    "as_version",
    "validating",
    "defaulting",
    # inside a handler
    "AdmissionContext",
    "Operation",
    "UserInfo",
    "Denied",
    "FieldErrors",
    "path",
    "AdmissionRequest",
    "AdmissionResponse",
    "plain_object",
    # serving
    "Webhooks",
    "RunCoroutine",
    "WebhookServer",
    "WebhookOptions",
    # registering
    "WebhookManifest",
    "WebhookObjectNames",
    "CONVERSION_PATH",
]
