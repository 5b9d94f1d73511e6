"""The identity of requests.

Credentials are asked for at every request, so tokens and certificates may change while a process
runs. No text form shows a secret. Source: client-go `transport`.
"""

from __future__ import annotations

import base64
import threading
from dataclasses import dataclass, field, replace
from typing import Final, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of a request: an ``Authorization`` header, a client certificate, or both.

    A certificate and its key are PEM files, which may be replaced in place, or PEM texts.
    """

    authorization: str = field(default="", repr=False)
    cert_file: str = ""
    key_file: str = ""
    cert_data: str = field(default="", repr=False)
    key_data: str = field(default="", repr=False)


NOBODY: Final = Identity()


class Credentials(Protocol):
    """A source of identities; thread-safe. A call may block, as when it runs a plugin.

    ``stop`` is the stop event of the request: it ends the call.
    """

    def current(self, stop: threading.Event | None = None) -> Identity:
        """Return the identity to use now.

        Raises :class:`~clientgo.rest.ConfigError` if there is none.
        """

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        """Return True if there is another identity to try, because the server refused this one.

        ``refused`` is what :meth:`current` returned.
        """


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """An identity that stays."""

    _identity: Identity

    def current(self, stop: threading.Event | None = None) -> Identity:
        return self._identity

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        return False

    def __repr__(self) -> str:
        return f"StaticCredentials({self._identity!r})"


ANONYMOUS: Final[Credentials] = StaticCredentials(NOBODY)


def bearer_token(token: str) -> Credentials:
    """Credentials of a fixed token."""
    return StaticCredentials(Identity(authorization=f"Bearer {token}"))


def basic_auth(username: str, password: str) -> Credentials:
    """Credentials of a user name and password."""
    return StaticCredentials(Identity(authorization=basic_authorization(username, password)))


def basic_authorization(username: str, password: str) -> str:
    """The header's value for a user name and password."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


def client_certificate(cert_file: str, key_file: str) -> Credentials:
    """Credentials of a certificate and its key, as PEM files; both may be replaced in place."""
    return StaticCredentials(Identity(cert_file=cert_file, key_file=key_file))


def with_basic_auth(credentials: Credentials, username: str, password: str) -> Credentials:
    """Credentials with a user name and password in place of a header of their own."""
    return _WithBasicAuth(credentials, basic_authorization(username, password))


@dataclass(frozen=True, slots=True)
class _WithBasicAuth:
    _credentials: Credentials
    _authorization: str = field(repr=False)

    def current(self, stop: threading.Event | None = None) -> Identity:
        return replace(self._credentials.current(stop), authorization=self._authorization)

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        return False
