"""Whom a client trusts and what it shows, as Go does; and what it says when that fails."""

from __future__ import annotations

import os
import ssl
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from clientgo.rest import (
    ConfigError,
    Identity,
    RestClient,
    RestConfig,
    StaticCredentials,
    TLSError,
    TLSSettings,
    client_certificate,
)
from clientgo.rest.config.tls import ssl_context
from clientgo.rest.errors import transport_error
from clientgo.testing import FakeClock
from clientgo.util.certificates import (
    KeyPair,
    make_authority,
    make_client_pair,
    make_self_signed_pair,
    make_serving_pair,
)
from tests.tls_server import (
    AUTHORITY,
    DAY,
    NOW,
    SERVER,
    TLSServer,
    authority_without_key_usage,
)

ALICE = make_client_pair(AUTHORITY, "alice", now=NOW, lifetime=DAY)
OTHER = make_authority("other", now=NOW, lifetime=DAY)
BOB = make_client_pair(AUTHORITY, "bob", now=NOW, lifetime=DAY)
GOOD = TLSSettings(ca_data=AUTHORITY.certificate.decode())


@pytest.fixture(name="serve")
def _serve(tmp_path: Path) -> Iterator[Callable[..., TLSServer]]:
    servers: list[TLSServer] = []

    def serve(pair: KeyPair = SERVER, **options: Any) -> TLSServer:
        servers.append(TLSServer(pair, tmp_path, **options))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def client_of(server: TLSServer, tls: TLSSettings = GOOD, **config: Any) -> RestClient:
    return RestClient(RestConfig(server=server.url, tls=tls, **config), api_path="/api/v1")


def get(client: RestClient) -> bytes:
    return client.get().resource("foos").do().body


def identity_of(pair: KeyPair) -> Identity:
    return Identity(cert_data=pair.certificate.decode(), key_data=pair.private_key.decode())


def problem_of(client: RestClient) -> str:
    """What is wrong, without the method and URL."""
    with pytest.raises(TLSError) as error:
        get(client)
    return str(error.value).partition("/foos: ")[2]


# What is trusted


def test_an_authority_that_rfc_5280_would_refuse_is_trusted_unless_strict(serve):
    """FIELD-49: Python 3.13 refuses those of EKS and MicroK8s by itself, Go does not."""
    authority = authority_without_key_usage(NOW, DAY)
    server = serve(make_serving_pair(authority, ["127.0.0.1"], now=NOW, lifetime=DAY))
    ca = authority.certificate.decode()

    assert get(client_of(server, TLSSettings(ca_data=ca))) == b'{"items":[]}'
    assert problem_of(client_of(server, TLSSettings(ca_data=ca, strict=True))).startswith(
        "the server's certificate is not accepted: "
    )


def test_the_systems_authorities_are_not_checked_more_strictly_either():
    assert not ssl_context(TLSSettings()).verify_flags & ssl.VERIFY_X509_STRICT
    assert ssl_context(TLSSettings(strict=True)).verify_flags & ssl.VERIFY_X509_STRICT
    assert ssl_context(TLSSettings()).check_hostname


def test_the_servers_own_certificate_may_be_the_authority(serve):
    """FIELD-50."""
    server = serve()

    assert get(client_of(server, TLSSettings(ca_data=SERVER.certificate.decode())))
    other = make_serving_pair(AUTHORITY, ["127.0.0.1"], now=NOW, lifetime=DAY)
    assert problem_of(
        client_of(server, TLSSettings(ca_data=other.certificate.decode()))
    ).startswith("the server's certificate is not trusted: ")


