"""Who may ask: everybody on this machine, or whoever shows the token.

Promises: a server that other machines can reach asks for a token, over TLS. A token is compared in
constant time, and a request without the right one is a 401 whatever else it is. Health checks are
answered to anybody, as by a real API server.

Does not promise authorisation: who has the token may do everything.

Upstream: apiserver ``authentication/token/tokenfile`` and ``endpoints/filters``.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from pathlib import Path
from typing import Any

from clientgo.apiserver.resources.status_errors import unauthorized
from clientgo.certificates import write_private

USER: dict[str, Any] = {
    "username": "clientgo",
    "groups": ["system:masters", "system:authenticated"],
}
"""Every client, as reviews and webhooks see it."""

_SCHEME = "bearer"

_TOKEN_BYTES = 32
"""Random bytes of a token that is made here."""


class Authenticator:
    """Knows the token; without one, everybody is let in."""

    def __init__(self, token: str | None) -> None:
        """Let in whoever shows ``token``.

        Raises:
            ValueError: no header could carry the token.
        """
        self.token = token

    @property
    def token(self) -> str | None:
        """What clients must show now; may be replaced while the server runs."""
        return self._token

    @token.setter
    def token(self, token: str | None) -> None:
        if token is not None:
            _check_token(token)
        self._token = token

    def check(self, authorization: str) -> None:
        """Look at the Authorization header of a request.

        Raises:
            StatusError: 401, it does not hold the token.
        """
        if self._token is None:
            return
        scheme, _, shown = authorization.partition(" ")
        known = hmac.compare_digest(shown.strip().encode(), self._token.encode())
        if scheme.lower() != _SCHEME or not known:
            raise unauthorized()


def check_exposure(host: str, *, has_token: bool, has_certificate: bool) -> None:
    """Look whether a server may listen on ``host``.

    Raises:
        ValueError: other machines reach it, and it has no token or no TLS.
    """
    if _is_loopback(host) or (has_token and has_certificate):
        return
    raise ValueError(
        f"other machines can reach {host}, so a token and TLS are required: let the server make "
        "them (--secure, or secure=True), and the kubeconfig carries both; or give it a token "
        "(--token-file) and a certificate (--tls-cert, --tls-key); or listen on 127.0.0.1"
    )


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name may come to stand for anything


def read_token(path: Path) -> str:
    """The token in a file, without the line end.

    Raises:
        OSError: the file can't be read.
        ValueError: it holds no token.
    """
    token = path.read_text(encoding="utf-8").strip()
    _check_token(token)
    return token


def keep_token(path: Path) -> str:
    """The token kept in a file; made if it is not there."""
    if path.exists():
        return read_token(path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private(path, f"{token}\n".encode())
    return token


def _check_token(token: str) -> None:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("a token is a word of printable ASCII characters, without spaces")
