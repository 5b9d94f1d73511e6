"""Objects of the kubernetes package as configurations."""

from __future__ import annotations

from typing import Any

from clientgo.rest import rest_config_of


def test_the_hook_of_the_kubernetes_package_is_asked_at_every_request():
    from kubernetes.client import Configuration

    configuration = Configuration(host="http://host")
    configuration.api_key["authorization"] = "Bearer old"
    turns = []

    def refresh(current: Any) -> None:
        turns.append(1)
        current.api_key["authorization"] = f"Bearer {len(turns)}"

    configuration.refresh_api_key_hook = refresh
    config = rest_config_of(configuration)

    assert [
        config.credentials.current().authorization,
        config.credentials.current().authorization,
    ] == ["Bearer 1", "Bearer 2"]


def test_objects_of_the_kubernetes_package_are_understood():
    from kubernetes.client import ApiClient, Configuration

    configuration = Configuration(host="https://host")
    configuration.verify_ssl = False
    configuration.ssl_ca_cert = "/ca.crt"

    for source in (configuration, ApiClient(configuration)):
        config = rest_config_of(source)
        assert (config.server, config.tls.insecure, config.tls.ca_file) == (
            "https://host",
            True,
            "/ca.crt",
        )