@pytest.mark.parametrize(
    "bundle",
    [
        AUTHORITY.certificate + OTHER.certificate,
        b"# Autorit\xe9 de certification\n" + AUTHORITY.certificate,
        b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
        + AUTHORITY.certificate,
        AUTHORITY.private_key + AUTHORITY.certificate.replace(b"\n", b"\r\n"),
        AUTHORITY.certificate * 2,
    ],
    ids=["two", "a comment", "one that is none", "beside a key", "twice"],
)
def test_a_bundle_is_read_as_go_reads_it(serve, tmp_path, bundle):
    (tmp_path / "ca.crt").write_bytes(bundle)

    assert get(client_of(serve(), TLSSettings(ca_file=str(tmp_path / "ca.crt"))))


def test_the_text_of_an_authority_is_above_its_file(serve):
    assert get(client_of(serve(), TLSSettings(ca_data=GOOD.ca_data, ca_file="/nosuch")))


@pytest.mark.parametrize("name", ["one.example", "127.0.0.1", "One.Example", "one.example."])
def test_another_name_or_address_can_be_expected(serve, name):
    tls = TLSSettings(ca_data=GOOD.ca_data, server_name=name)

    assert get(client_of(serve(), tls))


def test_insecure_checks_nothing(serve):
    pair = make_self_signed_pair("elsewhere", ["elsewhere"], now=NOW - 9 * DAY, lifetime=DAY)

    with pytest.warns(Warning, match="Unverified HTTPS request"):
        assert get(client_of(serve(pair), TLSSettings(insecure=True)))


# What is said


def test_an_unknown_authority_is_said_to_be_so(serve):
    assert problem_of(client_of(serve(), TLSSettings(ca_data=OTHER.certificate.decode()))) == (
        "the server's certificate is not trusted: self-signed certificate in certificate chain; "
        "configure the CA that issued it (certificate-authority)"
    )


@pytest.mark.parametrize(
    ("name", "kind"), [("two.example", "Hostname"), ("10.0.0.1", "IP address")]
)
def test_a_wrong_name_is_told_with_the_names_that_the_certificate_has(serve, name, kind):
    tls = TLSSettings(ca_data=GOOD.ca_data, server_name=name)

    assert problem_of(client_of(serve(), tls)) == (
        f"the server's certificate is for another name: {kind} mismatch, certificate is not valid "
        f"for '{name}'; it is for 127.0.0.1, one.example: use that in the server's URL, or as the "
        "TLS server name"
    )


def test_a_certificate_that_has_expired_is_said_to_be_so(serve):
    pair = make_serving_pair(AUTHORITY, ["127.0.0.1"], now=NOW - 9 * DAY, lifetime=DAY)

    assert problem_of(client_of(serve(pair))) == (
        "the server's certificate is not valid now: certificate has expired; renew it, or set this "
        "machine's clock"
    )


def test_a_client_certificate_that_the_server_refuses_is_said_to_be_so(serve):
    stranger = make_client_pair(OTHER, "mallory", now=NOW, lifetime=DAY)
    credentials = StaticCredentials(identity_of(stranger))
    # With TLS 1.3 the refusal may be lost: it comes when the request is being sent.
    server = serve(maximum=ssl.TLSVersion.TLSv1_2)

    assert problem_of(client_of(server, credentials=credentials)).startswith(
        "the server refused the client certificate: TLSV1_ALERT_UNKNOWN_CA; give one that "
    )


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        (
            "TLSV13_ALERT_CERTIFICATE_REQUIRED",
            "the server wants a client certificate; configure one",
        ),
        (
            "SSLV3_ALERT_CERTIFICATE_EXPIRED",
            "the server refused the client certificate: SSLV3_ALERT_CERTIFICATE_EXPIRED; give one "
            "that an authority of the server has issued and that has not expired",
        ),
        (
            "WRONG_VERSION_NUMBER",
            "the server does not speak TLS; write http:// in its URL, or check the port",
        ),
        (
            "NO_PROTOCOLS_AVAILABLE",
            "no TLS connection: the text; check the port, and which versions of TLS the server "
            "takes",
        ),
    ],
)
def test_what_openssl_says_is_told_with_what_to_do(reason, problem):
    error = ssl.SSLError(1, "the text")
    error.reason = reason

    told = transport_error("GET", "https://host/a?b=c", error)

    assert isinstance(told, TLSError)
    assert str(told) == f"GET https://host/a: {problem}"


