"""The settings of the webhook server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks import WebhookOptions


def test_the_defaults_are_those_that_kubebuilder_projects_expect() -> None:
    """OP-WHK-01"""
    options = WebhookOptions()

    assert (options.port, options.certs) == (9443, "dir")
    assert options.directory.parts[-2:] == ("k8s-webhook-server", "serving-certs")
    assert options.client_authorities is None
    assert options.is_enabled({})


def test_the_authorities_of_clients_are_looked_for_beside_the_certificate() -> None:
    """OP-WHK-01"""
    assert WebhookOptions(cert_dir="/certs", client_ca="ca.crt").client_authorities == Path(
        "/certs/ca.crt"
    )
    assert WebhookOptions(cert_dir="/certs", client_ca="/other/ca.crt").client_authorities == Path(
        "/other/ca.crt"
    )


@pytest.mark.parametrize(
    ("options", "environment", "enabled"),
    [
        ({"port": -1}, {}, False),
        ({"enabled": False}, {}, False),
        ({}, {"ENABLE_WEBHOOKS": "false"}, False),
        ({}, {"ENABLE_WEBHOOKS": "False"}, False),
        ({}, {"ENABLE_WEBHOOKS": "true"}, True),
        ({}, {"ENABLE_WEBHOOKS": ""}, True),
    ],
)
def test_webhooks_can_be_switched_off(
    options: dict[str, Any], environment: dict[str, str], enabled: bool
) -> None:
    """OP-WHK-01, OP-WHK-20, CRON-45"""
    assert WebhookOptions(**options).is_enabled(environment) is enabled


@pytest.mark.parametrize(
    ("options", "complaint"), [({"port": 70000}, "70000"), ({"certs": "none"}, "'none'")]
)
def test_settings_that_cannot_be_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        WebhookOptions(**options)
