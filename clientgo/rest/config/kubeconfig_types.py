"""What a kubeconfig file holds, field by field.

No text form shows a secret. Unknown fields are ignored, as by kubectl; null and the empty text mean
that a field is not set. Source: client-go `tools/clientcmd/api/v1`.
"""

from __future__ import annotations

from typing import Any

import msgspec

_ORIGIN: Any = msgspec.field(default="", name="#origin")  # no file has such a field


class _Part(msgspec.Struct, rename="kebab", kw_only=True, frozen=True):
    """A part of a file. Its text form has the values that are `_shown`, and names the others."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown = self._shown()
        return [
            (name, value if name in shown else ...)
            for name in self.__struct_fields__
            if (value := getattr(self, name))
        ]

    def _shown(self) -> frozenset[str]:
        return frozenset()


class Cluster(_Part, frozen=True):
    """How to reach a server. Paths are absolute once the file was read."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    """PEM in base64."""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[dict[str, Any]] = []
    origin: str = _ORIGIN
    """The file that it is from."""

    def _shown(self) -> frozenset[str]:
        # Not its URLs, which may hold passwords.
        return frozenset(("tls_server_name", "insecure_skip_tls_verify", "certificate_authority"))


class EnvironmentVariable(_Part, frozen=True):
    name: str = ""
    value: str = ""

    def _shown(self) -> frozenset[str]:
        return frozenset(("name",))


class ExecPlugin(_Part, rename="camel", frozen=True):
    """A program that prints credentials."""

    command: str = ""
    args: list[str] | None = None
    env: list[EnvironmentVariable] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""

    def _shown(self) -> frozenset[str]:
        return frozenset(("command", "api_version", "interactive_mode"))


class AuthProvider(_Part, frozen=True):
    """A kind of credentials that was once built into kubectl."""

    name: str = ""
    config: dict[str, str] | None = None

    def _shown(self) -> frozenset[str]:
        return frozenset(("name",))


class User(_Part, frozen=True):
    """Who the client is. Paths are absolute once the file was read; data is PEM in base64."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] = msgspec.field(default_factory=list, name="as-groups")
    impersonate_user_extra: dict[str, list[str]] = msgspec.field(
        default_factory=dict, name="as-user-extra"
    )
    auth_provider: AuthProvider | None = None
    exec: ExecPlugin | None = None
    origin: str = _ORIGIN
    """The file that it is from."""


class Context(_Part, frozen=True):
    """A cluster and a user, under a name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""
    origin: str = _ORIGIN
    """The file that it is from."""

    def _shown(self) -> frozenset[str]:
        return frozenset(("cluster", "user", "namespace"))
