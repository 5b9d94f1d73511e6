"""Certificates of servers that run for longer than these are valid.

::

    cert-manager, or SelfSignedCertificates ──► tls.crt, tls.key ──► ServingCertificate ──► TLS
                          │                                          reads them again
                          └──► Secret, caBundle

Making certificates needs the package ``cryptography`` and a client, so
:mod:`clientgo.operator.certificates.self_signed` and
:mod:`clientgo.operator.certificates.trust` are imported by those who use them.
"""

from clientgo.operator.certificates.cert_manager import (
    certificate_manifests,
    inject_annotation,
    service_names,
)
from clientgo.operator.certificates.key_pair import KeyPair
from clientgo.operator.certificates.serving_certificate import (
    CertificateError,
    CertificateStatistics,
    ServingCertificate,
)

__all__ = [
    "ServingCertificate",
    "CertificateStatistics",
    "CertificateError",
    "KeyPair",
    "certificate_manifests",
    "inject_annotation",
    "service_names",
]
