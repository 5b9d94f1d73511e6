"""What cert-manager needs."""

from __future__ import annotations

from clientgo.operator.certificates import certificate_manifests, inject_annotation


def test_an_issuer_and_a_certificate_for_the_service() -> None:
    """OP-CRT-03"""
    issuer, certificate = certificate_manifests(
        "hooks-cert", "system", secret="hooks-tls", service="hooks"
    )

    assert issuer["spec"] == {"selfSigned": {}}
    assert certificate["metadata"] == {"name": "hooks-cert", "namespace": "system"}
    assert certificate["spec"] == {
        "dnsNames": ["hooks.system.svc", "hooks.system.svc.cluster.local"],
        "issuerRef": {"kind": "Issuer", "name": issuer["metadata"]["name"]},
        "secretName": "hooks-tls",
    }


def test_the_annotation_names_the_certificate() -> None:
    """OP-CRT-03"""
    assert inject_annotation("hooks-cert", "system") == {
        "cert-manager.io/inject-ca-from": "system/hooks-cert"
    }
