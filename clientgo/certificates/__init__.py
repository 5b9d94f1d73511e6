"""TLS certificates and signing keys: making them, keeping them in files, and using new ones.

::

    make_authority ──► make_serving_pair ──► files ──► ServingCertificate ──► TLS handshakes
                       make_self_signed_pair ┘         reads them again

Making certificates needs the package ``cryptography``, which is imported when the first is made.
"""

from clientgo.certificates.authority import (
    KeyPair,
    Validity,
    belong_together,
    covers,
    make_authority,
    make_client_pair,
    make_self_signed_pair,
    make_serving_pair,
    make_throw_away_pair,
    split_certificates,
    validity_of,
    vouches_for,
)
from clientgo.certificates.private_files import write_private
from clientgo.certificates.serving_certificate import (
    CERTIFICATE_FILE,
    KEY_FILE,
    CertificateError,
    CertificateStatistics,
    ServingCertificate,
    write_pair,
)
from clientgo.certificates.signing_key import SigningKey

__all__ = [
    # serving
    "ServingCertificate",
    "CertificateError",
    "CertificateStatistics",
    # making
    "KeyPair",
    "make_authority",
    "make_serving_pair",
    "make_client_pair",
    "make_self_signed_pair",
    "make_throw_away_pair",
    "SigningKey",
    # reading
    "Validity",
    "validity_of",
    "covers",
    "vouches_for",
    "belong_together",
    "split_certificates",
    # files
    "write_pair",
    "write_private",
    "CERTIFICATE_FILE",
    "KEY_FILE",
]
