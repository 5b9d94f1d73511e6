"""Configurations of the `kubernetes` package.

Promises that what a `Configuration` or `ApiClient` says is used, and that its hook is asked at
every request, so its tokens stay fresh. Never imports the package: it looks at objects it is given.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from clientgo.process import renew_in_child
from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.proxies import proxy_for
from clientgo.rest.config.rest_config import RestConfig, TLSSettings


def config_of_kubernetes_package(source: Any) -> RestConfig | None:
    """The configuration of a ``Configuration`` or ``ApiClient``; None for anything else."""
    configuration = getattr(source, "configuration", source)
    if not (hasattr(configuration, "host") and hasattr(configuration, "auth_settings")):
        return None
    return RestConfig(
        server=configuration.host,
        credentials=KubernetesCredentials(configuration),
        tls=TLSSettings(
            ca_file=configuration.ssl_ca_cert or "",
            ca_data=getattr(configuration, "ca_cert_data", None) or "",
            server_name=getattr(configuration, "tls_server_name", None) or "",
            insecure=not configuration.verify_ssl,
        ),
        proxy=_proxy_for(configuration),
    )


class KubernetesCredentials:
    """Credentials that the ``kubernetes`` package keeps fresh.

    Its hook is asked at every request, under a lock because it may run a plugin or read a file.
    """

    def __init__(self, configuration: Any) -> None:
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
        authorization = ""
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


def _proxy_for(configuration: Any) -> str:
    """The proxy configured, or else that of the environment, unless the host is exempt."""
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    proxy: str = configuration.proxy or ""
    if proxy and proxy not in map(os.environ.get, names):
        return proxy
    # The package has taken it from the environment, by rules of its own.
    return proxy_for(configuration.host)
