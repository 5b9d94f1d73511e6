"""Certificate files that change while they are served."""

from __future__ import annotations

import logging
import ssl
import threading
from pathlib import Path

import pytest

from clientgo.observe.serving import CertificateError, ServingCertificate, serving_certificate
from clientgo.testing import FakeClock
from clientgo.util.certificates import (
    KeyPair,
    make_authority,
    make_client_pair,
    make_serving_pair,
    split_certificates,
)
from tests.background import Background
from tests.cache.metrics import RecordingProvider
from tests.operator.webhooks.caller import TLS, put_certificate

READS = ("certwatcher_read_certificate_total",)
ERRORS = ("certwatcher_read_certificate_errors_total",)


def put(directory: Path, name: str) -> None:
    """Replace both files, as a renewed Secret does."""
    for suffix, file in (("key", "tls.key"), ("crt", "tls.crt")):
        new = directory / f".{file}"
        new.write_bytes((TLS / f"{name}.{suffix}").read_bytes())
        new.replace(directory / file)


@pytest.fixture
def metrics() -> RecordingProvider:
    return RecordingProvider()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return put_certificate(tmp_path)


def test_a_new_handshake_uses_what_is_in_the_files_now(directory: Path) -> None:
    """OP-CRT-01"""
    certificate = ServingCertificate.in_directory(directory)
    certificate.load()
    first = certificate.context()
    assert certificate.context() is first

    put(directory, "client-one")

    assert certificate.context() is not first


def test_what_a_client_sees_changes_with_the_files(directory: Path) -> None:
    """OP-CRT-01"""
    certificate = ServingCertificate.in_directory(directory)
    shown = [_shown(certificate)]
    put(directory, "client-one")
    shown.append(_shown(certificate))

    expected = [
        ssl.PEM_cert_to_DER_cert((TLS / f"{name}.crt").read_text())
        for name in ("server", "client-one")
    ]
    assert shown == expected


def _shown(certificate: ServingCertificate, client_pair: Path | None = None) -> bytes | None:
    """The certificate of a handshake in memory."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.maximum_version = ssl.TLSVersion.TLSv1_2  # which ends with the client's certificate
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    if client_pair is not None:
        trusting.load_cert_chain(client_pair)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server)
    server = certificate.context().wrap_bio(to_server, to_client, server_side=True)
    while True:
        try:
            client.do_handshake()
            return client.getpeercert(binary_form=True)
        except ssl.SSLWantReadError:
            try:
                server.do_handshake()
            except ssl.SSLWantReadError:
                continue


def test_an_authority_of_clients_need_not_be_self_signed(directory: Path) -> None:
    """As with Go: a client's own certificate ends its chain."""
    authority = make_authority("clients", now=0, lifetime=1e10)
    pair = make_client_pair(authority, "alice", now=0, lifetime=1e10)
    [leaf, *_] = split_certificates(pair.certificate)
    (directory / "clients.crt").write_bytes(leaf)
    (directory / "alice.pem").write_bytes(leaf + pair.private_key)
    certificate = ServingCertificate.in_directory(
        directory, client_authorities=directory / "clients.crt"
    )
    certificate.load()

    assert _shown(certificate, directory / "alice.pem")
    with pytest.raises(ssl.SSLError):
        _shown(certificate)


def test_a_pair_that_does_not_match_keeps_the_old_one_and_is_counted(
    directory: Path, metrics: RecordingProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CRT-01, OP-MET-09"""
    certificate = ServingCertificate.in_directory(directory, metrics=metrics)
    certificate.load()
    first = certificate.context()

    (directory / "tls.key").write_bytes((TLS / "client-one.key").read_bytes())
    with caplog.at_level(logging.ERROR, "clientgo.util.certificates"):
        assert certificate.context() is first
        assert certificate.context() is first

    assert (metrics.values[READS], metrics.values[ERRORS]) == ([1.0, 1.0], [1.0])
    assert "the old one stays in use" in caplog.text
    (directory / "tls.crt").write_bytes((TLS / "client-one.crt").read_bytes())
    assert certificate.context() is not first


def test_files_that_are_removed_keep_the_old_pair(directory: Path) -> None:
    """OP-CRT-01"""
    certificate = ServingCertificate.in_directory(directory)
    first = certificate.context()

    (directory / "tls.crt").unlink()

    assert certificate.context() is first
    assert certificate.statistics().errors == 1


def test_the_files_are_read_every_ten_seconds_even_if_they_look_unchanged(
    directory: Path, metrics: RecordingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CRT-01, OP-MET-09"""
    monkeypatch.setattr(serving_certificate, "_signature_of", lambda path: ())
    clock, stop = FakeClock(), threading.Event()
    certificate = ServingCertificate.in_directory(directory, metrics=metrics, clock=clock)
    certificate.load()
    first = certificate.context()
    running = Background(lambda: certificate.run(stop))
    clock.wait_for_waiters(1)

    put(directory, "client-one")
    clock.step(9.99)
    assert certificate.context() is first
    clock.step(0.01)
    clock.wait_for_waiters(1)

    assert certificate.context() is not first
    assert metrics.values[READS] == [1.0, 1.0]
    stop.set()
    running.result()


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """OP-CRT-01"""
    certificate = ServingCertificate.in_directory(tmp_path)

    with pytest.raises(CertificateError, match=r"the certificate .*tls\.crt.*check these files"):
        certificate.load()
    with pytest.raises(CertificateError, match="there is no certificate"):
        certificate.context()


def test_an_installed_pair_is_used_and_private(tmp_path: Path) -> None:
    """OP-CRT-02"""
    authority = make_authority("ca", now=0, lifetime=1e10)
    pair = make_serving_pair(authority, ["localhost"], now=0, lifetime=1e10)
    certificate = ServingCertificate.in_directory(tmp_path / "made")

    certificate.install(pair)
    certificate.install(pair)

    assert certificate.statistics().reads == 1
    assert certificate.context() is not None
    assert (tmp_path / "made" / "tls.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "made" / "tls.crt").read_bytes() == pair.certificate


def test_a_bad_pair_is_refused_and_the_old_one_stays(directory: Path) -> None:
    """OP-CRT-02"""
    certificate = ServingCertificate.in_directory(directory)
    first = certificate.context()

    with pytest.raises(CertificateError):
        certificate.install(KeyPair(b"no certificate", b"no key"))

    assert certificate.context() is first


def test_a_private_key_is_not_shown() -> None:
    assert "secret" not in repr(KeyPair(b"", b"secret"))
