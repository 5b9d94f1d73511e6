"""An authority as old tools make it, and as some clusters still have."""

from __future__ import annotations

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from clientgo.certificates import KeyPair


def authority_without_key_usage(now: float, lifetime: float) -> KeyPair:
    """RFC 5280 wants a keyUsage with keyCertSign in it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "old")])
    begin = datetime.datetime.fromtimestamp(now, datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - datetime.timedelta(minutes=5))
        .not_valid_after(begin + datetime.timedelta(seconds=lifetime))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private_key = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private_key)
