"""Reading certificate signing requests, and signing them. Needs the package ``cryptography``.

Upstream: ``pkg/controller/certificates/authority`` PermissiveSigningPolicy, RFC 2986.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clientgo.util.certificates.authority import KeyPair
from clientgo.util.extras import needing_extra

if TYPE_CHECKING:
    from cryptography import x509

_BACKDATED: Final = 300.0
"""Seconds that a caller's clock may be behind."""

_KEY_USAGES: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "data encipherment": "data_encipherment",
    "key agreement": "key_agreement",
}
_EXTENDED_USAGES: Final = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
}


@dataclass(frozen=True, slots=True)
class RequestedCertificate:
    """What a signing request asks for."""

    common_name: str
    organizations: tuple[str, ...]
    names: frozenset[str]
    """The kinds of the alternative names: DNS, IP, email, URI."""


@needing_extra("operator", "reading a signing request")
def read_request(request: bytes) -> RequestedCertificate:
    """Read a signing request in PEM. Raises ``ValueError`` if it is none, or not signed."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    read = x509.load_pem_x509_csr(request)
    if not read.is_signature_valid:
        raise ValueError("its signature is not valid")
    kinds: dict[type[Any], str] = {
        x509.DNSName: "DNS",
        x509.IPAddress: "IP",
        x509.RFC822Name: "email",
        x509.UniformResourceIdentifier: "URI",
    }
    alternatives = _alternatives(read)
    common = read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = read.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return RequestedCertificate(
        str(common[0].value) if common else "",
        tuple(str(group.value) for group in groups),
        frozenset(kinds.get(type(name), "other") for name in alternatives or ()),
    )


@needing_extra("operator", "signing a request")
def sign_request(
    authority: KeyPair, request: bytes, usages: Iterable[str], *, now: float, lifetime: float
) -> bytes:
    """Return the certificate that was asked for, as PEM, valid for ``lifetime`` seconds.

    Subject, key and alternative names are those of the request; ``usages`` are Kubernetes' names.
    Raises ``ValueError`` for a bad request or authority.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    read = x509.load_pem_x509_csr(request)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    key = serialization.load_pem_private_key(authority.private_key, None)
    wanted = set(usages)
    flags = {flag: usage in wanted for usage, flag in _KEY_USAGES.items() if usage != "signing"}
    flags["digital_signature"] |= "signing" in wanted
    extended = [oid for usage, oid in _EXTENDED_USAGES.items() if usage in wanted]
    ends = min(_instant(now + lifetime), issuer.not_valid_after_utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(read.subject)
        .issuer_name(issuer.subject)
        .public_key(read.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_instant(now - _BACKDATED))
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                **flags, key_cert_sign=False, crl_sign=False, encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )  # fmt: skip
    if extended:
        objects = [x509.ObjectIdentifier(oid) for oid in extended]
        builder = builder.add_extension(x509.ExtendedKeyUsage(objects), critical=False)
    if alternatives := _alternatives(read):
        builder = builder.add_extension(alternatives, critical=False)
    signed = builder.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    return signed.public_bytes(serialization.Encoding.PEM)


def _alternatives(request: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName | None:
    from cryptography import x509

    try:
        return request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _instant(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
