"""Users: who makes a request, as authorization, webhooks and reviews see it.

Upstream: apiserver ``authentication/user`` and ``authentication/serviceaccount``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from clientgo.testcluster.server.resources.names import DNS_SUBDOMAIN

MASTERS: Final = "system:masters"
"""The group that may do everything."""

NODES: Final = "system:nodes"
"""The group of the nodes."""

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"

_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
_NODE: Final = "system:node:"

ACCOUNT_EXTRA: Final = "authentication.kubernetes.io/"
"""The beginning of the keys of extra that tokens of service accounts have."""


class User(msgspec.Struct, frozen=True):
    """A user with its groups."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.groups))

    def info(self) -> dict[str, Any]:
        """Return the user as a ``UserInfo``, without its empty fields."""
        info: dict[str, Any] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ADMIN: Final = User("clientgo", groups=(MASTERS, AUTHENTICATED))
"""A client that shows the server's own token, and every client of a server without one."""

ANONYMOUS: Final = User("system:anonymous", groups=(UNAUTHENTICATED,))
"""A client that shows nothing."""

SERVER: Final = User("system:apiserver", groups=(MASTERS, AUTHENTICATED))
"""The server itself, in the writes that its controllers make."""


def service_account_name(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def split_service_account(user: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account; None for another user."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return None
    namespace, colon, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return (namespace, name) if colon and namespace and name and ":" not in name else None


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of a namespace's service accounts."""
    return _SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{namespace}"


def split_node(user: str) -> str | None:
    """Return the name of a node by its user name; None for another user."""
    name = user.removeprefix(_NODE)
    return None if name == user or DNS_SUBDOMAIN.problems(name) else name


def node_of(account: User) -> str:
    """Return the node that the token of a service account names; empty if it names none."""
    names = account.extra.get(f"{ACCOUNT_EXTRA}node-name", ())
    return names[0] if len(names) == 1 else ""
