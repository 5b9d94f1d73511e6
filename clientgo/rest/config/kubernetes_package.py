"""Configurations of the `kubernetes` package.

Promises that what a `Configuration` or `ApiClient` says is used, and that its hook is asked at
every request, so its tokens stay fresh. Never imports the package: it looks at objects it is given.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any, Final

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.process import renew_in_child
from clientgo.rest.config.credentials import Credentials, Identity
from clientgo.rest.config.proxies import proxy_for
from clientgo.rest.config.rest_config import ConfigError, RestConfig, TLSSettings

_log = logging.getLogger("clientgo.rest")

_RELOAD_INTERVAL: Final = 10.0
"""How often refused credentials may be loaded again: that may run a plugin."""


def config_of_kubernetes_package(source: Any) -> RestConfig | None:
    """The configuration of a ``Configuration`` or ``ApiClient``; None for anything else."""
    configuration = getattr(source, "configuration", source)
    if not (hasattr(configuration, "host") and hasattr(configuration, "auth_settings")):
        return None
    return rest_config(configuration, KubernetesCredentials(configuration))


class KubernetesCredentials:
    """Credentials that the ``kubernetes`` package keeps fresh.

    Its hook is asked at every request, under a lock because it may run a plugin or read a file.
    ``reload`` makes a new configuration from where the first came from, for a token that the
    server refused although it had not expired.
    """

    def __init__(
        self,
        configuration: Any,
        reload: Callable[[], Any] | None = None,
        *,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._configuration = configuration
        self._reload = reload
        self._clock = clock
        self._last_reload = clock.monotonic()

    def current(self, stop: threading.Event | None = None) -> Identity:
        with self._lock:
            return self._identity_locked()

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        with self._lock:
            if self._identity_locked() == refused:
                self._reload_locked()
            return self._identity_locked() != refused

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

    def _reload_locked(self) -> None:
        now = self._clock.monotonic()
        if self._reload is None or now - self._last_reload < _RELOAD_INTERVAL:
            return
        self._last_reload = now
        try:
            self._configuration = self._reload()
        except ConfigError as error:
            _log.warning("Refused credentials stay as they are, new ones cannot be had: %s", error)


def rest_config(configuration: Any, credentials: Credentials) -> RestConfig:
    """What a ``Configuration`` says, with these credentials."""
    return RestConfig(
        server=configuration.host,
        credentials=credentials,
        tls=TLSSettings(
            ca_file=configuration.ssl_ca_cert or "",
            ca_data=getattr(configuration, "ca_cert_data", None) or "",
            server_name=getattr(configuration, "tls_server_name", None) or "",
            insecure=not configuration.verify_ssl,
        ),
        proxy=_proxy_for(configuration),
    )


def _proxy_for(configuration: Any) -> str:
    """The proxy configured, or else that of the environment, unless the host is exempt."""
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    proxy: str = configuration.proxy or ""
    if proxy and proxy not in map(os.environ.get, names):
        return proxy
    # The package has taken it from the environment, by rules of its own.
    return proxy_for(configuration.host)
