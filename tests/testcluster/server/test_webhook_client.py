"""How the server calls webhooks: whom it trusts, and which address it asks for."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server.http.webhook_client import WebhookCallError, WebhookClient
from clientgo.testing.scripted_server import answer_json
from clientgo.util.certificates import KeyPair, make_authority, split_certificates
from tests.tls_server import AUTHORITY, DAY, NOW, SERVER, TLSServer

_LIMIT = 1 << 20


def leaf_of(pair: KeyPair) -> bytes:
    """Return the first certificate of a chain."""
    return split_certificates(pair.certificate)[0]


def call(url: str, ca: bytes) -> Any:
    """Call a webhook with a bundle of certificates that are trusted."""
    client = WebhookClient("test")
    config = {"url": url, "caBundle": base64.b64encode(ca).decode()}
    try:
        return asyncio.run(client.post(config, {"kind": "AdmissionReview"}, 30.0, _LIMIT))
    finally:
        client.close()


@pytest.mark.parametrize("ca", [AUTHORITY.certificate, leaf_of(SERVER)])
def test_each_certificate_of_a_bundle_ends_a_chain(tmp_path: Path, ca: bytes) -> None:
    """envtest puts the webhook's own certificate into the bundle."""
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({"kind": "AdmissionReview"}))

        assert call(server.url, ca) == {"kind": "AdmissionReview"}


def test_another_authority_is_not_trusted(tmp_path: Path) -> None:
    another = make_authority("another", now=NOW, lifetime=DAY)
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({}))

        with pytest.raises(WebhookCallError) as failure:
            call(server.url, another.certificate)

    assert "certificate verify failed" in str(failure.value)


@pytest.mark.parametrize(
    ("path", "called"),
    [
        ("", "/"),
        ("/", "/"),
        ("/validate", "/validate"),
        ("//failing", "/failing"),
        ("/a//b/", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../../a", "/a"),
        ("/a%20b/%C3%A9", "/a%20b/%C3%A9"),
        ("/a!(b)", "/a%21%28b%29"),
        ("/x:y@z=1,2;3&4+5$6", "/x:y@z=1,2;3&4+5$6"),
    ],
)
def test_the_path_is_cleaned_as_by_a_real_server(tmp_path: Path, path: str, called: str) -> None:
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({}))

        call(server.url + path, AUTHORITY.certificate)

        [request] = server.requests
        assert (request.path, dict(request.query)) == (called, {"timeout": "30s"})
