"""The identity of requests.

Credentials are asked for at every request, so tokens and certificates may change while a process
runs. No text form shows a secret. Source: client-go `transport`.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
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


class Credentials(Protocol):
    """A source of identities; thread-safe. A call may block, as when it runs a plugin."""

    def current(self) -> Identity:
        """The identity to use now."""

    def renew(self, refused: Identity) -> bool:
        """The server did not accept ``refused``: whether there is another identity to try."""


class StaticCredentials:
    """An identity that stays."""

    __slots__ = ("_identity",)

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def current(self) -> Identity:
        return self._identity

    def renew(self, refused: Identity) -> bool:
        return False

    def __repr__(self) -> str:
        return f"StaticCredentials({self._identity!r})"


ANONYMOUS: Final[Credentials] = StaticCredentials(Identity())


def bearer_token(token: str) -> Credentials:
    """Credentials of a fixed token."""
    return StaticCredentials(Identity(authorization=f"Bearer {token}"))


def basic_auth(username: str, password: str) -> Credentials:
    """Credentials of a user name and password."""
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return StaticCredentials(Identity(authorization=f"Basic {pair}"))


def client_certificate(cert_file: str, key_file: str) -> Credentials:
    """Credentials of a certificate and its key, as PEM files; both may be replaced in place."""
    return StaticCredentials(Identity(cert_file=cert_file, key_file=key_file))
