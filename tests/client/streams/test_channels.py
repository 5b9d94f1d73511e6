"""The WebSocket below streams: handshakes, frames, pings, and servers that end without a word."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client, ResourceClient
from clientgo.client.streams import channels, remote_command
from clientgo.meta import ForbiddenError, StatusError, UnauthorizedError
from clientgo.rest import (
    ConnectionLostError,
    Identity,
    Impersonation,
    RestConfig,
    TLSSettings,
    TransportError,
    TransportTimeoutError,
)
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    answer_status,
    hang_up,
    reset,
    send,
    stay_silent,
)
from tests.client.streams.frames import (
    BINARY,
    CONTINUATION,
    EXEC,
    PING,
    PONG,
    V4,
    V5,
    Received,
    close,
    exit_status,
    frame,
    message,
    switching,
)
from tests.rest.http_proxy import HTTPProxy
from tests.tls_server import AUTHORITY, SERVER

Pods = ResourceClient[Pod]


def test_the_handshake_offers_v5_before_v4(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    scripted.on(EXEC, switching(send(message(1, "hi"), exit_status(), close())))

    assert scripted_pods.exec("web-0", ["a", "b"], container="c").stdout == b"hi"

    [request] = scripted.requests
    assert request.method == "GET"
    assert request.headers["sec-websocket-protocol"] == f"{V5}, {V4}"
    assert {**request.query, "command": "b"} == {
        "command": "b",
        "container": "c",
        "stdin": "false",
        "stdout": "true",
        "stderr": "true",
        "tty": "false",
    }


def test_an_upgraded_connection_is_not_used_again(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    scripted.on(EXEC, switching(send(exit_status(), close()), stay_silent()))

    scripted_pods.exec("web-0", ["a"])
    scripted_pods.exec("web-0", ["a"])

    assert scripted.connections == 2
    scripted.wait_for_open_connections(0)


def test_frames_that_come_with_the_head_are_not_lost(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    together = message(1, "early") + exit_status() + close()
    scripted.on(EXEC, switching(stay_silent(), together=together))

    assert scripted_pods.exec("web-0", ["a"], timeout=60).stdout == b"early"


def test_characters_frames_and_packets_may_be_split_anywhere(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    """STM-07."""
    whole = (
        message(1, "é".encode()[:1])
        + message(1, b"")  # a server's greeting
        + message(2, "ü")
        + message(1, "é".encode()[1:])
        + frame(b"\x01frag", BINARY, last=False)
        + frame(b"", PING)
        + frame(b"ment", CONTINUATION)
        + message(9, "a channel of a newer protocol")
        + exit_status(7)
        + close()
    )
    bytewise = [whole[place : place + 1] for place in range(len(whole))]
    scripted.on(EXEC, switching(send(*bytewise)))

    result = scripted_pods.exec("web-0", ["a"])

    assert result.stdout.decode() == "éfragment"
    assert result.stderr.decode() == "ü"
    assert result.exit_code == 7


def test_a_large_message_is_read(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    data = bytes(range(256)) * 40_000
    scripted.on(EXEC, switching(send(message(1, data), exit_status(), close())))

    assert scripted_pods.exec("web-0", ["a"]).stdout == data


def test_pings_are_answered(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    received = Received()
    scripted.on(
        EXEC,
        switching(send(frame(b"alive?", PING)), [received.next], send(exit_status(), close())),
    )

    scripted_pods.exec("web-0", ["a"], timeout=60)

    assert received.frames == [(PONG, b"alive?")]


def test_a_silent_server_gets_pings(
    scripted: ScriptedServer, scripted_pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STM-08."""
    monkeypatch.setattr(channels, "_PING_PERIOD", 0.01)
    received = Received()
    steps = [received.next, received.next]
    scripted.on(EXEC, switching(steps, send(exit_status(), close())))

    scripted_pods.exec("web-0", ["a"], timeout=60)

    assert received.frames == [(PING, b"")] * 2


