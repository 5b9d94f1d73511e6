"""The settings of who may do what, and the parts that are made of them.

``EmbeddedAPIServer`` has the settings; each cluster that it serves makes its own parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from clientgo.testcluster.server.auth.authentication.authenticator import Authenticator
from clientgo.testcluster.server.auth.authentication.service_accounts import ServiceAccountTokens
from clientgo.testcluster.server.auth.authentication.shared_token import SharedToken
from clientgo.testcluster.server.auth.authorization.authorizer import AlwaysAllow, Authorizer
from clientgo.testcluster.server.auth.authorization.rbac import RBAC
from clientgo.testcluster.server.auth.users import User
from clientgo.testcluster.server.storage.storage import Storage
from clientgo.util.certificates import SigningKey


class AuthorizationMode(StrEnum):
    """How the server decides what a user may do."""

    ALWAYS_ALLOW = "AlwaysAllow"
    RBAC = "RBAC"


class Access(msgspec.Struct, frozen=True):
    """Who is known, and how the server decides what they may do."""

    mode: AuthorizationMode = AuthorizationMode.ALWAYS_ALLOW
    shared_token: SharedToken = msgspec.field(default_factory=SharedToken)
    users: Mapping[str, User] = msgspec.field(default_factory=dict)
    """Users by their token."""
    make_key: Callable[[], SigningKey] = SigningKey.make
    """Returns the key that signs the tokens of service accounts."""

    def authenticator(self, storage: Storage, now: Callable[[], float]) -> Authenticator:
        """Return what finds the user of a request to a cluster."""
        return Authenticator(
            ServiceAccountTokens(storage, now, self.make_key),
            self.shared_token,
            self.users,
            admits_anonymous=self.mode is AuthorizationMode.RBAC,
        )

    def authorizer(self, storage: Storage) -> Authorizer:
        """Return what decides on requests to a cluster; it follows the storage from now on."""
        return RBAC(storage) if self.mode is AuthorizationMode.RBAC else AlwaysAllow()
