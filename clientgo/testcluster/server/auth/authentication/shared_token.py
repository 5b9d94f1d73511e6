"""The server's own token: a client that shows it is the administrator.

Promises: a server that other machines can reach requires a token, over TLS. A token is compared in
constant time.

Differs from upstream, where the administrator has a client certificate.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from pathlib import Path

from clientgo.util.certificates import make_private, write_private

_TOKEN_BYTES = 32
"""Random bytes of a generated token."""


class SharedToken:
    """The token, or None if the server has none."""

    def __init__(self, token: str | None = None) -> None:
        """Begin with ``token``.

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

    def is_shown(self, token: str) -> bool:
        """Return True if this is the token."""
        if self._token is None:
            return False
        return hmac.compare_digest(token.encode(), self._token.encode())


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
        make_private(path)
        return read_token(path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private(path, f"{token}\n".encode())
    return token


def _check_token(token: str) -> None:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("a token is a word of printable ASCII characters, without spaces")
