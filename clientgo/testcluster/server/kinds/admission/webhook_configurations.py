"""Webhook configurations: their validation, beside their tables.

Upstream: ``pkg/apis/admissionregistration``.
"""

from __future__ import annotations

from collections.abc import Sequence

from clientgo.meta.validation.duplicates import duplicates
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.admission.conditions import condition_errors
from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.resources.names import DNS_1035_LABEL, DNS_SUBDOMAIN
from clientgo.testcluster.server.resources.webhook_addresses import validate_client_config
from clientgo.testcluster.server.storage.storage import Object


class WebhookConfigurationStrategy(BuiltinStrategy):
    """Webhook configurations: what their tables can't say."""

    def own_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors of names, addresses, versions and conditions."""
        errors: list[FieldError] = []
        seen: set[str] = set()
        for index, webhook in enumerate(obj.get("webhooks", ())):
            path = f"webhooks[{index}]"
            name = webhook.get("name", "")
            errors += _name_errors(name, f"{path}.name")
            if name in seen:
                errors.append(FieldError.duplicate(f"{path}.name", name))
            seen.add(name)
            config = webhook.get("clientConfig", {})
            errors += validate_client_config(config, f"{path}.clientConfig")
            versions = webhook.get("admissionReviewVersions") or ()
            errors += _version_errors(versions, f"{path}.admissionReviewVersions")
            conditions = webhook.get("matchConditions", ())
            errors += condition_errors(conditions, f"{path}.matchConditions", _expression_errors)
        return errors


def _name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [FieldError.required(path)]
    if problems := DNS_SUBDOMAIN.problems(name):
        return [FieldError.invalid(path, name, problem) for problem in problems]
    if name.count(".") < _FEWEST_DOTS:
        detail = "should be a domain with at least three segments separated by dots"
        return [FieldError.invalid(path, name, detail)]
    return []


_FEWEST_DOTS = 2
_REVIEW_VERSIONS = ("v1", "v1beta1")


def _version_errors(versions: Sequence[str], path: str) -> list[FieldError]:
    known = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        return [FieldError.required(path, f"must specify one of {known}")]
    errors = []
    repeated = duplicates(versions)
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        if index in repeated:
            errors.append(FieldError.invalid(where, version, "duplicate version"))
            continue
        problems = DNS_1035_LABEL.problems(version)
        errors += [FieldError.invalid(where, version, problem) for problem in problems]
    if not set(versions) & set(_REVIEW_VERSIONS):
        detail = f"must include at least one of {known}"
        errors.append(FieldError.invalid(path, versions, detail))
    return errors


def _expression_errors(expression: str, path: str) -> list[FieldError]:
    if not expression.strip():
        return [FieldError.required(path)]
    from clientgo.testcluster.server.admission.match_conditions import (
        expression_errors,  # loads CEL
    )

    return expression_errors(expression, path)