def test_a_server_that_answers_no_pings_is_lost(
    scripted: ScriptedServer, scripted_pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STM-08."""
    monkeypatch.setattr(channels, "_PING_PERIOD", 0.01)
    monkeypatch.setattr(channels, "_LONGEST_SILENCE", 0.05)
    scripted.on(EXEC, switching(stay_silent()))

    with pytest.raises(TransportTimeoutError, match="no longer answers pings"):
        scripted_pods.exec("web-0", ["a"])


def test_a_server_may_be_silent_while_a_container_does_not_read_its_input(
    scripted: ScriptedServer, scripted_pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STM-08."""
    monkeypatch.setattr(channels, "_PING_PERIOD", 0.01)
    monkeypatch.setattr(channels, "_LONGEST_SILENCE", 0.02)
    received = Received()
    # The input and its end, then more pings than a silent server gets.
    steps = [received.next] * 8
    scripted.on(EXEC, switching(steps, send(exit_status(), close())))

    assert scripted_pods.exec("web-0", ["a"], stdin=b"in", timeout=60).exit_code == 0
    assert received.frames[:2] == [(BINARY, b"\x00in"), (BINARY, b"\xff\x00")]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (send(message(1, "x"), close()), "did not say how the command ended; it may have run"),
        (send(message(1, "x")) + hang_up(), "ended without a close"),
        (send(message(1, "x")) + reset(), "connection was lost"),
        (send(message(1, "x")[:-1]) + hang_up(), "ended without a close"),
        (send(close(1011, "container is gone")), "1011 container is gone"),
        (send(b"\xff\xff\xff\xff"), "ended without a close"),
        (send(message(3, '{"status":"Suc'), close()), r"did not say .*\(b'{\"status\":\"Suc'\)"),
    ],
)
def test_an_end_without_a_status_is_an_error(
    scripted: ScriptedServer, scripted_pods: Pods, steps: Any, said: str
) -> None:
    """STM-02."""
    scripted.on(EXEC, switching(steps))

    with pytest.raises(ConnectionLostError, match=said):
        scripted_pods.exec("web-0", ["a"], timeout=60)


@pytest.mark.parametrize("end", [hang_up(), reset(), send(close(1011))])
def test_after_the_status_any_end_is_good(
    scripted: ScriptedServer, scripted_pods: Pods, end: Any
) -> None:
    gate = scripted.gate()
    scripted.on(EXEC, switching(send(message(1, "x"), exit_status(5)), gate.hold(), end))

    with scripted_pods.start_exec("web-0", ["a"]) as running:
        assert running.read() == ("stdout", b"x")
        gate.open()
        assert running.read() is None
        assert running.exit_code == 5


@pytest.mark.parametrize("stdin", [None, itertools.repeat(b"more")])
def test_a_server_that_does_not_close_after_the_status_is_not_waited_for(
    scripted: ScriptedServer, scripted_pods: Pods, monkeypatch: pytest.MonkeyPatch, stdin: Any
) -> None:
    monkeypatch.setattr(remote_command, "_LAST_WORDS", 0.01)
    scripted.on(EXEC, switching(send(exit_status(5)), stay_silent()))

    assert scripted_pods.exec("web-0", ["a"], stdin=stdin).exit_code == 5


def test_a_timeout_holds_for_output_that_is_there_already(scripted: ScriptedServer) -> None:
    """STM-05."""
    clock = FakeClock()

    class Slow(BytesIO):
        def write(self, data: Any, /) -> int:
            clock.step(60)
            return super().write(data)

    together = message(1, "x") * 3 + exit_status() + close()
    scripted.on(EXEC, switching(stay_silent(), together=together))
    out = Slow()

    with Client(RestConfig(server=scripted.url, clock=clock)) as client:
        pods = client.resource(Pod).namespace("default")
        with pytest.raises(TransportTimeoutError, match="within 30 s; it may go on"):
            pods.exec("web-0", ["a"], stdout=out, timeout=30)
    assert out.getvalue() == b"x"


