"""Finding the API server and the credentials for it.

Returns one :class:`RestConfig`, or raises a :class:`ConfigError` that says what to do. A kubeconfig
that is passed comes first, then `$KUBECONFIG`, the pod's service account and `~/.kube/config`.

Differs from client-go (`tools/clientcmd`): a context that is not there, or whose cluster or user is
not, is an error, never another server or an anonymous request; so is a kubeconfig in which no
context is selected, also in a pod.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from clientgo.rest.config.in_cluster import in_cluster_config, is_in_cluster, pod_namespace
from clientgo.rest.config.kubeconfig import (
    DEFAULT_PATH,
    Kubeconfig,
    listed_paths,
    load_kubeconfig,
    merge_existing,
    shown,
)
from clientgo.rest.config.kubeconfig_types import Cluster, Context, User
from clientgo.rest.config.kubernetes_package import config_of_kubernetes_package
from clientgo.rest.config.rest_config import (
    DEFAULT_NAMESPACE,
    ConfigError,
    Impersonation,
    RestConfig,
)
from clientgo.rest.config.user_credentials import credentials_of
from clientgo.rest.config.validation import check_cluster, checked_user, tls_of

_T = TypeVar("_T", Cluster, Context, User)

_SUFFIXES: Final = (".yaml", ".yml", ".conf", ".kubeconfig")
"""How the names of kubeconfigs end, so that one that is missing is not taken for a host."""


def load_config(
    kubeconfig: str | os.PathLike[str] | Kubeconfig | None = None,
    context: str | None = None,
    master: str | None = None,
) -> RestConfig:
    """The configuration of this machine or pod.

    ``kubeconfig`` is a path, or what :func:`load_kubeconfig` or :func:`parse_kubeconfig` returned.
    ``context`` selects one of its contexts, so that a pod's service account is not looked for;
    ``master`` is the server's URL in place of the configured one. Runs no credential plugin: the
    first request does. Raises :class:`ConfigError`.
    """
    if isinstance(kubeconfig, Kubeconfig):
        return _of_context(kubeconfig, context, master)
    if kubeconfig:
        return _of_context(load_kubeconfig(kubeconfig), context, master)
    listed = listed_paths()
    if listed and not (found := merge_existing(listed)).is_empty:
        return _of_context(found, context, master)
    if not context and is_in_cluster():
        config = in_cluster_config()
        return replace(config, server=master, proxy=None) if master else config
    if not listed and not (found := merge_existing([DEFAULT_PATH])).is_empty:
        return _of_context(found, context, master)
    if master and not context:
        return RestConfig(server=master)
    raise _nothing_found(listed)


def _nothing_found(listed: list[str]) -> ConfigError:
    if listed:
        variable = os.environ["KUBECONFIG"]
        missing = not any(map(os.path.exists, map(os.path.expanduser, listed)))
        what = "there is no such file" if missing else "nothing is in there"
        return ConfigError(
            f"KUBECONFIG is {variable!r}, but {what}", advice="correct the variable or unset it"
        )
    in_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    pod = "this pod has no token of a service account" if in_pod else "this is no pod"
    advice = "pass the path of a kubeconfig or the server's URL"
    return ConfigError(
        f"no cluster is configured: KUBECONFIG is not set, {pod}, and there is no {DEFAULT_PATH}",
        advice=f"mount the token (automountServiceAccountToken), or {advice}" if in_pod else advice,
    )


def _of_context(kubeconfig: Kubeconfig, context: str | None, master: str | None) -> RestConfig:
    name = context or kubeconfig.current_context
    path = kubeconfig.paths[0] if kubeconfig.paths else ""
    if kubeconfig.is_empty:
        raise ConfigError(
            "the kubeconfig is empty",
            path=path,
            advice="write one with 'kubectl config', or pass another file",
        )
    if not name:
        raise ConfigError(
            f"no context is selected; there are: {shown(sorted(kubeconfig.contexts))}",
            path=path,
            advice="run 'kubectl config use-context NAME', or pass a context",
        )
    chosen = _entry(kubeconfig.contexts, f"context {name!r}", name, path)
    of_context = f"(of context {name!r})"
    if not chosen.cluster:
        raise ConfigError(
            f"context {name!r} has no cluster",
            path=chosen.origin,
            advice="add 'cluster' to the context",
        )
    cluster = _entry(
        kubeconfig.clusters,
        f"cluster {chosen.cluster!r} {of_context}",
        chosen.cluster,
        chosen.origin,
    )
    user = User()
    if chosen.user:
        user = _entry(
            kubeconfig.users, f"user {chosen.user!r} {of_context}", chosen.user, chosen.origin
        )
    if master:
        # The name is that of another server's certificate.
        cluster = msgspec.structs.replace(cluster, server=master, tls_server_name="")
    check_cluster(chosen.cluster, cluster)
    user = checked_user(chosen.user, user, cluster)
    try:
        return _rest_config(chosen, cluster, user)
    except ConfigError as error:
        where = f"context {name!r}: "
        raise ConfigError(
            f"{where}{error.problem}", path=error.path or chosen.origin, advice=error.advice
        ) from None


def _entry(entries: Mapping[str, _T], what: str, name: str, path: str) -> _T:
    if name in entries:
        return entries[name]
    advice = f"name one of: {shown(entries)}; or add it"
    raise ConfigError(f"there is no {what}", path=path, advice=advice)


def _rest_config(context: Context, cluster: Cluster, user: User) -> RestConfig:
    namespace = context.namespace
    if not namespace:
        namespace = pod_namespace() if is_in_cluster() else DEFAULT_NAMESPACE
    impersonation = None
    if user.impersonate:
        impersonation = Impersonation(
            user=user.impersonate,
            uid=user.impersonate_uid,
            groups=tuple(user.impersonate_groups),
            extra={key: tuple(values) for key, values in user.impersonate_user_extra.items()},
        )
    return RestConfig(
        server=re.split(r"[?#]", cluster.server)[0],
        credentials=credentials_of(user, cluster),
        tls=tls_of(cluster),
        proxy=cluster.proxy_url or None,
        disable_compression=cluster.disable_compression,
        impersonate=impersonation,
        namespace=namespace,
    )


def rest_config_of(source: Any = None) -> RestConfig:
    """The configuration that ``source`` stands for.

    That is a :class:`RestConfig`, a server's URL, a :class:`Kubeconfig` or the path of one, a
    ``Configuration`` or an ``ApiClient`` of the ``kubernetes`` package, or nothing, which means
    :func:`load_config`.
    Raises :class:`ConfigError`; ``TypeError`` for anything else.
    """
    if source is None:
        return load_config()
    if isinstance(source, RestConfig):
        return source
    if isinstance(source, os.PathLike | Kubeconfig):
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
