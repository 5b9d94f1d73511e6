"""Connections of a server: limits, TLS, and starting and stopping."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.observe.serving import Request, Response, Server, connection, listener
from tests.background import Background
from tests.operator.webhooks.caller import TLS, connect, read_to_end, trusting

MAX_BODY = 100_000


def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
    return context


class Serving:
    """A server that remembers its calls and answers each with the length of its body."""

    def __init__(self, max_connections: int = 8) -> None:
        self.calls: list[Request] = []
        self.proceed = threading.Event()
        self.proceed.set()
        self.entered = threading.Semaphore(0)
        self.server = Server(
            "127.0.0.1:0",
            {"/x": self.answer},
            name="webhook",
            tls=tls,
            methods=("POST",),
            max_body=MAX_BODY,
            max_connections=max_connections,
        )
        self.server.start()
        self.address = self.server.bound

    def answer(self, request: Request) -> Response:
        if request.rest == "exit":
            raise SystemExit(3)
        self.calls.append(request)
        self.entered.release()
        self.proceed.wait(30)
        return Response(200, str(len(request.body)).encode())


@pytest.fixture
def serving() -> Iterator[Serving]:
    serving = Serving()
    yield serving
    serving.proceed.set()
    assert serving.server.stop(60) == []


def request(content: bytes = b"{}", headers: str = "", path: str = "/x") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n{headers}\r\n"
    ).encode() + content


def test_a_connection_serves_one_request_after_the_other(serving: Serving) -> None:
    with connect(serving.address) as sock:
        for number in range(3):
            sock.sendall(request(b"x" * number))
            assert sock.recv(65536).endswith(b"\r\n\r\n" + str(number).encode())


def test_the_query_reaches_the_handler(serving: Serving) -> None:
    """OP-WHK-15"""
    with connect(serving.address) as sock:
        for query in ("?timeout=2500ms", ""):
            sock.sendall(request(path=f"/x{query}"))
            sock.recv(65536)

    assert [call.query for call in serving.calls] == [{"timeout": ["2500ms"]}, {}]


def test_a_body_that_is_too_large_is_read_to_its_end_and_not_kept(serving: Serving) -> None:
    """OP-WHK-08"""
    with connect(serving.address) as sock:
        sock.sendall(request(b"x" * MAX_BODY))
        read_to_end(sock)

    (call,) = serving.calls
    assert (call.is_too_large, call.body) == (True, b"")


def test_a_body_just_below_the_limit_is_read(serving: Serving) -> None:
    """OP-WHK-08"""
    with connect(serving.address) as sock:
        sock.sendall(request(b"x" * (MAX_BODY - 1)))
        assert sock.recv(65536).endswith(str(MAX_BODY - 1).encode())


@pytest.mark.parametrize(("lines", "calls"), [(17, 1), (20, 0)])
def test_a_header_of_more_than_a_mebibyte_is_refused(
    serving: Serving, lines: int, calls: int
) -> None:
    """OP-MGR-24"""
    line = f"X-Long: {'x' * 60000}\r\n"
    with connect(serving.address) as sock, contextlib.suppress(OSError):
        sock.sendall(request(headers=line * lines + "Connection: close\r\n"))
        read_to_end(sock)  # or it hangs up while we write

    assert len(serving.calls) == calls


def test_a_slow_header_ends_the_connection(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-MGR-24"""
    assert connection.HEADER_TIMEOUT == 32.0  # type: ignore[attr-defined]
    monkeypatch.setattr(connection, "HEADER_TIMEOUT", 0.05)
    with connect(serving.address) as sock:
        sock.sendall(b"POST /x HTTP/1.1\r\n")
        assert read_to_end(sock) == b""


