"""Finding the API server and the credentials for it.

Returns one :class:`RestConfig`, or raises a :class:`ConfigError` that says what to do. A kubeconfig
that is passed comes first, then `$KUBECONFIG`, the pod's service account and `~/.kube/config`. Only
this module imports the `kubernetes` package (for exec plugins and token refresh), and only when it
needs it: that takes half a second. Source: client-go `tools/clientcmd`, `rest` InClusterConfig.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Final

from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.kubeconfig import select_context
from clientgo.rest.config.kubernetes_package import (
    KubernetesCredentials,
    config_of_kubernetes_package,
    rest_config,
)
from clientgo.rest.config.rest_config import ConfigError, RestConfig

_DEFAULT_PATH: Final = "~/.kube/config"
_SUFFIXES: Final = (".yaml", ".yml", ".conf", ".kubeconfig")
"""How the names of kubeconfigs end, so that one that is missing is not taken for a host."""


def load_config(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    master: str | None = None,
) -> RestConfig:
    """The configuration of this machine or pod.

    ``kubeconfig`` is a path, ``context`` selects one of its contexts, ``master`` is the server's
    URL in place of the configured one. Blocks while a credential plugin runs. Raises
    :class:`ConfigError`.
    """
    paths = _kubeconfig_paths(kubeconfig)
    if paths is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        config = _from_service_account()
    elif paths or os.path.exists(os.path.expanduser(_DEFAULT_PATH)):
        config = _from_files(paths or [os.path.expanduser(_DEFAULT_PATH)], context)
    elif master:
        return RestConfig(server=master)
    elif paths is not None:
        raise ConfigError(
            f"KUBECONFIG is {os.environ['KUBECONFIG']!r}, but there is no such file",
            advice="correct the variable or unset it",
        )
    else:
        raise ConfigError(
            f"no cluster is configured: KUBECONFIG is not set, this is no pod, and there is no "
            f"{_DEFAULT_PATH}",
            advice="pass the path of a kubeconfig or the server's URL",
        )
    return replace(config, server=master) if master else config


def rest_config_of(source: Any = None) -> RestConfig:
    """The configuration that ``source`` stands for.

    That is a :class:`RestConfig`, a server's URL, the path of a kubeconfig, a ``Configuration`` or
    an ``ApiClient`` of the ``kubernetes`` package, or nothing, which means :func:`load_config`.
    Raises :class:`ConfigError`; ``TypeError`` for anything else.
    """
    if source is None:
        return load_config()
    if isinstance(source, RestConfig):
        return source
    if isinstance(source, os.PathLike):
        return load_config(source)
    if isinstance(source, str):
        return load_config(source) if _is_path(source) else RestConfig(server=source)
    config = config_of_kubernetes_package(source)
    if config is None:
        raise TypeError(
            f"a {type(source).__name__} is no configuration: pass a RestConfig, a URL, the path of "
            "a kubeconfig, or a Configuration or ApiClient of the kubernetes package"
        )
    return config


def _is_path(text: str) -> bool:
    """Return True for the path of a kubeconfig, False for a URL or ``host:port``."""
    if "://" in text:
        return False
    return text.startswith(("/", "~", ".")) or text.endswith(_SUFFIXES) or os.path.isfile(text)


def _kubeconfig_paths(kubeconfig: str | os.PathLike[str] | None) -> list[str] | None:
    """The files asked for that exist; None if none was named. A file that is passed must exist."""
    if kubeconfig:
        path = os.path.expanduser(kubeconfig)
        if not os.path.isfile(path):
            found = "this is a directory" if os.path.isdir(path) else "there is no such kubeconfig"
            raise ConfigError(found, path=path, advice="check the path that was passed")
        return [path]
    listed = os.environ.get("KUBECONFIG")
    if not listed:
        return None
    paths = [os.path.expanduser(path) for path in listed.split(os.pathsep) if path]
    return [path for path in paths if os.path.isfile(path)]


def _from_files(paths: list[str], context: str | None) -> RestConfig:
    selected = select_context(paths, context)

    def load() -> Any:
        from kubernetes import config as kubernetes_config
        from kubernetes.client import Configuration

        configuration = Configuration()
        try:
            kubernetes_config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=os.pathsep.join(paths),
                context=selected.name,
                client_configuration=configuration,
            )
        except (kubernetes_config.ConfigException, OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"context {selected.name!r} cannot be used: {error}",
                path=selected.path,
                advice="correct its cluster or user",
            ) from error
        return configuration

    configuration = load()
    credentials = KubernetesCredentials(configuration, load)
    if "exec" in selected.user and credentials.current() == Identity():
        command = selected.user["exec"].get("command", "")
        raise ConfigError(
            f"the credential plugin {command!r} of context {selected.name!r} gave no credentials",
            path=selected.path,
            advice="run it yourself to see why",
        )
    return rest_config(configuration, credentials)


def _from_service_account() -> RestConfig:
    def load() -> Any:
        from kubernetes import config as kubernetes_config
        from kubernetes.client import Configuration

        configuration = Configuration()
        try:
            kubernetes_config.load_incluster_config(  # type: ignore[no-untyped-call]
                client_configuration=configuration
            )
        except (kubernetes_config.ConfigException, OSError) as error:
            raise ConfigError(
                f"the pod's service account cannot be used: {error}",
                advice="mount its token (automountServiceAccountToken), or set KUBECONFIG",
            ) from error
        return configuration

    configuration = load()
    return rest_config(configuration, KubernetesCredentials(configuration, load))
