from __future__ import annotations

import gc
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from clientgo.rest import RestClient, RestConfig
from clientgo.rest.transport.in_flight import FewTimeouts, InFlight, PlainSocket
from clientgo.testing.scripted_server import ScriptedServer, answer, answer_json

PATH = "/api/v1/foos"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def client_of(server: ScriptedServer) -> RestClient:
    return RestClient(RestConfig(server=server.url), api_path="/api/v1")


def test_an_abort_before_there_is_a_socket_cuts_it_off_as_soon_as_there_is_one():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.abort()
        request.attach(here)

        assert here.recv(1) == b""
        assert there.recv(1) == b""


def test_an_abort_ends_a_blocked_read():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)
        received: list[bytes] = []
        reader = threading.Thread(target=lambda: received.append(here.recv(1)))
        reader.start()

        request.abort()
        reader.join(30)

    assert received == [b""]


def test_after_its_release_an_abort_touches_nothing():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)
        assert request.release()
        assert not request.release()

        request.abort()
        there.sendall(b"x")

        assert here.recv(1) == b"x"


def test_the_stop_event_aborts_until_the_release():
    stop = threading.Event()
    request = InFlight(stop)
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)

        stop.set()

        assert here.recv(1) == b""
    assert request.aborted


def test_an_attached_socket_takes_timeouts():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)
        request.set_timeout(5.0)

        assert here.gettimeout() == 5.0
        request.release()
        request.set_timeout(1.0)
        assert here.gettimeout() == 5.0


def test_a_connection_keeps_its_duplicate_between_requests(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    gc.collect()
    recwarn.clear()  # sockets of earlier tests
    duplicated: list[int] = []
    duplicate = os.dup
    monkeypatch.setattr(os, "dup", lambda fd: duplicated.append(fd) or duplicate(fd))
    server.on(PATH, *[answer_json({})] * 3)
    client = client_of(server)
    for _ in range(3):
        client.get().resource("foos").do()

    assert len(duplicated) == 1
    client.close()
    gc.collect()
    assert [str(each.message) for each in recwarn if each.category is ResourceWarning] == []


def test_a_connection_that_was_not_to_be_kept_leaves_no_duplicate(server: ScriptedServer) -> None:
    server.on(PATH, answer(body=b"{}", headers=[("Connection", "close")]))
    client = client_of(server)
    client.get().resource("foos").do()

    # The server sees the end only if the duplicate is closed too.
    server.wait_for_open_connections(0, timeout=20)
    client.close()


def test_a_request_is_sent_in_one_piece(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece would be a packet, a TLS record and two system calls more."""
    pieces: list[bytes] = []

    def sendall(self: PlainSocket, data: bytes, *flags: int) -> None:
        pieces.append(data)
        super(PlainSocket, self).sendall(data, *flags)

    monkeypatch.setattr(PlainSocket, "sendall", sendall, raising=False)
    server.on(PATH, answer_json({}))
    client_of(server).post().resource("foos").body(b'{"a":1}').do()

    (piece,) = pieces
    assert piece.startswith(b"POST /api/v1/foos HTTP/1.1\r\n")
    assert piece.endswith(b'\r\n\r\n{"a":1}')


def test_a_body_that_is_read_once_is_sent_as_it_comes(server: ScriptedServer) -> None:
    server.on(PATH, answer_json({}))
    client_of(server).post().resource("foos").body(iter([b'{"a"', b":1}"])).do()

    (request,) = server.requests
    assert request.body == b'{"a":1}'


def test_a_timeout_that_stays_is_not_set_again() -> None:
    class Counted:
        calls = 0
        timeout: float | None = None

        def gettimeout(self) -> float | None:
            return self.timeout

        def settimeout(self, value: float | None) -> None:
            self.calls += 1
            self.timeout = value

    class Quiet(FewTimeouts, Counted):
        pass

    sock = Quiet()
    for value in (None, 30.0, 30.0, 90.0, 90.0, None):
        sock.settimeout(value)
        assert sock.timeout == value
    assert sock.calls == 3
