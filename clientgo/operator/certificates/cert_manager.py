"""The objects with which cert-manager makes an operator's webhook certificate.

Upstream: kubebuilder's ``config/certmanager``.
"""

from __future__ import annotations

from typing import Any, Final

INJECT_ANNOTATION: Final = "cert-manager.io/inject-ca-from"
_API_VERSION: Final = "cert-manager.io/v1"


def certificate_manifests(
    name: str, namespace: str, *, secret: str, service: str
) -> list[dict[str, Any]]:
    """Return the Issuer and the Certificate ``name`` for the webhooks behind ``service``."""
    issuer: dict[str, Any] = {
        "apiVersion": _API_VERSION,
        "kind": "Issuer",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selfSigned": {}},
    }
    certificate: dict[str, Any] = {
        "apiVersion": _API_VERSION,
        "kind": "Certificate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "dnsNames": service_names(service, namespace),
            "issuerRef": {"kind": "Issuer", "name": name},
            "secretName": secret,
        },
    }
    return [issuer, certificate]


def inject_annotation(name: str, namespace: str) -> dict[str, str]:
    """Return the annotation that gives webhook configurations and CRDs the authority."""
    return {INJECT_ANNOTATION: f"{namespace}/{name}"}


def service_names(service: str, namespace: str) -> list[str]:
    """Return the names by which API servers call a service."""
    name = f"{service}.{namespace}.svc"
    return [name, f"{name}.cluster.local"]