def test_an_idle_connection_is_closed(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-MGR-24"""
    assert connection.IDLE_TIMEOUT == 90.0  # type: ignore[attr-defined]
    with connect(serving.address) as sock:
        monkeypatch.setattr(connection, "IDLE_TIMEOUT", 0.05)
        sock.sendall(request())
        assert read_to_end(sock).endswith(b"\r\n\r\n2")


@pytest.mark.parametrize("length", ["-1", "+1", "many", "1e3", "1_0", "", "\u00b2", "9" * 5000])
def test_a_length_that_is_none_is_a_bad_request(serving: Serving, length: str) -> None:
    """OP-WHK-08"""
    with connect(serving.address) as sock:
        sock.sendall(f"POST /x HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode("latin-1"))
        assert b" 400" in read_to_end(sock).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 0\r\nContent-Length: 2",
        "Content-Length: 2\r\nContent-Length: 2",
        "Content-Length: 2, 2",
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Content-Length : 2",
        "Content-Length: 2\r\nno header",
        " Content-Length: 2",
        ": 2",
    ],
)
def test_a_body_that_a_proxy_could_read_in_another_way_is_a_bad_request(
    serving: Serving, headers: str
) -> None:
    """What follows its headers would be another request."""
    with connect(serving.address) as sock:
        sock.sendall(f"POST /x HTTP/1.1\r\n{headers}\r\n\r\n{{}}".encode())
        assert b" 400" in read_to_end(sock).partition(b"\r\n")[0]
    assert serving.calls == []


def test_a_bad_request_is_not_logged_as_an_error(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(serving.address) as sock:
        sock.sendall(f"POST /x HTTP/1.1\r\nContent-Length: {'9' * 5000}\r\n\r\n".encode())
        read_to_end(sock)
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_a_body_without_a_length_is_taken_for_none_and_the_connection_ended(
    serving: Serving,
) -> None:
    """OP-WHK-08"""
    with connect(serving.address) as sock:
        sock.sendall(b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        assert read_to_end(sock).endswith(b"\r\n\r\n0")

    assert [call.body for call in serving.calls] == [b""]


def test_http_2_is_not_offered(serving: Serving) -> None:
    """OP-CRT-04"""
    context = trusting()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with connect(serving.address, context) as sock:
        assert sock.selected_alpn_protocol() is None


def test_plain_text_on_the_port_does_not_affect_other_clients(serving: Serving) -> None:
    with socket.create_connection(serving.address, timeout=30) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            read_to_end(sock)
    with connect(serving.address) as sock:
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_client_without_a_handshake_does_not_delay_others(serving: Serving) -> None:
    with socket.create_connection(serving.address), connect(serving.address) as sock:
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_at_the_limit_a_new_connection_waits_while_all_others_are_answered() -> None:
    serving = Serving(max_connections=1)
    serving.proceed.clear()
    with connect(serving.address) as first:
        first.sendall(request(headers="Connection: close\r\n"))
        assert serving.entered.acquire(timeout=30)
        second = Background(lambda: connect(serving.address))
        assert second.is_running
        serving.proceed.set()
        assert read_to_end(first).endswith(b"2")
    with second.result() as sock:
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
    assert serving.server.stop(60) == []


def test_slow_and_silent_clients_do_not_keep_others_out(serving: Serving) -> None:
    """OP-MGR-24: eight connections are the limit here."""
    with contextlib.ExitStack() as stack:
        for _ in range(24):
            slow = stack.enter_context(connect(serving.address))
            slow.sendall(b"POST /x HTTP/1.1\r\nX-Slow: ")
        for _ in range(24):
            stack.enter_context(socket.create_connection(serving.address))
        sock = stack.enter_context(connect(serving.address))
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_connection_that_was_used_outlives_those_that_never_called(serving: Serving) -> None:
    """OP-MGR-24: an API server uses its connections again."""
    with contextlib.ExitStack() as stack:
        sock = stack.enter_context(connect(serving.address))
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
        for _ in range(24):
            stack.enter_context(connect(serving.address))
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_call_that_fails_is_answered_and_the_connection_goes_on(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(serving.address) as sock:
        sock.sendall(request(path="/x/exit"))
        assert sock.recv(65536).startswith(b"HTTP/1.1 500")
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
    assert "webhook: POST /x/exit failed" in caplog.text


@pytest.mark.parametrize(
    ("line", "status"), [("GET /x", 405), ("BREW /x", 501), ("POST http://[x/", 400)]
)
def test_a_request_that_is_none_of_the_servers_is_refused(
    serving: Serving, line: str, status: int
) -> None:
    with connect(serving.address) as sock:
        sock.sendall(f"{line} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
        assert read_to_end(sock).startswith(f"HTTP/1.1 {status}".encode())


def test_a_client_that_expects_100_continue_gets_it(serving: Serving) -> None:
    with connect(serving.address) as sock:
        head, _, body = request(b"12345", "Expect: 100-continue\r\n").rpartition(b"\r\n\r\n")
        sock.sendall(head + b"\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 100 ")
        sock.sendall(body)
        assert sock.recv(65536).endswith(b"5")


def test_stop_lets_a_request_in_progress_be_answered(serving: Serving) -> None:
    """OP-WHK-01"""
    serving.proceed.clear()
    with connect(serving.address) as sock:
        sock.sendall(request())
        assert serving.entered.acquire(timeout=30)
        stopping = Background(lambda: serving.server.stop(60))
        assert stopping.is_running
        serving.proceed.set()
        answer = read_to_end(sock)
    assert b"Connection: close" in answer
    assert answer.endswith(b"2")
    assert stopping.result() == []


def test_stop_names_what_has_not_ended_in_its_time(serving: Serving) -> None:
    """OP-WHK-01"""
    serving.proceed.clear()
    with connect(serving.address) as sock:
        sock.sendall(request())
        assert serving.entered.acquire(timeout=30)
        assert serving.server.stop(0) == ["webhook-connection-1"]
        serving.proceed.set()
        read_to_end(sock)


def test_stop_ends_idle_connections_and_unfinished_handshakes_at_once(serving: Serving) -> None:
    """OP-WHK-01"""
    before = threading.active_count()
    with connect(serving.address), socket.create_connection(serving.address):
        assert serving.server.stop(60) == []
    assert threading.active_count() < before + 2
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(serving.address)


@pytest.mark.parametrize(
    ("owner", "method", "error"),
    [
        (socket.socket, "accept", OSError("too many open files")),
        (threading.Thread, "start", RuntimeError("can't start new thread")),
    ],
)
def test_a_connection_that_cannot_be_taken_does_not_end_the_server(
    serving: Serving,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method: str,
    error: Exception,
) -> None:
    """OP-MGR-18"""
    works = getattr(owner, method)
    failed = threading.Event()

    def fail_once(self: Any) -> Any:
        if failed.is_set():
            return works(self)
        failed.set()
        raise error

    monkeypatch.setattr(listener, "_PAUSE", 0.001)
    monkeypatch.setattr(owner, method, fail_once)
    with contextlib.suppress(OSError), socket.create_connection(serving.address) as lost:
        assert failed.wait(30)
        lost.close()

    with connect(serving.address) as sock:
        sock.sendall(request())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_without_files_an_idle_connection_is_replaced_and_that_is_logged_once(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Idle clients could take them all; ten lines a second would be logged until they go."""
    accept = socket.socket.accept
    freed = threading.Event()

    def accept_if_freed(self: socket.socket) -> Any:
        if not freed.is_set():
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(self)

    monkeypatch.setattr(listener, "_PAUSE", 0.001)
    with connect(serving.address) as idle:
        monkeypatch.setattr(socket.socket, "accept", accept_if_freed)
        with contextlib.ExitStack() as stack:
            waiting = stack.enter_context(socket.create_connection(serving.address, timeout=30))
            assert read_to_end(idle) == b""
            freed.set()

            sock = stack.enter_context(trusting().wrap_socket(waiting, server_hostname="127.0.0.1"))
            sock.sendall(request())
            assert sock.recv(65536).startswith(b"HTTP/1.1 200")

    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "Too many open files" in warnings[0]
