"""The certificates of an operator's webhooks in a cluster.

::

    cert-manager, or SelfSignedCertificates ──► Secret ──► tls.crt, tls.key ──► ServingCertificate
                          └──► caBundle of webhook configurations and definitions

:mod:`clientgo.operator.certificates.self_signed` and
:mod:`clientgo.operator.certificates.self_signed` need a client, and are imported by their users.
"""

from clientgo.certificates import (
    CertificateError,
    CertificateStatistics,
    KeyPair,
    ServingCertificate,
)
from clientgo.operator.certificates.cert_manager import (
    certificate_manifests,
    inject_annotation,
    service_names,
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
