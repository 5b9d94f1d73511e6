"""Webhook configurations: their defaults and their validation.

Upstream: ``pkg/apis/admissionregistration``.
"""

from __future__ import annotations

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.admission.selectors import selector_errors
from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.resources.webhook_addresses import validate_client_config
from clientgo.testcluster.server.storage.storage import Object


class WebhookConfigurationStrategy(BuiltinStrategy):
    """Webhook configurations."""

    def default(self, obj: Object) -> None:
        """Set failure and match policy, selectors, timeout and scope."""
        for webhook in obj.get("webhooks", ()):
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("timeoutSeconds", 10)
            if self.kind == "MutatingWebhookConfiguration":
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in webhook.get("rules", ()):
                rule.setdefault("scope", "*")

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of the configuration."""
        return validate_webhooks(obj)


def validate_webhooks(configuration: Object) -> list[FieldError]:
    """Return the errors of a webhook configuration."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, webhook in enumerate(configuration.get("webhooks", ())):
        path = f"webhooks[{index}]"
        name = webhook.get("name", "")
        if name.count(".") < 2:
            detail = "should be a domain with at least three segments separated by dots"
            errors.append(FieldError.invalid(f"{path}.name", name, detail))
        if name in seen:
            errors.append(FieldError.duplicate(f"{path}.name", name))
        seen.add(name)
        errors += validate_client_config(webhook.get("clientConfig", {}), f"{path}.clientConfig")
        errors += _validate_choices(webhook, path)
        errors += selector_errors(webhook, path, "namespaceSelector", "objectSelector")
        for position, condition in enumerate(webhook.get("matchConditions", ())):
            errors += _validate_condition(condition, f"{path}.matchConditions[{position}]")
    return errors


_CHOICES: dict[str, tuple[str, ...]] = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "sideEffects": ("None", "NoneOnDryRun"),
}


def _validate_choices(webhook: Object, path: str) -> list[FieldError]:
    errors = []
    for field, supported in _CHOICES.items():
        value = webhook.get(field)
        if value is None and field == "sideEffects":
            detail = f"must specify one of {', '.join(supported)}"
            errors.append(FieldError.required(f"{path}.{field}", detail))
        elif value is not None and value not in supported:
            errors.append(FieldError.not_supported(f"{path}.{field}", value, supported))
    if not webhook.get("admissionReviewVersions"):
        detail = "must specify one of v1, v1beta1"
        errors.append(FieldError.required(f"{path}.admissionReviewVersions", detail))
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and timeout not in range(1, 31):
        detail = "the timeout value must be between 1 and 30 seconds"
        errors.append(FieldError.invalid(f"{path}.timeoutSeconds", timeout, detail))
    return errors


def _validate_condition(condition: Object, path: str) -> list[FieldError]:
    errors = []
    if not condition.get("name"):
        errors.append(FieldError.required(f"{path}.name"))
    expression = condition.get("expression", "")
    if not expression.strip():
        return [*errors, FieldError.required(f"{path}.expression")]
    from clientgo.testcluster.server.admission.match_conditions import (
        expression_errors,  # loads CEL
    )

    return errors + expression_errors(expression, f"{path}.expression")
