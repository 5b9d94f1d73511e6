"""The certificate that the server makes for itself, and the authority of its clients.

Promises: it is its own authority, so a kubeconfig that carries it trusts this server and no other.
It is used again while it covers the server's names and does not expire soon, so that kubeconfigs
stay valid across restarts.

Does not promise rotation while the server runs.

Upstream: ``--cert-dir`` of kube-apiserver, client-go ``util/cert.GenerateSelfSignedCertKey``.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clientgo.observe.serving import ServingCertificate
from clientgo.util.certificates import (
    KeyPair,
    covers,
    make_authority,
    make_client_pair,
    make_private,
    make_self_signed_pair,
    validity_of,
    write_private,
)

_DAY: Final = 86400.0

_LIFETIME: Final = 365 * _DAY
"""Seconds, as upstream."""

_RENEWED: Final = 30 * _DAY
"""Seconds left when a start makes a new certificate."""


def keep_self_signed(folder: Path, host: str, more_names: Iterable[str] = ()) -> ServingCertificate:
    """Return the certificate in ``folder`` for a server on ``host``; make it if needed.

    It also holds for ``more_names``.

    Raises:
        ModuleNotFoundError: ``cryptography`` is not installed.
        OSError: the files can't be read or written.
    """
    certificate = folder / "server.crt"
    kept = ServingCertificate(certificate, folder / "server.key", authority=certificate)
    names = _names(host, *more_names)
    now = time.time()
    if not _is_usable(kept.certificate, kept.key, names, now):
        kept.install(
            make_self_signed_pair("clientgo-apiserver", names, now=now, lifetime=_LIFETIME)
        )
    return kept


def _names(*given: str) -> list[str]:
    """Return the names and addresses by which clients may reach the server."""
    known = ("localhost", "127.0.0.1", "::1", *given, socket.gethostname(), *_own_addresses())
    return [name for name in dict.fromkeys(filter(None, known)) if not _is_unspecified(name)]


def _is_unspecified(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False


def _own_addresses() -> list[str]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return []  # a machine that does not know its own name is reached by address
    return [str(item[4][0]).partition("%")[0] for item in found]


def _is_usable(certificate: Path, key: Path, names: Sequence[str], now: float) -> bool:
    if not certificate.exists() or not key.exists():
        return False
    make_private(key)
    content = certificate.read_bytes()
    is_for_all = not names or covers(content, names)
    return is_for_all and validity_of(content).ends - now > _RENEWED


@dataclass(frozen=True, slots=True)
class ClientAuthority:
    """Issues the certificates by which the server knows its clients."""

    certificate: Path
    key: Path

    @classmethod
    def keep(cls, folder: Path) -> ClientAuthority:
        """Return the authority in ``folder``; make it if there is none, or if it ends soon.

        Raises:
            ModuleNotFoundError: ``cryptography`` is not installed.
            OSError: the files can't be read or written.
        """
        kept = cls(folder / "clients.crt", folder / "clients.key")
        now = time.time()
        if not _is_usable(kept.certificate, kept.key, (), now):
            pair = make_authority("clientgo-apiserver-clients", now=now, lifetime=_LIFETIME)
            write_private(kept.key, pair.private_key)
            write_private(kept.certificate, pair.certificate)
        return kept

    @property
    def pair(self) -> KeyPair:
        """Return its certificate and its key."""
        return KeyPair(self.certificate.read_bytes(), self.key.read_bytes())

    def issue(self, user: str, groups: Iterable[str]) -> KeyPair:
        """Return the certificate of a user and its groups, valid for a day."""
        return make_client_pair(self.pair, user, groups, now=time.time(), lifetime=_DAY)
