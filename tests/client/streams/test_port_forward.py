"""Connections to ports of pods, as streams and through a local port."""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import ResourceClient
from clientgo.client.streams import PortForwardError, port_forward
from clientgo.meta import NotFoundError
from clientgo.rest import ConnectionLostError, RequestStoppedError, TransportTimeoutError
from clientgo.testcluster.server import EmbeddedAPIServer, PodConnection, PodPrograms
from clientgo.testing.scripted_server import ScriptedServer, send
from tests.background import Background
from tests.client.streams.frames import PORT, V4, close, frame, message, switching

Pods = ResourceClient[Pod]
EVERY_BYTE = bytes(range(256)) * 4000


def echo(connection: PodConnection) -> None:
    if connection.port != 5432:
        raise ConnectionRefusedError("connect: connection refused")
    for data in iter(connection.read, b""):
        connection.write(data)


@pytest.fixture(autouse=True)
def _echo(server: EmbeddedAPIServer) -> None:
    server.provide_programs(PodPrograms(port=echo))


def exactly(sock: socket.socket, size: int) -> bytes:
    return sock.makefile("rb").read(size)


def test_a_stream_carries_bytes_both_ways(pods: Pods) -> None:
    with pods.open_port("web-0", 5432) as stream:
        stream.send(EVERY_BYTE)
        received = b""
        while len(received) < len(EVERY_BYTE):
            received += stream.receive(timeout=60)
        assert received == EVERY_BYTE
        with pytest.raises(TransportTimeoutError):
            stream.receive(timeout=0.01)


def test_a_stream_ends_when_the_pod_ends_it(server: EmbeddedAPIServer, pods: Pods) -> None:
    server.provide_programs(PodPrograms(port=lambda connection: connection.write("bye")))

    with pods.open_port("web-0", 80) as stream:
        assert stream.receive(timeout=60) == b"bye"
        assert stream.receive(timeout=60) == b""
        assert stream.receive(timeout=60) == b""


def test_what_the_pod_refuses_is_an_error_of_the_stream(pods: Pods) -> None:
    with pods.open_port("web-0", 81) as stream, pytest.raises(PortForwardError) as caught:
        stream.receive(timeout=60)
    assert "connection refused" in str(caught.value)
    assert isinstance(caught.value, ConnectionError)
    with pytest.raises(NotFoundError):
        pods.open_port("web-9", 5432)


