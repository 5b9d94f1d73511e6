"""What stands between a client and its server: heads, bodies, certificates."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import msgspec
import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.rest import (
    Identity,
    RestClient,
    RestConfig,
    StaticCredentials,
    TLSSettings,
    client_certificate,
)
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import answer, answer_json, send
from clientgo.util.certificates import make_client_pair, make_serving_pair
from tests.field.collection import open_watch
from tests.field.informers import running_pod_informer
from tests.field.objects import NAMESPACE, added, keys, listing, pod
from tests.field.scenario import Field
from tests.tls_server import (
    AUTHORITY,
    DAY,
    NOW,
    SERVER,
    TLSServer,
    authority_without_key_usage,
)

HINTS = send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


def get(server: TLSServer, credentials: StaticCredentials | None = None, **tls: str) -> None:
    identity = credentials or StaticCredentials(Identity())
    config = RestConfig(server=server.url, tls=TLSSettings(**tls), credentials=identity)
    client = RestClient(config, api_path="/api/v1")
    client.get().resource("foos").do()
    client.close()


def test_early_hints_are_no_answer(field: Field):
    """FIELD-46: of a list, nor of a watch."""
    field.pods.on_list(HINTS + answer_json(listing(pod("a"))))
    field.pods.on_watch(HINTS + open_watch(added(pod("b", 11))))

    with running_pod_informer(field) as informer:
        field.until(
            lambda: set(informer.indexer.list_keys()) == keys("a", "b"), "an object is missing"
        )


def test_a_write_that_draws_many_warnings_is_carried_out(field: Field):
    """FIELD-47: a 201 is a success, however many headers it has."""
    headers = [("Warning", f'299 - "policy {number} is violated"') for number in range(2000)]
    field.server.on(PODS, answer_json(pod("a"), status=201, headers=headers))
    seen: list[str] = []
    config = RestConfig(server=field.server.url, warning_handler=seen.append)

    with Client(config) as client:
        created = client.resource(Pod).namespace(NAMESPACE).create(msgspec.convert(pod("a"), Pod))

    assert created.metadata.name == "a"
    assert seen == [f"policy {number} is violated" for number in range(2000)]


def test_a_compressed_list_that_is_cut_short_is_asked_for_again(field: Field):
    """FIELD-48: also where the cut is between two members, all of them are read."""
    body = msgspec.json.encode(listing(*(pod(f"pod-{number}") for number in range(50))))
    coding = [("Content-Encoding", "gzip")]
    cut = answer(body=gzip.compress(body)[:-300], headers=coding)
    members = answer(body=gzip.compress(body[:999]) + gzip.compress(body[999:]), headers=coding)
    field.pods.on_list(cut, members)
    field.pods.on_watch(open_watch())

    with running_pod_informer(field) as informer:
        field.until(lambda: informer.has_synced(), "the informer never synced")
        assert len(informer.indexer.list_keys()) == 50
    assert len(field.pods.lists) == 2


def test_an_authority_without_key_usage_is_trusted_by_every_python(tmp_path: Path):
    """FIELD-49."""
    authority = authority_without_key_usage(NOW, DAY)
    pair = make_serving_pair(authority, ["127.0.0.1"], now=NOW, lifetime=DAY)
    with TLSServer(pair, tmp_path) as server:
        get(server, ca_data=authority.certificate.decode())


def test_a_trusted_certificate_need_not_be_self_signed(tmp_path: Path):
    """FIELD-50: here it is the server's own."""
    with TLSServer(SERVER, tmp_path) as server:
        get(server, ca_data=SERVER.certificate.decode())


def test_certificates_from_data_are_never_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """FIELD-51: of the client and of the authority."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    alice = make_client_pair(AUTHORITY, "alice", now=NOW, lifetime=DAY)
    identity = Identity(cert_data=alice.certificate.decode(), key_data=alice.private_key.decode())
    with TLSServer(SERVER, tmp_path) as server:
        get(server, StaticCredentials(identity), ca_data=AUTHORITY.certificate.decode())

        assert server.shown == ["alice"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_certificate_that_is_half_replaced_changes_nothing_yet(tmp_path: Path):
    """FIELD-52."""
    pairs = [make_client_pair(AUTHORITY, name, now=NOW, lifetime=DAY) for name in ("one", "two")]
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes(pairs[0].certificate)
    key.write_bytes(pairs[0].private_key)
    clock = FakeClock()
    with TLSServer(SERVER, tmp_path) as server:
        config = RestConfig(
            server=server.url,
            tls=TLSSettings(ca_data=AUTHORITY.certificate.decode()),
            credentials=client_certificate(str(cert), str(key)),
            clock=clock,
        )
        client = RestClient(config, api_path="/api/v1")
        client.get().resource("foos").do()
        cert.write_bytes(pairs[1].certificate)
        clock.step(1.0)
        client.get().resource("foos").do()
        key.write_bytes(pairs[1].private_key)
        clock.step(1.0)
        client.get().resource("foos").do()
        client.close()

    assert server.shown == ["one", "one", "two"]
