"""The interface of authorization: may this user do that?

``Attributes`` say what a user wants to do, in the terms of RBAC; an ``Authorizer`` decides. The
server asks it for each request; reviews, impersonation and admission policies ask it for more.

Upstream: apiserver ``authorization/authorizer``, ``authorizerfactory.AlwaysAllow``.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from clientgo.testcluster.server.auth.authorization.rules import EVERYTHING, PolicyRule
from clientgo.testcluster.server.auth.users import User


class Attributes(msgspec.Struct, frozen=True):
    """What a user wants to do: a verb of a resource, or of a path that is none.

    ``path`` is empty for a resource. The verb of a path (``/healthz``) is the method in lower case.
    """

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(msgspec.Struct, frozen=True):
    """Whether a user may do something, and why; the reason may be empty."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """Decides what users may do."""

    def authorize(self, attributes: Attributes) -> Decision:
        """Return whether the user may do what the attributes say; never raises."""

    def rules_of(self, user: User, namespace: str) -> tuple[list[PolicyRule], list[str]]:
        """Return what a user may do in a namespace, and why that may be incomplete."""


class AlwaysAllow:
    """Every user may do everything."""

    def authorize(self, attributes: Attributes) -> Decision:
        """Allow it."""
        return Decision(True)

    def rules_of(self, user: User, namespace: str) -> tuple[list[PolicyRule], list[str]]:
        """Return the rules that allow everything."""
        return list(EVERYTHING), []