def test_the_number_of_the_port_is_not_data(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    number = (5432).to_bytes(2, "little")
    pieces = (
        message(0, number[:1])
        + message(1, number)
        + message(0, number[1:] + b"first")
        + message(1, b"")
        + message(0, b"second")
        + close()
    )
    scripted.on(PORT, switching(send(pieces), protocol=V4))

    with scripted_pods.open_port("web-0", 5432) as stream:
        assert [*iter(stream.receive, b"")] == [b"first", b"second"]
    assert scripted.requests[0].query == {"ports": "5432"}
    assert scripted.requests[0].headers["sec-websocket-protocol"] == V4


def test_a_stop_ends_a_stream(pods: Pods) -> None:
    with pods.open_port("web-0", 5432) as stream:
        reading = Background(stream.receive)
        stream.stop()
        with pytest.raises(RequestStoppedError):
            reading.result()


def test_a_pod_that_is_lost_is_no_end_of_data(server: EmbeddedAPIServer, pods: Pods) -> None:
    def program(connection: PodConnection) -> None:
        connection.drop()
        connection.closed.wait()

    server.provide_programs(PodPrograms(port=program))
    with pods.open_port("web-0", 80) as stream, pytest.raises(ConnectionLostError):
        stream.receive(timeout=60)


def test_connections_to_a_local_port_reach_the_pod(pods: Pods) -> None:
    """STM-10."""
    with pods.port_forward("web-0", 5432) as forward:
        address = (forward.host, forward.local_port)
        clients = [socket.create_connection(address) for _ in range(5)]
        for number, client in enumerate(clients):
            client.sendall(b"client %d" % number)
        for number, client in enumerate(clients):
            with client:
                assert exactly(client, 8) == b"client %d" % number


def test_large_data_flows_both_ways_at_the_same_time(pods: Pods) -> None:
    data = EVERY_BYTE * 10
    with (
        pods.port_forward("web-0", 5432) as forward,
        socket.create_connection((forward.host, forward.local_port)) as client,
    ):
        sending = Background(lambda: client.sendall(data))
        assert exactly(client, len(data)) == data
        sending.result()


def test_a_client_that_has_sent_everything_gets_its_answer(
    server: EmbeddedAPIServer, pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as parts of it come before the quiet time is over."""
    monkeypatch.setattr(port_forward, "_QUIET_TIME", 1.0)
    half_closed = threading.Event()

    def program(connection: PodConnection) -> None:
        question = connection.read()
        assert half_closed.wait(60)
        for letter in question:
            connection.closed.wait(0.15)  # longer than the quiet time, all in all
            connection.write(bytes([letter]).upper())

    server.provide_programs(PodPrograms(port=program))
    with (
        pods.port_forward("web-0", 80) as forward,
        socket.create_connection((forward.host, forward.local_port)) as client,
    ):
        client.sendall(b"questions")
        client.shutdown(socket.SHUT_WR)
        half_closed.set()
        assert client.makefile("rb").read() == b"QUESTIONS"


def test_a_client_that_is_gone_ends_the_connection_to_the_pod(
    server: EmbeddedAPIServer, pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_forward, "_QUIET_TIME", 0.01)
    ended = threading.Event()

    def program(connection: PodConnection) -> None:
        connection.closed.wait()
        ended.set()

    server.provide_programs(PodPrograms(port=program))
    with pods.port_forward("web-0", 80) as forward:
        socket.create_connection((forward.host, forward.local_port)).close()
        assert ended.wait(60)


def test_a_client_that_breaks_off_is_not_waited_for(server: EmbeddedAPIServer, pods: Pods) -> None:
    """The pod takes no more, so the thread that sends to it waits."""
    ended = threading.Event()

    def program(connection: PodConnection) -> None:
        with contextlib.suppress(BrokenPipeError):
            while True:
                connection.write(bytes(100_000))
        ended.set()

    server.provide_programs(PodPrograms(port=program))
    with pods.port_forward("web-0", 80) as forward:
        client = socket.create_connection((forward.host, forward.local_port))
        client.settimeout(0.2)  # the buffers on the way are full
        with pytest.raises(TimeoutError):
            client.sendall(bytes(200_000_000))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        assert ended.wait(60)


def test_a_connection_that_fails_is_logged_and_closed_alone(
    server: EmbeddedAPIServer, pods: Pods, caplog: pytest.LogCaptureFixture
) -> None:
    """STM-10."""
    with pods.port_forward("web-0", 5432) as forward:
        address = (forward.host, forward.local_port)
        with socket.create_connection(address) as good:
            good.sendall(b"1")
            assert good.recv(1) == b"1"
            server.provide_programs(PodPrograms())
            with socket.create_connection(address) as bad:
                assert bad.recv(1) == b""
            good.sendall(b"2")
            assert good.recv(1) == b"2"
    [record] = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "portforward is not available" in record.getMessage()


@pytest.mark.parametrize("how", ["close", "event"])
def test_a_stop_ends_all_connections_and_threads(pods: Pods, how: str) -> None:
    """STM-05, STM-10."""
    stop = threading.Event()
    forward = pods.port_forward("web-0", 5432, stop=stop)
    address = (forward.host, forward.local_port)
    with forward, socket.create_connection(address) as client:
        client.sendall(b"1")
        assert client.recv(1) == b"1"
        if how == "event":
            stop.set()
        else:
            forward.close()
        assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


def test_a_client_that_reads_nothing_does_not_hold_up_the_end(
    server: EmbeddedAPIServer, pods: Pods
) -> None:
    """STM-05."""
    written = threading.Semaphore(0)

    def program(connection: PodConnection) -> None:
        with contextlib.suppress(BrokenPipeError):
            while True:
                connection.write(bytes(100_000))
                written.release()

    server.provide_programs(PodPrograms(port=program))
    forward = pods.port_forward("web-0", 80)
    with socket.create_connection((forward.host, forward.local_port)):
        while written.acquire(timeout=0.3):
            pass  # until the buffers on the way are full
        Background(forward.close).result(timeout=30)


def test_a_stop_ends_a_handshake_that_waits(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    gate = scripted.gate()
    scripted.on(PORT, gate.hold())
    with (
        scripted_pods.port_forward("web-0", 80) as forward,
        socket.create_connection((forward.host, forward.local_port)) as client,
    ):
        gate.wait_until_reached()
        forward.close()
        assert client.recv(1) == b""


def test_more_connections_than_the_limit_wait(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forward, "_MOST_CONNECTIONS", 1)
    monkeypatch.setattr(port_forward, "_QUIET_TIME", 0.0)
    with pods.port_forward("web-0", 5432) as forward:
        address = (forward.host, forward.local_port)
        first, second = (socket.create_connection(address) for _ in range(2))
        with second:
            with first:
                for client in (first, second):
                    client.sendall(b"1")
                assert first.recv(1) == b"1"
                second.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    second.recv(1)
            second.settimeout(60)
            assert second.recv(1) == b"1"


def test_a_stop_ends_the_wait_for_room(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forward, "_MOST_CONNECTIONS", 0)
    with (
        pods.port_forward("web-0", 5432) as forward,
        socket.create_connection((forward.host, forward.local_port)),
    ):
        forward.close()


def test_a_taken_local_port_is_an_error(pods: Pods) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        pods.port_forward("web-0", 80, local_port=taken.getsockname()[1])


def test_a_port_is_read_from_a_fragmented_message(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    parts: list[Any] = [frame(b"\x00\x38", last=False), frame(b"\x15da", 0, last=False)]
    scripted.on(PORT, switching(send(*parts, frame(b"ta", 0), close()), protocol=V4))

    with scripted_pods.open_port("web-0", 5432) as stream:
        assert b"".join(iter(stream.receive, b"")) == b"data"