def test_a_status_without_an_exit_code_is_an_error(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    failure = '{"status":"Failure","reason":"NonZeroExitCode","message":"it failed"}'
    scripted.on(EXEC, switching(send(message(3, failure), close())))

    with pytest.raises(StatusError, match="it failed"):
        scripted_pods.exec("web-0", ["a"])


def test_a_server_without_v5_runs_commands_but_cannot_end_their_input(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    """STM-03."""
    received = Received()
    scripted.on(
        EXEC, switching([received.next], send(message(1, "x"), exit_status(), close()), protocol=V4)
    )
    with scripted_pods.start_exec("web-0", ["a"], stdin=True) as running:
        running.write(b"line\n")
        assert running.read() == ("stdout", b"x")
    assert received.frames == [(BINARY, b"\x00line\n")]

    with pytest.raises(TransportError, match="which cannot end the input"):
        scripted_pods.exec("web-0", ["a"], stdin=b"everything")


@pytest.mark.parametrize("protocol", ["", "base64.channel.k8s.io"])
def test_another_protocol_is_refused(
    scripted: ScriptedServer, scripted_pods: Pods, protocol: str
) -> None:
    scripted.on(EXEC, switching(stay_silent(), protocol=protocol))

    with pytest.raises(TransportError, match="is it a Kubernetes API server"):
        scripted_pods.exec("web-0", ["a"])
    scripted.wait_for_open_connections(0)


def test_a_gateway_that_does_not_switch_is_named(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    scripted.on(EXEC, answer(200, b"<html>hello</html>", content_type="text/html"))

    with pytest.raises(TransportError, match=r"HTTP 200 came in place of 101 .*Upgrade header"):
        scripted_pods.exec("web-0", ["a"])


def test_a_refused_handshake_is_the_error_of_its_status(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    """STM-06."""
    scripted.on(EXEC, answer_status(403, "Forbidden", 'pods "web-0" is forbidden: no exec here'))

    with pytest.raises(ForbiddenError, match=r"no exec here \(GET .*pods/web-0/exec\)"):
        scripted_pods.exec("web-0", ["a"])


class RenewedToken:
    """Credentials that a 401 renews once."""

    def __init__(self) -> None:
        self.token = "old"

    def current(self, stop: threading.Event | None = None) -> Identity:
        return Identity(authorization=f"Bearer {self.token}")

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        self.token, before = "new", self.token
        return before == "old"


def test_credentials_impersonation_and_renewal_are_those_of_every_request(
    scripted: ScriptedServer,
) -> None:
    """STM-06."""
    refusal = answer_status(401, "Unauthorized")
    scripted.on(EXEC, refusal, switching(send(exit_status(), close())), refusal)
    config = RestConfig(
        server=scripted.url, credentials=RenewedToken(), impersonate=Impersonation(user="eve")
    )

    with Client(config) as client:
        pods = client.resource(Pod).namespace("default")
        assert pods.exec("web-0", ["a"]).exit_code == 0
        with pytest.raises(UnauthorizedError):
            pods.exec("web-0", ["a"])

    sent = [
        (each.headers["authorization"][7:], each.headers["impersonate-user"])
        for each in scripted.requests
    ]
    assert sent == [("old", "eve"), ("new", "eve"), ("new", "eve")]


@pytest.mark.parametrize("secure_proxy", [False, True])
def test_a_stream_goes_through_the_proxy_with_tls(tmp_path: Path, secure_proxy: bool) -> None:
    """STM-06."""
    from tests.rest.test_through_proxies import server_context

    context = server_context(SERVER, tmp_path)
    proxy_tls = context if secure_proxy else None
    with ScriptedServer(tls=context) as server, HTTPProxy(tls=proxy_tls) as proxy:
        server.on(EXEC, switching(send(message(1, "x" * 100_000), exit_status(), close())))
        config = RestConfig(
            server=server.url.replace("localhost", "127.0.0.1"),
            proxy=f"http{'s' if secure_proxy else ''}://127.0.0.1:{proxy.port}",
            tls=TLSSettings(ca_data=AUTHORITY.certificate.decode()),
        )
        with Client(config) as client:
            pods = client.resource(Pod).namespace("default")
            if secure_proxy:
                with pytest.raises(TransportError, match="use an http:// proxy"):
                    pods.exec("web-0", ["a"])
            else:
                assert len(pods.exec("web-0", ["a"]).stdout) == 100_000
        assert proxy.seen == [f"CONNECT 127.0.0.1:{server.port}"]


def test_without_the_extra_the_error_names_it() -> None:
    program = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "websockets":
            raise ModuleNotFoundError("No module named 'websockets'", name=name)

sys.meta_path.insert(0, Missing())
from clientgo.api.core_v1 import Pod
from clientgo.client import Client
pods = Client("http://127.0.0.1:9").resource(Pod).namespace("default")
try:
    pods.exec("web-0", ["a"])
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == (
        "a stream to a pod needs the package websockets: pip install 'clientgo[stream]'\n"
    ), done.stderr


def test_a_program_without_streams_does_not_import_them() -> None:
    program = "import clientgo.client, sys; print([m for m in sys.modules if 'streams.' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "[]\n", done.stderr
