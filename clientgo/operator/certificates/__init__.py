"""The certificates of an operator's webhooks in a cluster.

``certificates.self_signed`` needs a client, and is imported by its users.
"""

from clientgo.observe.serving import CertificateError, CertificateStatistics, ServingCertificate
from clientgo.operator.certificates.cert_manager import (
    certificate_manifests,
    inject_annotation,
    service_names,
)
from clientgo.util.certificates import KeyPair

__all__ = [
    "ServingCertificate",
    "CertificateStatistics",
    "CertificateError",
    "KeyPair",
    "certificate_manifests",
    "inject_annotation",
    "service_names",
]
