"""Authentication: every client of this machine, or a client that shows the token.

Promises: a server that other machines can reach requires a token, over TLS. A token is compared in
constant time; a request without it gets a 401. Health checks need no token, as on a real API
server.

Does not promise authorization: a client that has the token may do everything.

Upstream: apiserver ``authentication/token/tokenfile`` and ``endpoints/filters``.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from pathlib import Path

from clientgo.apiserver.resources.errors import unauthorized
from clientgo.certificates import write_private

_SCHEME = "bearer"

_TOKEN_BYTES = 32
"""Random bytes of a generated token."""


class Authenticator:
    """Admits clients that show the token; without a token, every client."""

    def __init__(self, token: str | None) -> None:
        """Admit clients that show ``token``.

        Raises:
            ValueError: no header could carry the token.
        """
        self.token = token

    @property
    def token(self) -> str | None:
        """Return the current token; it may be replaced while the server runs."""
        return self._token

    @token.setter
    def token(self, token: str | None) -> None:
        if token is not None:
            _check_token(token)
        self._token = token

    def check(self, authorization: str) -> None:
        """Check the Authorization header of a request.

        Raises:
            RequestError: 401, it does not hold the token.
        """
        if self._token is None:
            return
        scheme, _, shown = authorization.partition(" ")
        known = hmac.compare_digest(shown.strip().encode(), self._token.encode())
        if scheme.lower() != _SCHEME or not known:
            raise unauthorized()


def check_exposure(host: str, *, has_token: bool, has_certificate: bool) -> None:
    """Check that a server may listen on ``host``.

    Raises:
        ValueError: other machines reach it, and it has no token or no TLS.
    """
    if _is_loopback(host) or (has_token and has_certificate):
        return
    raise ValueError(
        f"other machines can reach {host}, so a token and TLS are required: let the server make "
        "them (without --insecure-loopback, or with secure=True), and the kubeconfig has both; or "
        "give it a token (--token-file) and a certificate (--tls-cert, --tls-key); or listen on "
        "127.0.0.1"
    )


def _is_loopback(host: str) -> bool:
    """Return True if only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name may resolve to any address


def read_token(path: Path) -> str:
    """Return the token in a file, without the line end.

    Raises:
        OSError: the file can't be read.
        ValueError: it holds no token.
    """
    token = path.read_text(encoding="utf-8").strip()
    _check_token(token)
    return token


def keep_token(path: Path) -> str:
    """Return the token in a file; generate it if there is none."""
    if path.exists():
        return read_token(path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private(path, f"{token}\n".encode())
    return token


def _check_token(token: str) -> None:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("a token is a word of printable ASCII characters, without spaces")
