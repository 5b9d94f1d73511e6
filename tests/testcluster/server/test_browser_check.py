"""A page in a browser on the developer's machine can't use the server."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import CONFIGMAPS, configmap

PAGE = "http://localhost:3000"
PORT = 8001


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer(allow_hosts=["api.internal"], allow_origins=[PAGE]) as server:
        yield server


def ask(
    server: EmbeddedAPIServer,
    method: str = "GET",
    path: str = "/version",
    body: bytes | None = None,
    **headers: str,
) -> tuple[int, Any, http.client.HTTPMessage]:
    """Send exactly these headers; an underscore in a name is a hyphen."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    if body is not None:
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content else None, answer.headers


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost:8001", "LOCALHOST", "localhost.", "api.localhost:1"),
        *("127.0.0.1", "127.1.2.3:9", "[::1]", "[::1]:8001", "api.internal", "API.internal:1"),
        socket.gethostname(),
    ],
)
def test_the_names_of_the_server_are_answered(server: EmbeddedAPIServer, host: str) -> None:
    assert ask(server, host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example.com", "evil.example.com:8001", "localhost.example.com", "127.0.0.1.nip.io"),
        *("10.1.2.3", "[fd00::1]", "localhost@evil.example.com", "2130706433", "x", "[::1", ":80"),
    ],
)
@pytest.mark.parametrize("path", ["/version", "/readyz", CONFIGMAPS, "/clientgo/faults"])
def test_another_host_is_misdirected(server: EmbeddedAPIServer, host: str, path: str) -> None:
    """The name of a page that resolves to this machine: DNS rebinding."""
    status, body, _ = ask(server, path=path, host=host)

    assert status == 421
    assert (body["kind"], body["code"]) == ("Status", 421)
    assert "--allow-host" in body["message"]


def test_a_server_on_every_address_takes_any_address_but_no_other_name() -> None:
    with EmbeddedAPIServer("0.0.0.0", token="t", secure=True) as server:
        check = server._browser_check

    assert check.check([(b"host", b"192.168.7.7:8001")])
    with pytest.raises(Exception, match=r"evil\.example\.com"):
        check.check([(b"host", b"evil.example.com")])


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example.com"},
        {"origin": "null"},
        {"origin": "http://localhost:3001"},
        {"origin": "https://localhost:3000"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "http://evil.example.com", "sec_fetch_site": "same-origin"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", CONFIGMAPS), ("GET", "/readyz")])
def test_a_page_of_another_origin_is_refused(
    server: EmbeddedAPIServer, method: str, path: str, headers: dict[str, str]
) -> None:
    body = json.dumps(configmap("page")).encode() if method == "POST" else None

    status, answer, _ = ask(server, method, path, body, **headers)

    assert (status, answer["reason"]) == (403, "Forbidden")
    assert "--allow-origin" in answer["message"]
    assert ask(server, path=f"{CONFIGMAPS}/page")[0] == 404


def test_what_the_user_types_and_the_servers_own_origin_are_answered(
    server: EmbeddedAPIServer,
) -> None:
    """Clients of websockets send the server's own origin."""
    assert ask(server, sec_fetch_site="none")[0] == 200
    assert ask(server, sec_fetch_site="same-origin")[0] == 200
    assert ask(server, host="localhost:8001", origin="http://localhost:8001")[0] == 200


def test_a_page_of_an_allowed_origin_may_write_and_read(server: EmbeddedAPIServer) -> None:
    """As with --cors-allowed-origins of a real API server."""
    asked = {"origin": PAGE, "access_control_request_method": "POST"}
    status, _, headers = ask(server, "OPTIONS", CONFIGMAPS, **asked)
    assert status == 200
    assert "POST" in headers["access-control-allow-methods"]
    assert "Content-Type" in headers["access-control-allow-headers"]

    body = json.dumps(configmap("allowed")).encode()
    status, _, headers = ask(
        server, "POST", CONFIGMAPS, body,
        origin=PAGE, sec_fetch_site="same-site", content_type="application/json",
    )  # fmt: skip

    assert status == 201
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["vary"] == "Origin"


@pytest.mark.parametrize("headers", [{"origin": PAGE}, {"sec_fetch_site": "same-origin"}])
def test_a_browser_must_give_the_type_of_a_body(
    server: EmbeddedAPIServer, headers: dict[str, str]
) -> None:
    body = json.dumps(configmap("typeless")).encode()

    assert ask(server, "POST", CONFIGMAPS, body, **headers)[0] == 415


def test_a_program_need_not_give_the_type_of_a_body(server: EmbeddedAPIServer) -> None:
    """JSON is what a real API server assumes."""
    body = json.dumps(configmap("program")).encode()

    assert ask(server, "POST", CONFIGMAPS, body)[0] == 201


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"],
)
def test_types_that_need_no_preflight_are_refused(
    server: EmbeddedAPIServer, content_type: str
) -> None:
    body = json.dumps(configmap("form")).encode()

    assert ask(server, "POST", CONFIGMAPS, body, content_type=content_type)[0] == 415


@pytest.mark.parametrize("host", ["", "http://a", "a:1", "a/b", "two words"])
def test_a_host_that_is_none_is_not_allowed(host: str) -> None:
    with pytest.raises(ValueError, match="not a host"):
        EmbeddedAPIServer(allow_hosts=[host])


@pytest.mark.parametrize("origin", ["", "localhost:3000", "null", "*", "http://", "http://a/b"])
def test_an_origin_that_is_none_is_not_allowed(origin: str) -> None:
    with pytest.raises(ValueError, match="not an origin"):
        EmbeddedAPIServer(allow_origins=[origin])
