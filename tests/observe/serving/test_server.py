"""The server behind probes and scrapes."""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
from collections.abc import Generator, Iterator
from urllib.parse import urlsplit

import pytest

from clientgo.observe.serving import (
    Request,
    Response,
    Server,
    ServingError,
    connection,
    limited_reader,
)


def text(body: str) -> Response:
    return Response(200, body.encode())


def get(server: Server, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
def server() -> Iterator[Server]:
    def broken(_: Request) -> Response:
        raise ValueError("a bug")

    handlers = {
        "/healthz": lambda request: text(f"health of {request.rest or 'all'}"),
        "/healthz/deep": lambda request: text(f"deep {request.query}"),
        "/broken": broken,
    }
    with Server("127.0.0.1:0", handlers) as server:
        yield server


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/healthz", "health of all"),
        ("/healthz/", "health of all"),
        ("/healthz/a%20b", "health of a b"),
        ("/healthz/deep?x=1&x=2&y", "deep {'x': ['1', '2'], 'y': ['']}"),
    ],
)
def test_a_path_is_answered_by_its_handler(server: Server, path: str, body: str) -> None:
    assert get(server, path) == (200, body)


@pytest.mark.parametrize("path", ["/", "/healthzz", "/else"])
def test_any_other_path_is_not_found(server: Server, path: str) -> None:
    assert get(server, path)[0] == 404


def test_a_head_request_gets_no_body(server: Server) -> None:
    assert get(server, "/healthz", "HEAD") == (200, "")


def test_the_error_of_a_handler_is_logged_and_not_sent(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    assert get(server, "/broken") == (500, "internal server error\n")
    assert "a bug" in caplog.text


def test_a_slow_request_holds_up_no_other() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        asked.set()
        go_on.wait(30)
        return text("at last")

    handlers = {"/slow": slow, "/quick": lambda _: text("at once")}
    with Server("127.0.0.1:0", handlers) as server:
        answers: list[tuple[int, str]] = []
        thread = threading.Thread(target=lambda: answers.append(get(server, "/slow")))
        thread.start()
        assert asked.wait(30)
        assert get(server, "/quick") == (200, "at once")
        go_on.set()
    thread.join(30)
    assert answers == [(200, "at last")], "stop() waits for what is being answered"


def test_no_thread_is_left_and_the_port_is_free_again() -> None:
    before = set(threading.enumerate())
    with Server("127.0.0.1:0", {}) as server:
        address = urlsplit(server.url).netloc
        get(server, "/")
    with Server(address, {}):
        pass

    assert set(threading.enumerate()) == before


def test_without_a_host_it_listens_everywhere() -> None:
    with Server(":0", {"/a": lambda _: text("a")}) as server:
        assert get(server, "/a") == (200, "a")
        port = urlsplit(server.url).port
        if socket.has_dualstack_ipv6():
            with socket.create_connection(("::1", port or 0), timeout=30):
                pass


def test_an_address_that_is_taken_is_said() -> None:
    with Server("127.0.0.1:0", {}) as first:
        address = urlsplit(first.url).netloc
        second = Server(address, {}, name="probes")
        with pytest.raises(ServingError, match=f"probes: cannot listen on {address}: Address"):
            second.start()


@pytest.mark.parametrize("address", ["", "8080", "host", "host:", ":http", ":70000"])
def test_what_is_no_address_is_said_at_once(address: str) -> None:
    with pytest.raises(ServingError, match="HOST:PORT"):
        Server(address, {})


def test_starting_twice_is_an_error_and_stopping_twice_is_not() -> None:
    server = Server("127.0.0.1:0", {})
    with server, pytest.raises(RuntimeError, match="runs already"):
        server.start()
    server.stop()
    with pytest.raises(RuntimeError, match="does not run"):
        _ = server.url


def test_a_header_of_more_than_a_mebibyte_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-MGR-24"""
    assert limited_reader.MAX_HEADER == 1024 * 1024
    # So the server has read all that was sent before it refuses it, and does not reset.
    monkeypatch.setattr(limited_reader, "MAX_HEADER", 1024)
    with connection_to(server) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nX: %s\r\n" % (b"x" * 1024))
        assert b"431" in sock.recv(100)


def test_a_slow_header_ends_the_connection(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-MGR-24: the time is that of the whole header, not of each byte."""
    monkeypatch.setattr(connection, "HEADER_TIMEOUT", 0.2)
    with connection_to(server) as sock:
        sock.sendall(b"GET /")
        sock.settimeout(30)
        assert sock.recv(100) == b""


def connection_to(server: Server) -> socket.socket:
    return socket.create_connection(server.bound, timeout=30)


class Ticks:
    """A stream that gives its parts when the test lets it, and knows when it was closed."""

    def __init__(self) -> None:
        self.next = threading.Semaphore(0)
        self.closed = threading.Event()

    def respond(self, _: Request) -> Response:
        return Response(200, b"begin\n", "text/event-stream", self._parts())

    def _parts(self) -> Generator[bytes, None, None]:
        try:
            for number in itertools.count(1):
                assert self.next.acquire(timeout=30)
                yield f"part {number}\n".encode()
        finally:
            self.closed.set()


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


def stream(server: Server) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", "/ticks")
    return connection, connection.getresponse()


def test_each_part_of_a_stream_is_sent_when_it_is_there(ticks: Ticks) -> None:
    with Server("127.0.0.1:0", {"/ticks": ticks.respond}) as server:
        connection, answer = stream(server)

        assert answer.readline() == b"begin\n"
        ticks.next.release()
        assert answer.readline() == b"part 1\n"
        ticks.next.release()
        assert answer.readline() == b"part 2\n"
        connection.close()
        answer.close()
        ticks.next.release(100)


def test_a_stream_is_closed_when_its_client_has_gone(ticks: Ticks) -> None:
    with Server("127.0.0.1:0", {"/ticks": ticks.respond}) as server:
        connection, answer = stream(server)
        assert answer.readline() == b"begin\n"
        answer.close()
        connection.close()

        ticks.next.release(1000)

        assert ticks.closed.wait(30)


def test_a_stop_ends_a_stream_at_its_next_part(ticks: Ticks) -> None:
    server = Server("127.0.0.1:0", {"/ticks": ticks.respond})
    server.start()
    connection, answer = stream(server)
    assert answer.readline() == b"begin\n"
    stopping = threading.Thread(target=server.stop)
    stopping.start()

    ticks.next.release(1000)
    stopping.join(30)

    assert not stopping.is_alive()
    assert ticks.closed.is_set()
    answer.close()
    connection.close()
