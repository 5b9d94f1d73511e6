"""Making certificates: an authority of one's own, and certificates that it vouches for.

Needs the ``cryptography`` package, which is imported when the first certificate is made or read.

Promises: keys on the P-256 curve; an authority that can vouch for servers and for no other
authority; certificates for the names and addresses that they are made for.

Upstream: client-go ``util/cert`` NewSelfSignedCACert, open-policy-agent ``cert-controller``.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clientgo.operator.certificates.key_pair import KeyPair

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
class Validity:
    """From when to when a certificate is valid, in Unix seconds."""

    begins: float
    ends: float

    def is_due(self, now: float) -> bool:
        """Whether the certificate should be renewed: two thirds of its life are over."""
        return not self.begins <= now < self.begins + (self.ends - self.begins) * _RENEWAL

    def is_over(self, now: float) -> bool:
        return now >= self.ends


def make_authority(name: str, *, now: float, lifetime: float) -> KeyPair:
    """A new authority called ``name``, valid for ``lifetime`` seconds from ``now``."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(name, key, now, lifetime).issuer_name(_named(name))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return _signed(builder, key, by=key)


def make_throw_away_pair(names: Iterable[str], *, now: float) -> tuple[bytes, KeyPair]:
    """Return a certificate for ``names``, and before it the authority that callers have to trust.

    The key of the authority is not kept, so it signs nothing else. Valid for a year.
    """
    authority = make_authority(_THROW_AWAY, now=now, lifetime=_YEAR)
    pair = make_serving_pair(authority, names, now=now, lifetime=_YEAR)
    return authority.certificate, pair


def make_serving_pair(
    authority: KeyPair, names: Iterable[str], *, now: float, lifetime: float
) -> KeyPair:
    """A certificate for a server reached by ``names``, host names and IP addresses.

    Raises ``ValueError`` for an authority that is none, or without names.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    names = list(names)
    if not names:
        raise ValueError("a serving certificate needs a name or address to be valid for")
    issuer = _certificate(authority.certificate)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(names[0][:64], key, now, lifetime)
        .issuer_name(issuer.subject)
        .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                issuer.public_key()  # type: ignore[arg-type]
            ),
            critical=False,
        )
    )
    return _signed(builder, key, by=_private_key(authority.private_key))


def validity_of(certificate: bytes) -> Validity:
    """When a PEM certificate is valid. Raises ``ValueError`` for what is none."""
    found = _certificate(certificate)
    return Validity(
        found.not_valid_before_utc.timestamp() + _CLOCK_SKEW, found.not_valid_after_utc.timestamp()
    )


def vouches_for(authority: bytes, certificate: bytes, names: Iterable[str]) -> bool:
    """Whether the authority has signed the certificate, and for all these names.

    Raises ``ValueError`` for what is no certificate.
    """
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature

    served = _certificate(certificate)
    try:
        served.verify_directly_issued_by(_certificate(authority))
        covered = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (InvalidSignature, TypeError, ValueError, x509.ExtensionNotFound):
        return False
    return set(map(_general_name, names)) <= set(covered)


def belong_together(pair: KeyPair) -> bool:
    """Whether the key is that of the certificate. Raises ``ValueError`` where one is none."""
    public = _certificate(pair.certificate).public_key()
    return bool(public == _private_key(pair.private_key).public_key())


def split_certificates(bundle: bytes) -> list[bytes]:
    """The certificates of a PEM bundle, each as PEM. Raises ``ValueError`` for what is none."""
    from cryptography import x509

    return [_pem(certificate) for certificate in x509.load_pem_x509_certificates(bundle)]


def _builder(
    name: str, key: ec.EllipticCurvePrivateKey, now: float, lifetime: float
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_instant(now - _CLOCK_SKEW))
        .not_valid_after(_instant(now + lifetime))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
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


def _named(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


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
