"""Refusing entries of a kubeconfig that contradict themselves or cannot be used.

Promises one :class:`ConfigError` for what kubectl refuses, with the file and the entry, and
without a secret. Only the entries in use are looked at.

Source: client-go `tools/clientcmd` ConfirmUsable, `transport` TLSConfigFor.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import msgspec

from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.kubeconfig_types import Cluster, ExecPlugin, User
from clientgo.rest.config.proxies import checked_proxy
from clientgo.rest.config.rest_config import TLSSettings
from clientgo.rest.config.tls import check_tls

_INTERACTIVE_MODES: Final = ("Never", "IfAvailable", "Always")
_OPTIONAL_MODE: Final = "client.authentication.k8s.io/v1beta1"


def check_cluster(name: str, cluster: Cluster) -> None:
    """Raise :class:`ConfigError` for a cluster that cannot be used."""
    refuse = _Refusal(f"cluster {name!r}", cluster.origin)
    if not cluster.server:
        refuse("has no server", "add 'server: https://...' to the cluster")
    with _of_entry(f"cluster {name!r}", cluster.origin):
        checked_proxy(cluster.proxy_url, source="proxy-url")
    if cluster.certificate_authority and cluster.certificate_authority_data:
        refuse("has certificate-authority and certificate-authority-data", "remove one of them")
    refuse.unreadable("certificate-authority", cluster.certificate_authority)
    has_authority = cluster.certificate_authority or cluster.certificate_authority_data
    if has_authority and cluster.insecure_skip_tls_verify and is_https(cluster):
        refuse("has insecure-skip-tls-verify and a certificate authority", "remove one of them")
    with _of_entry(f"cluster {name!r}", cluster.origin):
        check_tls(tls_of(cluster))


def checked_user(name: str, user: User, cluster: Cluster) -> User:
    """Return what counts of a user; raise :class:`ConfigError` if it cannot be used.

    As for kubectl, a password without a name does not count, nor a key without a certificate.
    """
    refuse = _Refusal(f"user {name!r}", user.origin)
    if (user.token or user.token_file) and (user.username or user.password):
        refuse("has a token, and a username or password", "remove one of them")
    if not user.username:
        user = msgspec.structs.replace(user, password="")
    if user.client_certificate or user.client_certificate_data:
        _check_certificate(refuse, user)
        if is_https(cluster):
            with _of_entry(f"user {name!r}", user.origin):
                check_tls(TLSSettings(), _certificate_of(user))
    else:
        user = msgspec.structs.replace(user, client_key="", client_key_data="")
    if user.exec is not None:
        if user.auth_provider is not None:
            refuse("has exec and auth-provider", "remove auth-provider")
        _check_plugin(refuse, user.exec)
    if not user.impersonate and (
        user.impersonate_uid or user.impersonate_groups or user.impersonate_user_extra
    ):
        refuse("has as-uid, as-groups or as-user-extra without as", "add 'as', the user's name")
    return user


def tls_of(cluster: Cluster) -> TLSSettings:
    """Return how a cluster proves who it is."""
    if not is_https(cluster):
        return TLSSettings()
    return TLSSettings(
        ca_file=cluster.certificate_authority,
        ca_data=_decoded(cluster.certificate_authority_data),
        server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
    )


def is_https(cluster: Cluster) -> bool:
    return cluster.server.lower().startswith("https:")


def _check_certificate(refuse: _Refusal, user: User) -> None:
    if user.client_certificate and user.client_certificate_data:
        refuse("has client-certificate and client-certificate-data", "remove one of them")
    if user.client_key and user.client_key_data:
        refuse("has client-key and client-key-data", "remove one of them")
    if not (user.client_key or user.client_key_data):
        refuse("has a client certificate without its key", "add client-key or client-key-data")
    refuse.unreadable("client-certificate", user.client_certificate)
    refuse.unreadable("client-key", user.client_key)


def _certificate_of(user: User) -> Identity:
    return Identity(
        cert_file=user.client_certificate,
        cert_data=_decoded(user.client_certificate_data),
        key_file=user.client_key,
        key_data=_decoded(user.client_key_data),
    )


def _check_plugin(refuse: _Refusal, plugin: ExecPlugin) -> None:
    if not plugin.command:
        refuse("has exec without a command", "name the credential plugin to run")
    if not plugin.api_version:
        refuse("has exec without apiVersion", "add client.authentication.k8s.io/v1")
    if any(not variable.name for variable in plugin.env or ()):
        refuse("has a variable without a name in the env of exec", "add its name")
    if not plugin.interactive_mode and plugin.api_version != _OPTIONAL_MODE:
        refuse("has exec without interactiveMode", "add Never, IfAvailable or Always")
    if plugin.interactive_mode and plugin.interactive_mode not in _INTERACTIVE_MODES:
        refuse("has exec with an unknown interactiveMode", "write Never, IfAvailable or Always")


def _decoded(data: str) -> str:
    """Return the text of a field whose base64 was checked when the file was read."""
    return base64.b64decode(data).decode("utf-8", "replace")


@contextmanager
def _of_entry(entry: str, path: str) -> Iterator[None]:
    """Say of which entry an error is."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            f"{entry}: {error.problem}", path=error.path or path, advice=error.advice
        ) from None


class _Refusal:
    """What raises errors about one entry."""

    def __init__(self, entry: str, path: str) -> None:
        self._entry = entry
        self._path = path

    def __call__(self, problem: str, advice: str) -> NoReturn:
        raise ConfigError(f"{self._entry} {problem}", path=self._path, advice=advice)

    def unreadable(self, field: str, path: str) -> None:
        """Refuse a file that cannot be read; an empty path is none."""
        if "-----BEGIN" in path:  # a path is shown, content never
            self(f"has PEM in {field}, which must be a path", f"use {field}-data, in base64")
        try:
            with open(path or os.devnull, "rb") as file:
                file.read(1)
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            self(f"has a {field} that cannot be read, {path}: {reason}", "check the path")
