"""What a kubeconfig file holds, field by field.

No text form of a user shows a secret. Unknown fields are ignored, as by kubectl. Source: client-go
`tools/clientcmd/api/v1`.
"""

from __future__ import annotations

from typing import Any

import msgspec


class _Part(msgspec.Struct, rename="kebab", kw_only=True, frozen=True):
    pass


class Cluster(_Part, frozen=True):
    """How to reach a server."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[dict[str, Any]] = []


class EnvironmentVariable(msgspec.Struct, kw_only=True, frozen=True):
    name: str
    value: str = ""

    def __repr__(self) -> str:
        return f"EnvironmentVariable(name={self.name!r})"


class ExecPlugin(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A program that prints credentials."""

    command: str = ""
    args: list[str] | None = None
    env: list[EnvironmentVariable] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(msgspec.Struct, kw_only=True, frozen=True):
    """A kind of credentials that was once built into kubectl."""

    name: str = ""
    config: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"AuthProvider(name={self.name!r})"


class User(msgspec.Struct, rename="kebab", kw_only=True, frozen=True):
    """Who the client is."""

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

    def __repr__(self) -> str:
        given = [name for name in self.__struct_fields__ if getattr(self, name)]
        return f"User(fields={given!r})"


class Context(_Part, frozen=True):
    """A cluster and a user, under a name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""
