"""Configurations of the `kubernetes` package.

Promises that what a `Configuration` or `ApiClient` says is used, and that its hook is asked at
every request, so its tokens stay fresh; so are the headers of an `ApiClient` by which programs
impersonate. Never imports the package: it looks at objects it is given.

Does not take over its pools, time limits and retries: a :class:`RestConfig` has its own.
"""

from __future__ import annotations

import base64
import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.proxies import proxy_for
from clientgo.rest.config.rest_config import (
    ConfigError,
    Impersonation,
    RestConfig,
    TLSSettings,
)
from clientgo.util.copies import uncopyable
from clientgo.util.process import renew_in_child

_log = logging.getLogger("clientgo.rest")

_EXTRA: Final = "impersonate-extra-"


def config_of_kubernetes_package(source: Any) -> RestConfig | None:
    """The configuration of a ``Configuration`` or ``ApiClient``; None for anything else."""
    configuration = getattr(source, "configuration", source)
    if not (hasattr(configuration, "host") and hasattr(configuration, "auth_settings")):
        return None
    headers = _Headers(getattr(source, "default_headers", None) or {})
    config = RestConfig(
        server=configuration.host,
        credentials=KubernetesCredentials(configuration, headers.take("authorization")),
        tls=_tls_of(configuration),
        proxy=_proxy_for(configuration),
        impersonate=headers.impersonation(),
    )
    agent = headers.take("user-agent")
    headers.report_others()
    own = agent and not agent.startswith("OpenAPI-Generator/")
    return replace(config, user_agent=agent) if own else config


@uncopyable("it has locks; load the configuration in each process")
class KubernetesCredentials:
    """Credentials that the ``kubernetes`` package keeps fresh.

    Its hook is asked at every request, under a lock because it may run a plugin or read a file.
    """

    def __init__(self, configuration: Any, authorization: str = "") -> None:
        self._authorization = authorization
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._configuration = configuration

    def current(self, stop: threading.Event | None = None) -> Identity:
        with self._lock:
            return self._identity_locked()

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        return self.current() != refused

    def _identity_locked(self) -> Identity:
        configuration = self._configuration
        authorization = self._authorization
        for setting in configuration.auth_settings().values():
            if setting["in"] == "header" and setting["key"].lower() == "authorization":
                authorization = (setting["value"] or "").strip()
        if not authorization and configuration.username:
            authorization = configuration.get_basic_auth_token()
        return Identity(
            authorization=authorization,
            cert_file=configuration.cert_file or "",
            key_file=configuration.key_file or "",
        )


class _Headers:
    """The headers that an ``ApiClient`` adds to its requests."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._left = {name.lower(): value or "" for name, value in headers.items()}

    def take(self, name: str) -> str:
        return self._left.pop(name, "")

    def impersonation(self) -> Impersonation | None:
        """Whom the headers make a program act as. A group without a user is an error."""
        group = self.take("impersonate-group")
        extra = {
            unquote(name.removeprefix(_EXTRA)): (self.take(name),)
            for name in [*self._left]
            if name.startswith(_EXTRA)
        }
        user, uid = self.take("impersonate-user"), self.take("impersonate-uid")
        if not (user or uid or group or extra):
            return None
        return Impersonation(user=user, uid=uid, groups=(group,) if group else (), extra=extra)

    def report_others(self) -> None:
        for name in self._left:
            _log.warning("The header %r of the ApiClient is not sent with requests", name)


def _tls_of(configuration: Any) -> TLSSettings:
    assert_hostname = configuration.assert_hostname
    if assert_hostname is False and configuration.verify_ssl:
        raise ConfigError(
            "assert_hostname is False, and a name in the certificate is always checked",
            advice="set tls_server_name to a name in the certificate",
        )
    server_name = getattr(configuration, "tls_server_name", None)
    return TLSSettings(
        ca_file=configuration.ssl_ca_cert or "",
        ca_data=getattr(configuration, "ca_cert_data", None) or "",
        server_name=server_name or assert_hostname or "",
        insecure=not configuration.verify_ssl,
    )


def _proxy_for(configuration: Any) -> str:
    """The proxy configured, or else that of the environment, unless the host is exempt."""
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    proxy: str = configuration.proxy or ""
    if not proxy or proxy in map(os.environ.get, names):
        # The package has taken it from the environment, by rules of its own.
        return proxy_for(configuration.host)
    proxy = _with_credentials(proxy, configuration.proxy_headers or {})
    if not configuration.no_proxy:
        return proxy
    scheme = urlsplit(configuration.host).scheme.upper()
    return proxy_for(
        configuration.host, {f"{scheme}_PROXY": proxy, "NO_PROXY": configuration.no_proxy}
    )


def _with_credentials(proxy: str, headers: Mapping[str, str]) -> str:
    """A proxy's URL with the user and password that the headers for it have."""
    given = {name.lower(): value for name, value in headers.items()}.get("proxy-authorization", "")
    kind, _, encoded = given.partition(" ")
    if kind.lower() != "basic" or "@" in proxy:
        return proxy
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        raise ConfigError(
            "the proxy-authorization in proxy_headers is no Base64 text",
            advice="make the headers with urllib3.make_headers(proxy_basic_auth='user:password')",
        ) from None
    scheme, _, rest = proxy.partition("://")
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"
