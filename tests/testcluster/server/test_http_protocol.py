"""Connections: malformed HTTP, size limits, and slow clients."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.http import protocol
from clientgo.testcluster.server.http.messages import BODY_LIMIT
from clientgo.testcluster.server.http.protocol import Connections, HttpProtocol
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

SHORT = 0.5
"""Seconds of a time limit that a test waits for."""


@contextmanager
def connected(server: EmbeddedAPIServer, receive_buffer: int = 0) -> Iterator[socket.socket]:
    address = urlsplit(server.url)
    with socket.socket() as connection:
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(10)
        connection.connect((address.hostname, address.port))
        yield connection


def rest_of(connection: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    received = b""
    try:
        while chunk := connection.recv(1 << 16):
            received += chunk
    except ConnectionResetError:
        pass  # closed without a response
    return received


def answer_to(server: EmbeddedAPIServer, *parts: bytes) -> bytes:
    with connected(server) as connection:
        for part in parts:
            connection.sendall(part)
        return rest_of(connection)


# -- what is no HTTP


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /api/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/% HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n: no name\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"PUT / HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_malformed_http_gets_a_400_and_a_closed_connection(
    server: EmbeddedAPIServer, request_: bytes
) -> None:
    assert answer_to(server, request_).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("path", ["/api/v1/namespaces/a%00b", "/%00"])
def test_a_nul_in_a_path_is_a_character_like_others(api: Api, path: str) -> None:
    assert api.call("GET", path).status == 404


def test_an_object_whose_name_holds_a_nul_is_read_and_deleted(api: Api) -> None:
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    api.create(path, {"metadata": {"name": "a\0b"}, "spec": {}})

    assert api.get(f"{path}/a%00b")["metadata"]["name"] == "a\0b"
    assert api.call("DELETE", f"{path}/a%00b").status == 200


def test_of_a_header_that_comes_twice_the_first_counts(server: EmbeddedAPIServer) -> None:
    headers = b"Host: localhost\r\nConnection: close\r\nAccept: text/x\r\nAccept: */*\r\n"

    answer = answer_to(server, b"GET /api HTTP/1.1\r\n" + headers + b"\r\n")

    assert answer.startswith(b"HTTP/1.1 406 ")


def test_trailers_do_not_pass_for_headers() -> None:
    request = (
        b"PUT / HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\nAuthorization: Bearer sesame\r\n\r\n"
    )
    with EmbeddedAPIServer(token="sesame") as server:
        assert answer_to(server, request).startswith(b"HTTP/1.1 401 ")


def test_a_refusal_is_not_written_into_another_response(server: EmbeddedAPIServer) -> None:
    watch = f"GET {CONFIGMAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with connected(server) as connection:
        connection.sendall(watch)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        connection.sendall(b"nonsense\r\n\r\n")

        assert b"HTTP/1.1" not in rest_of(connection)


# -- too much


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"GET /", b"x"),
        (b"GET / HTTP/1.1\r\nX: ", b"y"),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"y"),
    ],
)
def test_a_head_beyond_the_limit_is_refused(
    server: EmbeddedAPIServer, start: bytes, more: bytes
) -> None:
    with connected(server) as connection:
        try:
            connection.sendall(start)
            for _ in range(64):
                connection.sendall(more * (65536 // len(more)))
        except (ConnectionResetError, BrokenPipeError):
            return  # closed while the request is still sent
        assert b" 431 " in rest_of(connection)


def test_a_long_head_within_the_limit_is_read(server: EmbeddedAPIServer) -> None:
    padding = b"y" * (protocol.HEAD_LIMIT - 1000)
    request = (
        b"GET /livez HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\nX: " + padding + b"\r\n\r\n"
    )

    assert answer_to(server, request).startswith(b"HTTP/1.1 200 ")


def test_a_body_at_the_limit_is_read_and_one_beyond_is_a_413(api: Api) -> None:
    size = BODY_LIMIT - len('{"metadata":{"name":"big"},"x":""}') - 6

    within = api.call("POST", CONFIGMAPS, {"metadata": {"name": "big"}, "x": "y" * size})
    beyond = api.call("POST", CONFIGMAPS, {"metadata": {"name": "big"}, "x": "y" * (size + 100)})

    assert within.status == 201
    assert (beyond.status, beyond.body["reason"]) == (413, "RequestEntityTooLarge")
    assert api.call("GET", CONFIGMAPS).status == 200  # the connection can still be used


def test_too_many_parameters_are_a_bad_request(api: Api) -> None:
    answer = api.call("GET", f"{CONFIGMAPS}?" + "a=b&" * 5000)

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


# -- slow and silent clients


def test_a_client_with_slow_headers_is_disconnected(
    server: EmbeddedAPIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", SHORT)
    started = time.monotonic()
    with connected(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        hung_up = False
        while not hung_up and time.monotonic() < started + 60:
            try:
                connection.sendall(b"X: y\r\n")  # never the same header for long, never the end
            except (ConnectionResetError, BrokenPipeError):
                hung_up = True

    assert hung_up


@pytest.mark.parametrize(
    ("constant", "said"),
    [
        ("HEAD_TIMEOUT", b""),
        ("HEAD_TIMEOUT", b"GET /api HTTP/1.1\r\nHo"),
        ("BODY_TIMEOUT", b"POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"),
        (
            "BODY_TIMEOUT",
            b"POST /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
    ],
)
def test_a_client_that_stops_within_a_request_is_disconnected(
    server: EmbeddedAPIServer, monkeypatch: pytest.MonkeyPatch, constant: str, said: bytes
) -> None:
    monkeypatch.setattr(protocol, constant, SHORT)

    with connected(server) as connection:
        connection.sendall(said)

        assert rest_of(connection) == b""


def test_a_client_that_does_not_read_its_response_is_disconnected(
    server: EmbeddedAPIServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "STALL_TIMEOUT", SHORT)
    for index in range(20):
        api.create(CONFIGMAPS, configmap(f"c{index}") | {"data": {"k": "x" * 500_000}})

    with connected(server, receive_buffer=4096) as connection:
        connection.sendall(f"GET {CONFIGMAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until_hung_up(connection)
        received = rest_of(connection)

    assert len(received) < 20 * 500_000


def wait_until_hung_up(connection: socket.socket) -> None:
    """Wait for the reset, without reading."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            connection.sendall(b"\r\n")
        except (ConnectionResetError, BrokenPipeError):
            return
        time.sleep(0.01)
    raise AssertionError("still connected")


