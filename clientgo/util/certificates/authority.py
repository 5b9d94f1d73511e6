"""Making and reading X.509 certificates. Needs the package ``cryptography``.

Promises: keys on the P-256 curve; an authority can sign certificates of servers, but no other
authority; a certificate holds for the names and addresses that it is made for.

Upstream: client-go ``util/cert`` NewSelfSignedCACert, open-policy-agent ``cert-controller``.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from clientgo.util.extras import needing_extra

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

_CLOCK_SKEW: Final = 3600.0
"""Seconds that a caller's clock may be behind."""

_YEAR: Final = 365 * 86400.0
_THROW_AWAY: Final = "clientgo-throw-away"

_RENEWAL: Final = 2 / 3
"""The part of its life after which a certificate is renewed."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate, with those between it and its authority, and its private key, as PEM."""

    certificate: bytes
    private_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Validity:
    """The time in which a certificate is valid, in Unix seconds."""

    begins: float
    ends: float

    def is_due(self, now: float) -> bool:
        """Return True if two thirds of the certificate's life are over."""
        return not self.begins <= now < self.begins + (self.ends - self.begins) * _RENEWAL

    def is_over(self, now: float) -> bool:
        return now >= self.ends


@needing_extra("operator", "making a certificate")
def make_authority(name: str, *, now: float, lifetime: float) -> KeyPair:
    """Make an authority called ``name``, valid for ``lifetime`` seconds from ``now``."""
    key = _new_key()
    builder = _builder(name, key, now, lifetime, is_authority=True).issuer_name(_named(name))
    return _signed(builder, key, by=key)


@needing_extra("operator", "making a certificate")
def make_self_signed_pair(
    name: str, names: Iterable[str], *, now: float, lifetime: float
) -> KeyPair:
    """Make a serving certificate called ``name`` that is its own authority.

    A client that trusts it trusts this server and no other.
    """
    key = _new_key()
    builder = _builder(name, key, now, lifetime, is_authority=True).issuer_name(_named(name))
    return _signed(_serving(builder, names), key, by=key)


def make_throw_away_pair(names: Iterable[str], *, now: float) -> tuple[bytes, KeyPair]:
    """Make a certificate for ``names``; return the authority to trust (PEM), and the pair.

    Both are valid for a year. The authority's key is not kept, so it signs nothing else.
    """
    authority = make_authority(_THROW_AWAY, now=now, lifetime=_YEAR)
    pair = make_serving_pair(authority, names, now=now, lifetime=_YEAR)
    return authority.certificate, pair


@needing_extra("operator", "making a certificate")
def make_serving_pair(
    authority: KeyPair, names: Iterable[str], *, now: float, lifetime: float
) -> KeyPair:
    """Make a certificate for a server reached by ``names``, host names and IP addresses.

    Raises ``ValueError`` for a bad authority, or without names.
    """

    names = list(names)
    if not names:
        raise ValueError("a serving certificate needs a name or address to be valid for")
    key = _new_key()
    builder = _builder(names[0][:64], key, now, lifetime, is_authority=False)
    return _issued(_serving(builder, names), key, authority)


@needing_extra("operator", "making a certificate")
def make_client_pair(
    authority: KeyPair, user: str, groups: Iterable[str] = (), *, now: float, lifetime: float
) -> KeyPair:
    """Make the certificate of a client, whose names are those of a user and of its groups.

    An API server that trusts the authority takes the client for this user. Raises ``ValueError``
    for a bad authority, or names longer than 64 characters.
    """
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = _new_key()
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = _builder(
        user, key, now, lifetime, is_authority=False, organizations=groups
    ).add_extension(usage, critical=False)
    return _issued(builder, key, authority)


def validity_of(certificate: bytes) -> Validity:
    """Return when a PEM certificate is valid. Raises ``ValueError`` for bad PEM."""
    found = _certificate(certificate)
    return Validity(
        found.not_valid_before_utc.timestamp() + _CLOCK_SKEW, found.not_valid_after_utc.timestamp()
    )


def vouches_for(authority: bytes, certificate: bytes, names: Iterable[str]) -> bool:
    """Return True if the authority signed the certificate, and it is for all these names.

    Raises ``ValueError`` for bad PEM.
    """
    return has_signed(authority, certificate) and covers(certificate, names)


def has_signed(authority: bytes, certificate: bytes) -> bool:
    """Return True if the authority signed the certificate. Raises ``ValueError`` for bad PEM."""
    from cryptography.exceptions import InvalidSignature

    served, issuer = _certificate(certificate), _certificate(authority)
    try:
        served.verify_directly_issued_by(issuer)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def covers(certificate: bytes, names: Iterable[str]) -> bool:
    """Return True if the certificate is for all these names. Raises ``ValueError`` for bad PEM."""
    from cryptography import x509

    try:
        extensions = _certificate(certificate).extensions
        covered = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return set(map(_general_name, names)) <= set(covered)


def belong_together(pair: KeyPair) -> bool:
    """Return True if the key is that of the certificate. Raises ``ValueError`` for bad PEM."""
    public = _certificate(pair.certificate).public_key()
    return bool(public == _private_key(pair.private_key).public_key())


def split_certificates(bundle: bytes) -> list[bytes]:
    """Return the certificates of a PEM bundle, each as PEM. Raises ``ValueError`` for bad PEM."""
    from cryptography import x509

    return [_pem(certificate) for certificate in x509.load_pem_x509_certificates(bundle)]


def _issued(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, authority: KeyPair
) -> KeyPair:
    """Return a certificate that an authority signs."""
    from cryptography import x509

    issuer = _certificate(authority.certificate)
    builder = builder.issuer_name(issuer.subject).add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(
            issuer.public_key()  # type: ignore[arg-type]
        ),
        critical=False,
    )
    return _signed(builder, key, by=_private_key(authority.private_key))


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _serving(builder: x509.CertificateBuilder, names: Iterable[str]) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    covered = x509.SubjectAlternativeName(map(_general_name, names))
    return builder.add_extension(covered, critical=False).add_extension(usage, critical=False)


def _builder(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    now: float,
    lifetime: float,
    *,
    is_authority: bool,
    organizations: Iterable[str] = (),
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(_named(name, organizations))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_instant(now - _CLOCK_SKEW))
        .not_valid_after(_instant(now + lifetime))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None),
            critical=True,
        )
        .add_extension(_key_usage(signs_certificates=is_authority), critical=True)
    )


def _signed(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, *, by: Any
) -> KeyPair:
    from cryptography.hazmat.primitives import hashes, serialization

    private_key = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(_pem(builder.sign(by, hashes.SHA256())), private_key)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _named(name: str, organizations: Iterable[str] = ()) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    names = [(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    names.append((NameOID.COMMON_NAME, name))
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in names])


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _certificate(pem: bytes) -> x509.Certificate:
    from cryptography import x509

    return x509.load_pem_x509_certificate(pem)


def _private_key(pem: bytes) -> Any:
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_private_key(pem, None)


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)


def _instant(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
