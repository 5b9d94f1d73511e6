"""The certificate that the server makes for itself and keeps in a folder.

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
from pathlib import Path
from typing import Final

from clientgo.certificates import ServingCertificate, covers, make_self_signed_pair, validity_of

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
    if not _is_usable(kept, names, now):
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


def _is_usable(kept: ServingCertificate, names: Sequence[str], now: float) -> bool:
    if not kept.certificate.exists() or not kept.key.exists():
        return False
    content = kept.certificate.read_bytes()
    return covers(content, names) and validity_of(content).ends - now > _RENEWED