class StillLoop:
    """An event loop whose time passes when a test says so."""

    def __init__(self) -> None:
        self._now = 0.0
        self._timers: list[asyncio.TimerHandle] = []

    def time(self) -> float:
        return self._now

    def call_at(self, due: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        self._timers.append(asyncio.TimerHandle(due, call, (), asyncio.get_running_loop()))
        return self._timers[-1]

    def pass_time(self, seconds: float) -> None:
        self._now += seconds
        due = [timer for timer in self._timers if timer.when() <= self._now]
        for timer in due:
            self._timers.remove(timer)
            timer._run()


class SlowClient(asyncio.Transport):
    """A connection to a client that has so many bytes left to read."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left
        self.is_aborted = False

    def get_write_buffer_size(self) -> int:
        return self.left

    def abort(self) -> None:
        self.is_aborted = True


async def no_application(_scope: object, _receive: object, _send: object) -> None:
    """Answer nothing."""


def test_a_client_that_reads_slowly_is_not_disconnected_until_it_stops() -> None:
    async def play() -> None:
        connection = HttpProtocol(Config(no_application, log_config=None), Connections(1))
        client, loop = SlowClient(left=1000), StillLoop()
        connection.loop = loop  # type: ignore[assignment]
        connection.transport = client
        connection.flow = FlowControl(client)

        connection.pause_writing()
        while client.left > 1:
            client.left -= 333
            loop.pass_time(protocol.STALL_TIMEOUT)
            assert not client.is_aborted

        loop.pass_time(protocol.STALL_TIMEOUT)
        assert client.is_aborted

    asyncio.run(play())


def test_an_idle_connection_outlasts_the_time_limits_of_requests(
    server: EmbeddedAPIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", SHORT)
    monkeypatch.setattr(protocol, "BODY_TIMEOUT", SHORT)
    with connected(server) as connection:
        for _ in range(2):
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while not connection.recv(1000).endswith(b"ok"):
                pass
            time.sleep(2 * SHORT)  # nothing happens, and nothing must


def test_a_connection_that_stays_idle_is_closed(
    server: EmbeddedAPIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "KEEP_ALIVE_TIMEOUT", SHORT)
    with connected(server) as connection, connection.makefile("rb") as received:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert received.read().endswith(b"ok")


def test_a_watch_outlasts_the_time_limits_of_requests(
    server: EmbeddedAPIServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for constant in ("HEAD_TIMEOUT", "BODY_TIMEOUT", "STALL_TIMEOUT"):
        monkeypatch.setattr(protocol, constant, SHORT)
    watch = api.watch(CONFIGMAPS)
    time.sleep(2 * SHORT)  # nothing happens, and nothing must

    api.create(CONFIGMAPS, configmap("a"))

    assert watch.next()["type"] == "ADDED"
    watch.close()


@pytest.mark.parametrize("length", [66_000, 900_000])
def test_a_long_query_is_read(api: Api, length: int) -> None:
    """The parser of HTTP takes URLs of 64 KiB."""
    values = ",".join(["b"] * (length // 2))
    answer = api.call("GET", f"{CONFIGMAPS}?limit=1&labelSelector=a in ({values})")

    assert (answer.status, answer.body["kind"]) == (200, "ConfigMapList")


def test_a_path_that_is_too_long_is_refused(server: EmbeddedAPIServer) -> None:
    request = b"GET /api/v1/" + b"x" * 66_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"

    assert answer_to(server, request).startswith(b"HTTP/1.1 400 ")
