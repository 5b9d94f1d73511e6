"""Requests that go through a proxy: in plain, in a tunnel, with a password, and when it fails."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.rest import (
    ConnectionLostError,
    RestClient,
    RestConfig,
    TLSSettings,
    UnreachableError,
    bearer_token,
)
from clientgo.testing.scripted_server import ScriptedServer, answer_json
from clientgo.util.certificates import KeyPair, make_authority, make_serving_pair
from clientgo.util.clock import REAL_CLOCK
from tests.rest.http_proxy import HTTPProxy

PATH = "/api/v1/foos"
NOW = REAL_CLOCK.time()
DAY = 86400.0
AUTHORITY = make_authority("test", now=NOW, lifetime=DAY)
PAIR = make_serving_pair(AUTHORITY, ["127.0.0.1", "cluster.example"], now=NOW, lifetime=DAY)
CA = TLSSettings(ca_data=AUTHORITY.certificate.decode())


def server_context(pair: KeyPair, directory: Path) -> ssl.SSLContext:
    (directory / "pair.pem").write_bytes(pair.certificate + pair.private_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "pair.pem")
    return context


@pytest.fixture(name="server", params=["http", "https"])
def _server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ScriptedServer]:
    tls = server_context(PAIR, tmp_path) if request.param == "https" else None
    with ScriptedServer(tls=tls) as server:
        server.url = server.url.replace("localhost", "127.0.0.1")
        server.on(PATH, answer_json({"items": []}))
        yield server


def get(server: ScriptedServer, proxy: str, **config: object) -> bytes:
    options = {"tls": CA, **config}
    rest = RestConfig(server=server.url, proxy=proxy, **options)  # type: ignore[arg-type]
    client = RestClient(rest, api_path="/api/v1")
    try:
        return client.get().resource("foos").max_retries(0).do().body
    finally:
        client.close()


def first_line(server: ScriptedServer) -> str:
    """What the proxy is asked: TLS goes through a tunnel."""
    if server.url.startswith("https"):
        return f"CONNECT {server.url.partition('://')[2]}"
    return f"GET {server.url}{PATH}"


def test_a_proxy_forwards_plain_requests_and_tunnels_others(server):
    with HTTPProxy() as proxy:
        body = get(server, f"http://127.0.0.1:{proxy.port}", credentials=bearer_token("t"))

    assert body == b'{"items":[]}'
    assert proxy.seen == [first_line(server)]
    assert server.requests[0].headers["authorization"] == "Bearer t"


def test_the_user_and_password_of_a_proxy_are_sent_to_it_alone(server):
    with HTTPProxy(password="us er:p@ss:wörd") as proxy:
        userinfo = "us%20er:p%40ss:w%C3%B6rd"
        body = get(server, f"http://{userinfo}@127.0.0.1:{proxy.port}")

    assert body == b'{"items":[]}'
    if server.url.startswith("https"):
        assert "proxy-authorization" not in server.requests[0].headers


@pytest.mark.parametrize("userinfo", ["", "user:s3cret@"])
def test_a_proxy_that_wants_another_password_is_said_to_do_so(server, userinfo):
    with HTTPProxy(password="user:other") as proxy, pytest.raises(UnreachableError) as error:
        get(server, f"http://{userinfo}127.0.0.1:{proxy.port}")

    assert str(error.value).startswith(f"GET {server.url}{PATH}: the proxy failed: ")
    assert "407 Proxy Authentication Required; write the user name and password" in str(error.value)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    "certificate", [["127.0.0.1"], ["elsewhere.example"]], ids=["good", "for another name"]
)
def test_a_proxy_can_have_tls_itself(server, tmp_path, certificate):
    """As in Go, the cluster's authority is trusted for it; here the system's are too."""
    pair = make_serving_pair(AUTHORITY, certificate, now=NOW, lifetime=DAY)
    (tmp_path / "proxy").mkdir()
    with HTTPProxy(tls=server_context(pair, tmp_path / "proxy")) as proxy:
        url = f"https://127.0.0.1:{proxy.port}"
        if certificate == ["127.0.0.1"]:
            assert get(server, url) == b'{"items":[]}'
            assert proxy.seen == [first_line(server)]
        else:
            with pytest.raises(UnreachableError, match=r"the proxy failed: .*IP address mismatch"):
                get(server, url)
            assert proxy.seen == []


def test_the_server_name_is_not_expected_of_the_proxy(server, tmp_path):
    tls = TLSSettings(ca_data=CA.ca_data, server_name="cluster.example")
    pair = make_serving_pair(AUTHORITY, ["127.0.0.1"], now=NOW, lifetime=DAY)
    (tmp_path / "proxy").mkdir()
    with HTTPProxy(tls=server_context(pair, tmp_path / "proxy")) as proxy:
        assert get(server, f"https://127.0.0.1:{proxy.port}", tls=tls) == b'{"items":[]}'


@pytest.mark.parametrize("dies_after", [0, 20])
def test_a_proxy_that_dies_is_a_lost_connection(server, dies_after):
    with HTTPProxy(dies_after=dies_after) as proxy, pytest.raises(ConnectionLostError):
        get(server, f"http://127.0.0.1:{proxy.port}")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"])
def test_a_tunnel_that_cannot_be_dug_is_the_proxys_failure(tmp_path, answer):
    with HTTPProxy(answer=answer) as proxy, ScriptedServer() as server:
        server.url = "https://cluster.example"
        with pytest.raises(UnreachableError) as error:
            get(server, f"http://user:s3cret@127.0.0.1:{proxy.port}")

    assert str(error.value) == (
        "GET https://cluster.example/api/v1/foos: the proxy failed: Tunnel connection failed: "
        "502 Bad Gateway; check the proxy's URL, and whether the proxy may reach the server"
    )


def test_connections_through_a_proxy_are_kept(server):
    with HTTPProxy() as proxy:
        config = RestConfig(server=server.url, proxy=f"http://127.0.0.1:{proxy.port}", tls=CA)
        client = RestClient(config, api_path="/api/v1")
        for _ in range(3):
            client.get().resource("foos").do()
        client.close()

    assert server.connections == 1
