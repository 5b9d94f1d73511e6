"""Which user a request is from: by certificate, by token, or anonymous.

Promises: the first that names a user decides: the client's certificate, the server's own token, the
tokens of users, the tokens of service accounts. A token that none of them knows gets a 401, as does
a client that shows nothing, unless the server admits anonymous clients (with RBAC) or every client
(without a token of its own).

Upstream: apiserver ``authentication/request`` (union, x509, bearertoken, anonymous) and
``authentication/group``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from clientgo.testcluster.server.auth.authentication.service_accounts import (
    ISSUER,
    ServiceAccountTokens,
    TokenError,
)
from clientgo.testcluster.server.auth.authentication.shared_token import SharedToken
from clientgo.testcluster.server.auth.users import (
    ADMIN,
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
)
from clientgo.testcluster.server.resources.errors import unauthorized

_SCHEME = "bearer"

UserTokens = Mapping[str, User]
"""Users by their token."""


class Authenticator:
    """Finds the user of a request. On the server's event loop only."""

    def __init__(
        self,
        accounts: ServiceAccountTokens,
        shared: SharedToken | None = None,
        users: UserTokens | None = None,
        *,
        admits_anonymous: bool = False,
    ) -> None:
        """Know these tokens; ``shared`` is the token of the administrator."""
        self.accounts = accounts
        self._shared = shared or SharedToken(None)
        self._users = {token: _authenticated(user) for token, user in (users or {}).items()}
        self._admits_anonymous = admits_anonymous

    @property
    def _is_open(self) -> bool:
        """Return True if every client is the administrator."""
        return self._shared.token is None and not self._users and not self._admits_anonymous

    def authenticate(self, authorization: str, certificate: Mapping[str, Any] | None) -> User:
        """Return the user of a request with this header and checked certificate.

        Raises:
            FailedRequestError: 401, the client shows nothing that is known.
        """
        if certificate and (user := _user_of_certificate(certificate)):
            return user
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() == _SCHEME and token:
            return self._user_of_shown(token)
        if self._is_open:
            return ADMIN
        if self._admits_anonymous:
            return ANONYMOUS
        raise unauthorized()

    def _user_of_shown(self, token: str) -> User:
        try:
            return self.user_of_token(token)[0]
        except TokenError as error:
            if self._is_open and not self.accounts.is_issued_here(token):
                return ADMIN
            raise unauthorized() from error

    def user_of_token(
        self, token: str, audiences: Iterable[str] = ()
    ) -> tuple[User, tuple[str, ...]]:
        """Return the user of a token, and for which of the audiences it is.

        Without audiences the token must be for the API server.

        Raises:
            TokenError: the token is not known, or not valid (any more), or for other audiences.
        """
        wanted = tuple(audiences) or (ISSUER,)
        user = ADMIN if self._shared.is_shown(token) else self._users.get(token)
        if user is None:
            user, common = self.accounts.user_of(token, wanted)
            return _authenticated(user), common
        if ISSUER not in wanted:
            raise TokenError("the token is for the API server only")
        return user, (ISSUER,)


def _user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """Return the user that the subject of a certificate names."""
    names = dict(_subject(certificate))
    if not names.get("commonName"):
        return None
    groups = [value for key, value in _subject(certificate) if key == "organizationName"]
    return _authenticated(User(names["commonName"], groups=tuple(groups)))


def _subject(certificate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for relative_name in certificate.get("subject", ()):
        yield from relative_name


def _authenticated(user: User) -> User:
    """Return the user as a member of the group of those that showed who they are."""
    if AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
