"""Objects of the kubernetes package as configurations."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import urllib3
from kubernetes.client import ApiClient, Configuration

from clientgo.rest import ConfigError, Impersonation, RestClient, rest_config_of
from clientgo.testing.scripted_server import ScriptedServer, answer_json


def test_the_hook_of_the_kubernetes_package_is_asked_at_every_request():
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


def api_client(host: str = "https://host", **headers: str) -> ApiClient:
    client = ApiClient(Configuration(host=host))
    for name, value in headers.items():
        client.set_default_header(name.replace("_", "-"), value)
    return client


def test_the_headers_by_which_programs_impersonate_are_sent():
    """Dropped, they would make a program act as the stronger identity."""
    with ScriptedServer() as server:
        server.on("/x", answer_json({}))
        source = api_client(
            server.url,
            Impersonate_User="jane",
            impersonate_group="devs",
            Impersonate_Extra_scopes="view",
            Authorization="Bearer mine",
            User_Agent="mine/1",
        )
        RestClient(rest_config_of(source)).get().absolute_path("/x").do()
        sent = server.requests[0].headers

    assert sent["impersonate-user"] == "jane"
    assert sent["impersonate-group"] == "devs"
    assert sent["impersonate-extra-scopes"] == "view"
    assert (sent["authorization"], sent["user-agent"]) == ("Bearer mine", "mine/1")


def test_an_api_client_without_headers_impersonates_nobody(caplog):
    config = rest_config_of(api_client())

    assert config.impersonate is None
    assert config.user_agent.startswith("python") or "OpenAPI" not in config.user_agent
    assert caplog.text == ""


def test_a_group_without_a_user_is_refused():
    with pytest.raises(ConfigError, match="name the user to act as"):
        rest_config_of(api_client(Impersonate_Group="devs"))
    assert Impersonation(user="jane").groups == ()


def test_a_header_that_is_not_sent_is_reported(caplog):
    with caplog.at_level(logging.WARNING):
        rest_config_of(api_client(X_Tenant="secret-word"))

    assert "'x-tenant' of the ApiClient is not sent" in caplog.text
    assert "secret-word" not in caplog.text


def test_a_token_of_the_configuration_beats_the_header():
    """As in the package: it is set when a request is made."""
    source = api_client(Authorization="Bearer header")
    source.configuration.api_key["authorization"] = "Bearer key"

    assert rest_config_of(source).credentials.current().authorization == "Bearer key"


@pytest.mark.parametrize(
    ("host", "no_proxy", "headers", "expected"),
    [
        ("https://host", None, None, "http://proxy:3128"),
        ("https://host", "other,.example.com", None, "http://proxy:3128"),
        ("https://host.example.com", "other,.example.com", None, ""),
        ("https://10.1.2.3", "10.0.0.0/8", None, ""),
        ("https://host", None, {"user": "u", "password": "p@:/"}, "http://u:p%40%3A%2F@proxy:3128"),
    ],
)
def test_the_proxy_of_a_configuration_is_used(host, no_proxy, headers, expected):
    configuration = Configuration(host=host)
    configuration.proxy, configuration.no_proxy = "http://proxy:3128", no_proxy
    if headers:
        pair = f"{headers['user']}:{headers['password']}"
        configuration.proxy_headers = urllib3.make_headers(proxy_basic_auth=pair)

    assert rest_config_of(configuration).proxy == expected


def test_the_name_that_a_certificate_must_have_is_taken():
    configuration = Configuration(host="https://10.0.0.1")
    configuration.assert_hostname = "kubernetes"
    assert rest_config_of(configuration).tls.server_name == "kubernetes"

    configuration.assert_hostname = False
    with pytest.raises(ConfigError, match="assert_hostname is False"):
        rest_config_of(configuration)

    configuration.verify_ssl = False
    assert rest_config_of(configuration).tls.insecure
