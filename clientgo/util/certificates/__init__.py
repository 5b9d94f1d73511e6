"""TLS certificates and signing keys: making them, keeping them in files, and trusting them.

::

    make_authority ──► make_serving_pair ──► write_pair ──► files, read by a ServingCertificate
                       make_self_signed_pair ┘               of `clientgo.observe.serving`

Making certificates needs the package ``cryptography``, which is imported when the first is made.
"""

from clientgo.util.certificates.authority import (
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
from clientgo.util.certificates.private_files import (
    CERTIFICATE_FILE,
    KEY_FILE,
    make_private,
    write_pair,
    write_private,
)
from clientgo.util.certificates.signing_key import SigningKey
from clientgo.util.certificates.trust import CERTIFICATE, NoCertificateError, client_context, trust

__all__ = [
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
    "make_private",
    "write_private",
    "CERTIFICATE_FILE",
    "KEY_FILE",
    # trusting
    "client_context",
    "trust",
    "NoCertificateError",
    "CERTIFICATE",
]
