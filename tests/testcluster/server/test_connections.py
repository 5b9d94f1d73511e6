"""How many connections the server has, and which one is closed for another."""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.http import acceptor
from tests.testcluster.server.http_api import CONFIGMAPS

_REQUEST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
_WATCH = b"GET %b?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n" % CONFIGMAPS.encode()


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        yield connection


def send(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(1 << 16)


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server closes the connection."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def assert_served(connection: socket.socket) -> None:
    assert send(connection, _REQUEST).startswith(b"HTTP/1.1 200")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAPIServer]:
    """A server that takes two connections."""
    monkeypatch.setattr(acceptor, "connection_limit", lambda: 2)
    monkeypatch.setattr("clientgo.testcluster.server.http.server.connection_limit", lambda: 2)
    with EmbeddedAPIServer() as server:
        yield server


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET /livez HTT",
        b"POST /apis HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_at_the_limit_what_waits_for_a_request_is_replaced(
    server: EmbeddedAPIServer, begin: bytes
) -> None:
    with connected(server.url) as idle, connected(server.url) as served:
        idle.sendall(begin)
        assert_served(served)

        with connected(server.url) as new:
            assert_served(new)

            assert is_closed(idle)
            assert_served(served)


def test_of_clients_that_have_called_the_one_that_is_idle_longest_is_replaced(
    server: EmbeddedAPIServer,
) -> None:
    with connected(server.url) as first, connected(server.url) as second:
        for connection in (first, second, first):
            assert_served(connection)

        with connected(server.url) as new:
            assert_served(new)

            assert is_closed(second)
            assert_served(first)


def test_what_is_answered_is_not_replaced(server: EmbeddedAPIServer) -> None:
    with connected(server.url) as watch, connected(server.url) as other:
        assert send(watch, _WATCH).startswith(b"HTTP/1.1 200")
        assert send(other, _WATCH).startswith(b"HTTP/1.1 200")

        with connected(server.url) as refused, refused.makefile("rb") as answer:
            content = answer.read()
            assert content.startswith(b"HTTP/1.1 503 Service Unavailable")
            assert content.endswith(b"too many connections: the limit is 2")

        other.close()
        while not _is_served(server):
            pass
        watch.setblocking(False)
        with pytest.raises(BlockingIOError):
            watch.recv(1)


def _is_served(server: EmbeddedAPIServer) -> bool:
    """Return False while the server has not noticed the end of another connection."""
    with connected(server.url) as connection:
        try:
            return send(connection, _REQUEST).startswith(b"HTTP/1.1 200")
        except ConnectionResetError:
            return False


def test_a_connection_without_a_handshake_counts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a client that never begins TLS, the protocol knows nothing."""
    monkeypatch.setattr("clientgo.testcluster.server.http.server.connection_limit", lambda: 2)
    with EmbeddedAPIServer(secure=True) as server, ExitStack() as stack:
        idle = [stack.enter_context(connected(server.url)) for _ in range(40)]

        assert all(is_closed(connection) for connection in idle[:-2])

    messages = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message.partition(";")[0] for message in messages] == [
        "the limit of 2 connections is reached"
    ]


def test_without_files_an_idle_connection_is_replaced_and_that_is_logged_once(
    server: EmbeddedAPIServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio's own server logs a traceback for each of 2,048 attempts."""
    accept = socket.socket.accept
    freed = threading.Event()

    def accept_if_freed(self: socket.socket) -> Any:
        if not freed.is_set():
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(self)

    monkeypatch.setattr(acceptor, "_PAUSE", 0.001)
    with connected(server.url) as idle:
        assert_served(idle)
        monkeypatch.setattr(socket.socket, "accept", accept_if_freed)
        with connected(server.url) as new:
            assert is_closed(idle)
            freed.set()
            assert_served(new)

    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "Too many open files" in warnings[0]


@pytest.mark.parametrize(("left", "limit"), [(10**9, 1000), (256, 192), (70, 16), (0, 16)])
def test_the_limit_is_below_that_of_open_files(
    monkeypatch: pytest.MonkeyPatch, left: int, limit: int
) -> None:
    monkeypatch.setattr(acceptor, "files_left", lambda: left)
    assert acceptor.connection_limit() == limit


def test_few_open_files_and_an_unread_stderr_do_not_stop_the_program() -> None:
    """SIGTERM ends it, though no one reads its log."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    limited = ["sh", "-c", 'ulimit -n 120 && exec "$@"', "sh"]
    command = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]
    with (
        subprocess.Popen(
            [*limited, *command, "--insecure-loopback"],
            stdout=subprocess.PIPE,
            stderr=writer,
            text=True,
        ) as program,
        ExitStack() as stack,
    ):
        stack.callback(program.kill)
        assert program.stdout is not None
        found = re.search(r"listens on (\S+)\. ", program.stdout.readline())
        assert found is not None
        for _ in range(150):
            stack.enter_context(connected(found[1]))

        with connected(found[1]) as connection:
            assert_served(connection)

        program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=60) == 0
    os.close(reader)
    os.close(writer)
