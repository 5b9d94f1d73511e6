"""What the objects around an operator's webhooks are called: one convention for who makes them
(generated manifests) and for who looks for them (certificates of the operator's own)."""

from __future__ import annotations

from typing import NamedTuple, Self


class WebhookObjectNames(NamedTuple):
    """``service`` leads to the webhook server, ``secret`` holds its certificate."""

    service: str
    secret: str
    certificate: str
    mutating: str
    validating: str

    @classmethod
    def of(cls, operator: str) -> Self:
        """The names for the operator called ``operator``; those of kubebuilder, prefixed."""
        return cls(
            service=f"{operator}-webhook",
            secret=f"{operator}-webhook-cert",
            certificate=f"{operator}-serving-cert",
            mutating=f"{operator}-mutating-webhook-configuration",
            validating=f"{operator}-validating-webhook-configuration",
        )
