"""Which credentials a user entry of a kubeconfig means."""

from __future__ import annotations

import base64

import pytest

from clientgo.rest import ANONYMOUS, ConfigError, Identity
from clientgo.rest.config.kubeconfig_types import AuthProvider, Cluster, ExecPlugin, User
from clientgo.rest.config.user_credentials import credentials_of

HTTPS = Cluster(server="https://example.test")
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


IDENTITIES = {
    "nothing": (User(), Identity()),
    "a token": (User(token="t"), Identity(authorization="Bearer t")),
    "a password": (User(username="u", password="p"), Identity(authorization="Basic dTpw")),
    "a password that is not ASCII": (
        User(username="u", password="ü"),
        Identity(authorization=f"Basic {encoded('u:ü')}"),
    ),
    "certificate files": (
        User(client_certificate="/c", client_key="/k"),
        Identity(cert_file="/c", key_file="/k"),
    ),
    "certificate data": (
        User(client_certificate_data=encoded(CERTIFICATE), client_key_data=encoded(KEY)),
        Identity(cert_data=CERTIFICATE, key_data=KEY),
    ),
    "a certificate file with a key as data": (
        User(client_certificate="/c", client_key_data=encoded(KEY)),
        Identity(cert_file="/c", key_data=KEY),
    ),
    "a token and a certificate": (
        User(token="t", client_certificate="/c", client_key="/k"),
        Identity(authorization="Bearer t", cert_file="/c", key_file="/k"),
    ),
}


@pytest.mark.parametrize(("user", "expected"), IDENTITIES.values(), ids=list(IDENTITIES))
def test_what_client_go_sends_is_sent(user, expected):
    assert credentials_of(user, HTTPS).current() == expected


def test_the_file_of_a_token_beats_the_token(tmp_path):
    (tmp_path / "token").write_text("of the file\n")
    user = User(token="t", token_file=str(tmp_path / "token"))

    assert credentials_of(user, HTTPS).current().authorization == "Bearer of the file"


PLUGIN = ExecPlugin(
    command="/none", api_version="client.authentication.k8s.io/v1", interactive_mode="Never"
)


def test_a_plugin_is_not_run_before_it_is_needed():
    credentials = credentials_of(User(exec=PLUGIN), HTTPS)

    with pytest.raises(ConfigError, match="the credential plugin '/none' is not installed"):
        credentials.current()


@pytest.mark.parametrize(
    "beside",
    [
        {"token": "t"},
        {"username": "u"},
        {"client_certificate": "/c", "client_key": "/k"},
    ],
)
def test_a_plugin_is_not_run_for_who_has_other_credentials(beside):
    """As client-go: Authenticator.UpdateTransportConfig."""
    credentials = credentials_of(User(exec=PLUGIN, **beside), HTTPS)

    assert credentials.current() == credentials_of(User(**beside), HTTPS).current()


REFUSED = {
    "a token with a line break": (
        User(token="secret\r\nX-Injected: 1"),
        "the user has line breaks, control characters or non-ASCII characters in its token; "
        "a token is one line of ASCII text; write it without a line break at its end",
    ),
    "a token and a password": (
        User(token="secret", username="u"),
        "the user has a token and a username or password; remove one of them",
    ),
    "a token's file and a password": (
        User(token_file="/secret", password="secret"),
        "the user has a token and a username or password; remove one of them",
    ),
    "data that is not base64": (
        User(client_certificate_data="*secret*"),
        "client-certificate-data is not base64; encode the PEM file in base64, in one line",
    ),
    "data that is no PEM": (
        User(client_key_data=encoded("secret")),
        "client-key-data holds no PEM; encode the PEM file in base64, in one line",
    ),
    "gcp": (
        User(auth_provider=AuthProvider(name="gcp", config={"access-token": "secret"})),
        "the gcp auth plugin has been removed; use the credential plugin gke-gcloud-auth-plugin: "
        "install it and run 'gcloud container clusters get-credentials'",
    ),
    "azure": (
        User(auth_provider=AuthProvider(name="azure", config={"access-token": "secret"})),
        "the azure auth plugin has been removed; use the credential plugin "
        "https://github.com/Azure/kubelogin: run 'kubelogin convert-kubeconfig'",
    ),
    "an unknown provider": (
        User(auth_provider=AuthProvider(name="mine", config={"access-token": "secret"})),
        "there is no auth-provider 'mine'; use oidc or a credential plugin (exec)",
    ),
    "two plugins": (
        User(exec=PLUGIN, auth_provider=AuthProvider(name="oidc")),
        "the user has exec and an auth-provider; remove one of them",
    ),
}


@pytest.mark.parametrize(("user", "problem"), REFUSED.values(), ids=list(REFUSED))
def test_a_bad_entry_is_refused_in_one_sentence_without_its_secrets(user, problem):
    with pytest.raises(ConfigError) as caught:
        credentials_of(user, HTTPS)

    assert str(caught.value) == problem
    assert "secret" not in f"{caught.value!r} {caught.value.__cause__}"


SERVERS = {
    "https://example.test": True,
    "HTTPS://example.test": True,
    "http://example.test": False,
    "example.test:8080": False,
    "http://localhost:8080": True,
    "localhost:8080": True,
    "http://127.1.2.3": True,
    "http://[::1]:8080": True,
    "http://localhost.example.test": False,
}


@pytest.mark.parametrize(("server", "sent"), SERVERS.items())
def test_credentials_go_over_plain_http_to_this_machine_only(server, sent, caplog):
    """FIELD-62: kubectl sends none over plain HTTP at all."""
    credentials = credentials_of(User(token="t"), Cluster(server=server))

    assert (credentials is not ANONYMOUS) == sent
    assert len(caplog.messages) == (0 if sent else 1)


def test_a_user_without_credentials_is_not_warned_of_plain_http(caplog):
    assert credentials_of(User(), Cluster(server="http://example.test")) is ANONYMOUS
    assert caplog.messages == []
