"""The settings of the webhook server."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks import WebhookOptions, Webhooks, WebhookServer


def test_the_defaults_are_those_that_kubebuilder_projects_expect() -> None:
    """OP-WHK-01"""
    options = WebhookOptions()

    assert (options.port, options.certs) == (9443, "dir")
    assert options.directory.parts[-2:] == ("k8s-webhook-server", "serving-certs")
    assert options.client_authorities is None
    assert options.is_enabled({})


def test_files_that_are_mounted_need_no_directory_that_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pod with a read-only root filesystem has no temporary directory."""
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", _no_directory)

    assert WebhookOptions().directory == Path("/tmp/k8s-webhook-server/serving-certs")


def test_own_certificates_say_which_directory_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", _no_directory)

    with pytest.raises(ConfigError, match="mount an emptyDir at /tmp, or pass cert_dir"):
        WebhookServer(WebhookOptions(certs="self"), Webhooks())


def test_two_servers_do_not_share_the_files_of_their_own_certificates() -> None:
    first, second = (WebhookServer(WebhookOptions(certs="self"), Webhooks()) for _ in range(2))

    assert first.certificate.certificate != second.certificate.certificate


def _no_directory(*_: Any, **__: Any) -> str:
    raise FileNotFoundError("No usable temporary directory found")


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
