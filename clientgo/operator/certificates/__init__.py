"""The certificates of an operator's webhooks in a cluster.

``certificates.self_signed`` needs a client, and is imported by its users.
"""

from clientgo.certificates import KeyPair
from clientgo.operator.certificates.cert_manager import (
    certificate_manifests,
    inject_annotation,
    service_names,
)
from clientgo.serving import CertificateError, CertificateStatistics, ServingCertificate

__all__ = [
    "ServingCertificate",
    "CertificateStatistics",
    "CertificateError",
    "KeyPair",
    "certificate_manifests",
    "inject_annotation",
    "service_names",
]
