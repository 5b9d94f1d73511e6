"""Credentials for a user entry of a kubeconfig.

Promises the precedence of client-go: a token's file beats the token; a plugin is run only for a
user who has no token, password or certificate; a certificate goes along with a token. Bad entries
raise :class:`ConfigError`, without their secrets.

Source: client-go `tools/clientcmd` getUserIdentificationPartialConfig, `rest` TransportConfig.
"""

from __future__ import annotations

import base64
import logging
from typing import Final
from urllib.parse import urlsplit

from clientgo.rest.config.auth.exec_plugin import exec_credentials
from clientgo.rest.config.auth.oidc import oidc_credentials
from clientgo.rest.config.auth.token_file import TokenFile, bearer
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import (
    ANONYMOUS,
    NOBODY,
    Credentials,
    Identity,
    StaticCredentials,
)
from clientgo.rest.config.kubeconfig_types import AuthProvider, Cluster, User
from clientgo.rest.config.proxies import is_loopback
from clientgo.util.clock import REAL_CLOCK, Clock

_log = logging.getLogger("clientgo.rest")

_REMOVED: Final = {
    "azure": (
        "use the credential plugin https://github.com/Azure/kubelogin: "
        "run 'kubelogin convert-kubeconfig'"
    ),
    "gcp": (
        "use the credential plugin gke-gcloud-auth-plugin: install it and run "
        "'gcloud container clusters get-credentials'"
    ),
}


def credentials_of(user: User, cluster: Cluster, *, clock: Clock = REAL_CLOCK) -> Credentials:
    """Return the credentials of ``user`` for ``cluster``.

    Relative paths must have been resolved. Reads a token's file, but runs no plugin: the first
    request does. No credentials are sent over plain HTTP, except to this machine. Raises
    :class:`ConfigError`.
    """
    credentials = _of_user(user, cluster, clock)
    if credentials is ANONYMOUS or _may_see_secrets(cluster.server):
        return credentials
    _log.warning(
        "Credentials are not sent to %s, because it is plain HTTP; write https:// in the server's "
        "URL",
        cluster.server,
    )
    return ANONYMOUS


def _of_user(user: User, cluster: Cluster, clock: Clock) -> Credentials:
    identity = _fixed_identity(user)
    provider = user.auth_provider
    if provider is not None:
        _check_provider(provider, user)
    if user.token_file:
        return TokenFile(user.token_file, identity, clock=clock)
    if user.exec is not None and identity == NOBODY:
        return exec_credentials(user.exec, cluster, clock=clock)
    if provider is not None and not identity.authorization:
        return oidc_credentials(provider.config or {}, identity, clock=clock)
    return ANONYMOUS if identity == NOBODY else StaticCredentials(identity)


def _check_provider(provider: AuthProvider, user: User) -> None:
    """Refuse a provider that there is not, even beside a token, as kubectl does."""
    if user.exec is not None:
        raise ConfigError("the user has exec and an auth-provider", advice="remove one of them")
    if provider.name in _REMOVED:
        raise ConfigError(
            f"the {provider.name} auth plugin has been removed", advice=_REMOVED[provider.name]
        )
    if provider.name != "oidc":
        raise ConfigError(
            f"there is no auth-provider {provider.name!r}",
            advice="use oidc or a credential plugin (exec)",
        )


def _may_see_secrets(server: str) -> bool:
    """Return True for HTTPS, and for an address of this machine."""
    url = server if "://" in server else f"http://{server}"
    try:
        return urlsplit(url).scheme == "https" or is_loopback(url)
    except ValueError:  # reported when the server's URL is used
        return False


def _fixed_identity(user: User) -> Identity:
    authorization = ""
    if user.token:
        authorization = bearer(user.token, "the user")
    elif user.username:
        pair = f"{user.username}:{user.password}".encode()
        authorization = f"Basic {base64.b64encode(pair).decode()}"
    if (user.token or user.token_file) and (user.username or user.password):
        raise ConfigError(
            "the user has a token and a username or password", advice="remove one of them"
        )
    cert_data = _pem(user.client_certificate_data, "client-certificate-data")
    key_data = _pem(user.client_key_data, "client-key-data")
    return Identity(
        authorization=authorization,
        cert_file="" if cert_data else user.client_certificate,
        key_file="" if key_data else user.client_key,
        cert_data=cert_data,
        key_data=key_data,
    )


def _pem(data: str, field: str) -> str:
    """Return the PEM text that ``field`` has in base64."""
    if not data:
        return ""
    advice = "encode the PEM file in base64, in one line"
    try:
        text = base64.b64decode("".join(data.split()), validate=True).decode("utf-8", "replace")
    except ValueError:  # the cause would show what was there
        raise ConfigError(f"{field} is not base64", advice=advice) from None
    if "-----BEGIN " not in text:
        raise ConfigError(f"{field} holds no PEM", advice=advice)
    return text
