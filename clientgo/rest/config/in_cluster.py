"""The service account of a pod.

Promises that the token is read again while the program runs. Source: client-go `rest`
InClusterConfig, `tools/clientcmd` inClusterClientConfig.
"""

from __future__ import annotations

import logging
import os
from typing import Final

from clientgo.rest.config.auth.token_file import TokenFile
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.rest_config import DEFAULT_NAMESPACE, RestConfig, TLSSettings
from clientgo.rest.config.tls import check_tls

_log = logging.getLogger("clientgo.rest")

SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


def is_in_cluster() -> bool:
    """Return True in a pod with the token of a service account."""
    return all(_address()) and os.path.isfile(_file("token"))


def in_cluster_config() -> RestConfig:
    """The configuration of this pod.

    Raises :class:`ConfigError` if this is no pod, or one without a token.
    """
    host, port = _address()
    if not (host and port):
        raise ConfigError(
            "this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
            advice="use load_config(), which reads a kubeconfig too",
        )
    tls = TLSSettings(ca_file=_file("ca.crt"))
    try:
        check_tls(tls)
    except ConfigError as error:
        _log.error("The system's certificate authorities are trusted instead: %s", error)
        tls = TLSSettings()
    return RestConfig(
        server=f"https://[{host.strip('[]')}]:{port}" if ":" in host else f"https://{host}:{port}",
        credentials=TokenFile(_file("token")),
        tls=tls,
        namespace=pod_namespace(),
    )


def pod_namespace() -> str:
    """Return the namespace of this pod: of ``POD_NAMESPACE`` or the service account."""
    return os.environ.get("POD_NAMESPACE") or service_account_namespace() or DEFAULT_NAMESPACE


def service_account_namespace() -> str:
    """Return the namespace of this pod's service account; empty if this is no pod."""
    try:
        with open(_file("namespace"), encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def _address() -> tuple[str, str]:
    return (
        os.environ.get("KUBERNETES_SERVICE_HOST", ""),
        os.environ.get("KUBERNETES_SERVICE_PORT", ""),
    )


def _file(name: str) -> str:
    return os.path.join(SERVICE_ACCOUNT, name)
