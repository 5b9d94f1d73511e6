"""The certificate that the server shows over TLS: given as files, or made and kept in a folder.

Promises: a certificate that was made is its own authority, so a kubeconfig that carries it trusts
this server and nothing else. It is used again as long as it covers the names that the server is
reached by and does not expire soon, so that kubeconfigs stay valid across restarts; its key can be
read by its owner only.

Does not promise rotation while the server runs.

Upstream: ``--cert-dir`` of kube-apiserver, client-go ``util/cert.GenerateSelfSignedCertKey``.
"""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clientgo.apiserver.private_files import write_private

if TYPE_CHECKING:
    from cryptography import x509

_LIFETIME = datetime.timedelta(days=365)
"""What upstream gives a certificate that it makes for itself."""

_RENEWED = datetime.timedelta(days=30)
"""Left of the lifetime when a start makes a new certificate."""

_CLOCK_SKEW = datetime.timedelta(hours=1)
"""How far a client's clock may be behind."""


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """A certificate (with its chain, if it has one) and its private key, as PEM files."""

    certificate: Path
    key: Path
    authority: Path | None = None
    """What clients have to trust, in PEM; None if they trust it anyway."""

    def check(self) -> None:
        """Look whether the files can be used.

        Raises:
            ValueError: a file is missing or no PEM, or the key is not that of the certificate.
        """
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
        except OSError as error:  # SSLError is one, too
            raise ValueError(
                f"can't use the certificate {self.certificate} with the key {self.key}: {error}"
            ) from error


def keep_self_signed(folder: Path, host: str) -> ServingCertificate:
    """The certificate kept in ``folder`` for a server that listens on ``host``; made if need be.

    Raises:
        ModuleNotFoundError: ``cryptography`` is not installed.
        OSError: the files can't be read or written.
    """
    certificate = folder / "server.crt"
    kept = ServingCertificate(certificate, folder / "server.key", authority=certificate)
    names = _names(host)
    if not _is_usable(kept, names):
        _make(kept, names)
    return kept


def _names(host: str) -> list[x509.GeneralName]:
    """The names and addresses under which clients may reach the server."""
    from cryptography import x509  # takes longer to import than the server takes to start

    names: list[x509.GeneralName] = []
    known = ("localhost", "127.0.0.1", "::1", host, socket.gethostname(), *_own_addresses())
    for name in dict.fromkeys(filter(None, known)):
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            names.append(x509.DNSName(name))
        else:
            if not address.is_unspecified:
                names.append(x509.IPAddress(address))
    return names


def _own_addresses() -> list[str]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return []  # a machine that does not know its own name is reached by address
    return [str(item[4][0]).partition("%")[0] for item in found]


def _is_usable(kept: ServingCertificate, names: list[x509.GeneralName]) -> bool:
    from cryptography import x509

    if not kept.certificate.exists() or not kept.key.exists():
        return False
    certificate = x509.load_pem_x509_certificate(kept.certificate.read_bytes())
    covered = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    now = datetime.datetime.now(datetime.UTC)
    return set(names) <= set(covered) and certificate.not_valid_after_utc - now > _RENEWED


def _make(kept: ServingCertificate, names: list[x509.GeneralName]) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clientgo-apiserver")])
    now = datetime.datetime.now(datetime.UTC)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(
        kept.key,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    kept.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