@pytest.mark.parametrize(
    ("tls", "identity", "problem"),
    [
        (
            TLSSettings(ca_data="no PEM"),
            Identity(),
            "the certificate authority cannot be used: it holds no certificate in PEM form; give",
        ),
        (
            TLSSettings(ca_data=AUTHORITY.private_key.decode()),
            Identity(),
            "the certificate authority cannot be used: it holds no certificate in PEM form; give",
        ),
        (
            TLSSettings(ca_file="/nosuch/ca.crt"),
            Identity(),
            "/nosuch/ca.crt: the certificate authority cannot be read: No such file or directory",
        ),
        (
            TLSSettings(server_name=".example"),
            Identity(),
            "the server name '.example' is no host name: ",
        ),
        (
            GOOD,
            Identity(cert_data="no PEM", key_data=ALICE.private_key.decode()),
            "the client certificate holds no certificate in PEM form; give",
        ),
        (
            GOOD,
            Identity(cert_data=ALICE.certificate.decode(), key_data="no PEM"),
            "the client key holds no private key in PEM form; give",
        ),
        (
            GOOD,
            Identity(cert_data=ALICE.certificate.decode()),
            "the client key holds no private key in PEM form; give",
        ),
        (
            GOOD,
            Identity(
                cert_data=ALICE.certificate.decode(),
                key_data="-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            ),
            "the client certificate and its key cannot be used: ",
        ),
        (
            GOOD,
            Identity(cert_data=ALICE.certificate.decode(), key_data=BOB.private_key.decode()),
            "the client key does not belong to the client certificate; give the two that",
        ),
        (
            GOOD,
            Identity(cert_file="/nosuch/a.crt", key_file="/nosuch/a.key"),
            "/nosuch/a.crt: the client certificate cannot be read: No such file or directory; chec",
        ),
    ],
)
def test_what_cannot_be_used_is_a_configuration_error(tls, identity, problem):
    with pytest.raises(ConfigError) as error:
        ssl_context(tls, identity)
    assert str(error.value).startswith(problem)


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL"])
def test_an_encrypted_key_is_refused_and_its_password_is_not_asked_for(form):
    key = serialization.load_pem_private_key(ALICE.private_key, None).private_bytes(
        serialization.Encoding.PEM,
        getattr(serialization.PrivateFormat, form),
        serialization.BestAvailableEncryption(b"password"),
    )
    identity = Identity(cert_data=ALICE.certificate.decode(), key_data=key.decode())

    with pytest.raises(ConfigError, match=r"^the client key is encrypted; decrypt it"):
        ssl_context(GOOD, identity)


def test_a_bad_certificate_is_a_tls_error_of_the_request(serve):
    credentials = StaticCredentials(Identity(cert_data="no PEM", key_data="no PEM"))

    assert problem_of(client_of(serve(), credentials=credentials)).startswith(
        "the client certificate holds no certificate in PEM form"
    )


# Client certificates


@pytest.mark.parametrize("has_memory_files", [True, False])
def test_a_certificate_from_text_leaves_no_file(serve, tmp_path, monkeypatch, has_memory_files):
    """FIELD-51: it was in /tmp, and gone when a cleaner or a forked child had passed."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    if not has_memory_files:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    server = serve()

    get(client_of(server, credentials=StaticCredentials(identity_of(ALICE))))

    assert server.shown == ["alice"]
    assert not list((tmp_path / "tmp").iterdir())


def test_without_files_in_memory_the_file_is_the_users_alone_and_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    modes: list[int] = []

    def fail(context: Any, path: str, **_: Any) -> None:
        modes.append(stat.S_IMODE(os.stat(path).st_mode))
        raise OSError("it fails on purpose")

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", fail)
    with pytest.raises(OSError, match="on purpose"):
        ssl_context(GOOD, identity_of(ALICE))

    assert modes == [0o600]
    assert not list(tmp_path.iterdir())


def test_certificate_and_key_may_be_in_one_file(serve, tmp_path):
    (tmp_path / "both.pem").write_bytes(ALICE.private_key + ALICE.certificate)
    server = serve()

    get(client_of(server, credentials=client_certificate(str(tmp_path / "both.pem"), "")))

    assert server.shown == ["alice"]


class Changing:
    """An identity that a test changes."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    def current(self, stop: object = None) -> Identity:
        return self.identity

    def renew(self, refused: Identity, stop: object = None) -> bool:
        return False


def test_another_identity_has_connections_of_its_own(serve):
    server = serve()
    credentials = Changing(identity_of(ALICE))
    client = client_of(server, credentials=credentials)

    for pair in (ALICE, ALICE, BOB):
        credentials.identity = identity_of(pair)
        get(client)
    credentials.identity = Identity(authorization="Bearer t")
    get(client)

    assert server.shown == ["alice", "alice", "bob"]
    assert server.connections == 3


def test_while_changed_files_are_bad_the_last_good_ones_are_used(serve, tmp_path, caplog):
    """FIELD-52: a reader in the middle of a rotation."""
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def put(certificate: bytes, private_key: bytes) -> None:
        cert.write_bytes(certificate)
        key.write_bytes(private_key)

    put(ALICE.certificate, ALICE.private_key)
    server, clock = serve(), FakeClock()
    client = client_of(server, credentials=client_certificate(str(cert), str(key)), clock=clock)
    get(client)
    for halfway in (
        (BOB.certificate, ALICE.private_key),
        (BOB.certificate, BOB.private_key[:40]),
        (b"", b""),
    ):
        put(*halfway)
        for _ in range(2):
            clock.step(1.0)
            get(client)
    key.unlink()
    clock.step(1.0)
    get(client)
    put(BOB.certificate, BOB.private_key)
    clock.step(1.0)
    get(client)

    assert server.shown == ["alice"] * 8 + ["bob"]
    assert server.connections == 2
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 4
    assert messages[0] == (
        f"Certificates stay as they are, the changed ones are bad: {key}: the client key does not "
        "belong to the client certificate; give the two that were issued together"
    )


def test_files_that_a_mounted_secret_replaces_are_read_again(serve, tmp_path):
    """Kubernetes turns one link, ..data; the files may be as old and as long as the last ones."""
    for name, pair in (("one", ALICE), ("two", BOB)):
        (tmp_path / name).mkdir()
        for suffix, content in (("crt", pair.certificate), ("key", pair.private_key)):
            file = tmp_path / name / f"tls.{suffix}"
            file.write_bytes(content)
            os.utime(file, (1000.0, 1000.0))
    (tmp_path / "..data").symlink_to("one")
    for suffix in ("crt", "key"):
        (tmp_path / f"tls.{suffix}").symlink_to(f"..data/tls.{suffix}")
    server, clock = serve(), FakeClock()
    files = [str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")]
    client = client_of(server, credentials=client_certificate(*files), clock=clock)

    get(client)
    (tmp_path / "..data_tmp").symlink_to("two")
    os.replace(tmp_path / "..data_tmp", tmp_path / "..data")
    clock.step(1.0)
    get(client)

    assert server.shown == ["alice", "bob"]


def test_an_authority_that_was_replaced_counts_after_a_second(serve, tmp_path):
    ca, clock = tmp_path / "ca.crt", FakeClock()
    ca.write_bytes(OTHER.certificate)
    client = client_of(serve(), TLSSettings(ca_file=str(ca)), clock=clock)
    assert "not trusted" in problem_of(client)

    ca.write_bytes(AUTHORITY.certificate + b"\n")
    clock.step(1.0)

    assert get(client)
