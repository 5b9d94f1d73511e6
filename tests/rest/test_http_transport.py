"""Connections: kept, secured, rotated, cut off."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clientgo.rest import (
    CredentialsError,
    Identity,
    RequestStoppedError,
    RestClient,
    RestConfig,
    ServerRefusedError,
    StaticCredentials,
    TLSError,
    TLSSettings,
    TransportError,
    TransportTimeoutError,
    UnreachableError,
    basic_auth,
    bearer_token,
    client_certificate,
)
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    hang_up,
    send,
    stay_silent,
)
from tests.background import Background

TLS = Path(__file__).parent.parent / "data" / "tls"
PATH = "/api/v1/foos"


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on(PATH, answer_json({"items": []}))
        yield server


@pytest.fixture(name="secure_server")
def _secure_server() -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
    context.load_verify_locations(TLS / "ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    with ScriptedServer(tls=context) as server:
        server.on(PATH, answer_json({"items": []}))
        yield server


def client_of(server: ScriptedServer, **config: Any) -> RestClient:
    return RestClient(RestConfig(server=server.url, **config), api_path="/api/v1")


def get(client: RestClient, stop: threading.Event | None = None) -> bytes:
    return client.get().resource("foos").do(stop).body


def assert_that_a_stop_ends(act: Callable[[threading.Event], object]) -> None:
    """Run ``act(stop)``, which nothing else ends; set ``stop`` once it blocks."""
    stop = threading.Event()
    call = Background(lambda: act(stop))
    threading.Event().wait(0.05)
    stop.set()
    with pytest.raises(RequestStoppedError):
        call.result()


def test_one_connection_serves_many_requests(server):
    client = client_of(server)

    for _ in range(5):
        assert get(client) == b'{"items":[]}'

    assert server.connections == 1


def test_a_server_may_be_written_in_capitals_and_have_a_path(server):
    server.on("/prefix/api", answer_json({}))
    url = f"{server.url.replace('http', 'HTTP')}/prefix"

    RestClient(RestConfig(server=url)).get().absolute_path("/api").do_raw()

    assert [request.path for request in server.requests] == ["/prefix/api"]


def test_refused_answers_leave_the_connection_usable(server):
    server.on(PATH, answer_status(404, "NotFound"), answer(204), answer_json({}))
    client = client_of(server)

    with pytest.raises(Exception, match="scripted"):
        get(client)
    get(client)
    get(client)

    assert server.connections == 1


def test_close_closes_idle_connections_and_the_client_can_go_on(server):
    client = client_of(server)
    get(client)

    client.close()
    server.wait_for_open_connections(0)

    assert get(client) == b'{"items":[]}'


def test_gzip_is_offered_and_undone(server):
    import gzip

    body = gzip.compress(b'{"items": [1]}')
    server.on(PATH, answer(body=body, headers=[("Content-Encoding", "gzip")]))

    assert get(client_of(server)) == b'{"items": [1]}'
    assert server.requests[0].headers["accept-encoding"] == "gzip"


def test_compression_can_be_declined(server):
    get(client_of(server, disable_compression=True))

    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("credentials", "sent"),
    [(bearer_token("t"), "Bearer t"), (basic_auth("u", "p"), "Basic dTpw")],
)
def test_credentials_are_sent(server, credentials, sent):
    get(client_of(server, credentials=credentials))

    assert server.requests[0].headers["authorization"] == sent


@pytest.mark.parametrize("token", ["s3cret\n", "s3cret\r\nX-Evil: 1", "s3crét", "s3cret\0"])
def test_credentials_that_no_header_can_hold_are_refused_and_not_shown(server, token):
    with pytest.raises(CredentialsError, match="check the token, or its file") as error:
        get(client_of(server, credentials=bearer_token(token)))

    assert "s3c" not in str(error.value)
    assert error.value.__context__ is None
    assert server.requests == []


def test_a_warning_says_once_that_credentials_go_unencrypted(server, caplog):
    """client-go sends them too; kubectl drops those of a kubeconfig."""
    config = RestConfig(
        server="http://cluster.example", proxy=server.url, credentials=bearer_token("s3cret")
    )
    client = RestClient(config, api_path="/api/v1")
    get(client)
    get(client)
    get(client_of(server, credentials=bearer_token("s3cret")))

    assert [record.getMessage() for record in caplog.records] == [
        "Credentials go unencrypted to http://cluster.example; use https://"
    ]
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer s3cret"}


class RotatingCredentials:
    """Tokens t1, t2, ...; the next one after each refusal."""

    def __init__(self, last: int) -> None:
        self.number = 1
        self.last = last

    def current(self, stop: threading.Event | None = None) -> Identity:
        return Identity(authorization=f"Bearer t{self.number}")

    def renew(self, refused: Identity, stop: threading.Event | None = None) -> bool:
        if self.number == self.last:
            return False
        self.number += 1
        return True


def test_a_token_that_expired_is_renewed_without_the_caller_noticing(server):
    """Issue: credentials that rotate while watches run."""
    server.on(PATH, answer_status(401, "Unauthorized"), answer_json({}))

    assert get(client_of(server, credentials=RotatingCredentials(last=2))) == b"{}"
    assert [r.headers["authorization"] for r in server.requests] == ["Bearer t1", "Bearer t2"]


def test_a_refusal_of_the_renewed_token_is_the_answer(server):
    server.on(PATH, answer_status(401, "Unauthorized"))

    with pytest.raises(Exception, match="check the credentials"):
        get(client_of(server, credentials=RotatingCredentials(last=9)))
    assert len(server.requests) == 2


def test_a_body_that_can_be_read_only_once_is_not_sent_again_after_a_401(server):
    server.on(PATH, answer_status(401, "Unauthorized"))
    client = client_of(server, credentials=RotatingCredentials(last=9))

    with pytest.raises(Exception, match="scripted"):
        client.post().resource("foos").body(iter([b"{}"])).do()
    assert len(server.requests) == 1


def test_stop_ends_the_wait_for_headers(server):
    """FIELD-05, FIELD-29: a silent server does not hold up a stop."""
    server.on(PATH, stay_silent())
    client = client_of(server)

    assert_that_a_stop_ends(lambda stop: get(client, stop))


def test_stop_ends_the_wait_for_the_rest_of_a_body(server):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"
    server.on(PATH, send(head) + stay_silent())
    client = client_of(server)

    assert_that_a_stop_ends(lambda stop: get(client, stop))


def test_stop_ends_the_wait_on_a_connection_that_was_used_before(server):
    server.on(PATH, answer_json({}), stay_silent())
    client = client_of(server)
    get(client)

    assert_that_a_stop_ends(lambda stop: get(client, stop))
    assert server.connections == 1


def test_stop_ends_the_attempt_to_connect():
    # A listener whose queue is full answers no further connection attempts.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        client = RestClient(RestConfig(server=f"127.0.0.1:{address[1]}", connect_timeout=3600.0))

        assert_that_a_stop_ends(lambda stop: client.get().absolute_path("/x").do(stop))

        for filler in fillers:
            filler.close()


def test_stop_ends_a_tls_handshake():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"https://localhost:{mute.getsockname()[1]}"
        client = RestClient(RestConfig(server=url, connect_timeout=3600.0))

        assert_that_a_stop_ends(lambda stop: client.get().absolute_path("/x").do(stop))


def test_stop_ends_a_wait_over_tls(secure_server):
    secure_server.on(PATH, answer_json({}), stay_silent())
    client = client_of(secure_server, tls=TLSSettings(ca_file=str(TLS / "ca.crt")))
    get(client)

    assert_that_a_stop_ends(lambda stop: get(client, stop))
    secure_server.wait_for_open_connections(0)


def test_a_stop_that_is_already_set_sends_nothing(server):
    """REST-11: an already cancelled context makes no request."""
    stop = threading.Event()
    stop.set()

    with pytest.raises(RequestStoppedError):
        get(client_of(server), stop)
    assert server.requests == []


def test_a_finished_request_does_not_hear_of_a_later_stop(server):
    stop = threading.Event()
    client = client_of(server)
    get(client, stop)

    stop.set()

    assert get(client) == b'{"items":[]}'
    assert server.connections == 1


def test_silence_within_a_request_is_detected(server):
    server.on(PATH, stay_silent())

    with pytest.raises(TransportTimeoutError, match=r"GET http://.*silent"):
        get(client_of(server, read_timeout=0.05))


def test_a_refused_connection_is_named_and_says_what_to_do(closed_port):
    with pytest.raises(
        ServerRefusedError, match=f"127.0.0.1:{closed_port}.*is the API server up"
    ) as caught:
        get(RestClient(RestConfig(server=f"127.0.0.1:{closed_port}")))
    assert isinstance(caught.value, ConnectionRefusedError)


def test_a_name_that_does_not_resolve_is_unreachable():
    with pytest.raises(UnreachableError, match="does not resolve"):
        get(RestClient(RestConfig(server="http://nosuch.invalid")))


def test_an_answer_that_is_not_http_is_said_to_be_so(server):
    server.on(PATH, send(b"SSH-2.0-OpenSSH\r\n") + hang_up())

    with pytest.raises(TransportError, match="not HTTP"):
        get(client_of(server))


def test_a_certificate_of_an_unknown_authority_is_a_tls_error(secure_server):
    with pytest.raises(TLSError, match=r"not trusted.*certificate-authority"):
        get(client_of(secure_server))


def test_tls_to_a_server_that_speaks_plain_http_says_so(server):
    client = RestClient(RestConfig(server=server.url.replace("http", "https")))

    with pytest.raises(TLSError, match="write http://"):
        get(client)


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "cannot be read"), ("", "no certificate in PEM")]
)
def test_a_bad_certificate_file_is_a_tls_error(secure_server, tmp_path, content, problem):
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content)

    with pytest.raises(TLSError, match=problem):
        get(client_of(secure_server, tls=TLSSettings(ca_file=str(file))))


@pytest.mark.parametrize(
    "tls",
    [
        TLSSettings(ca_file=str(TLS / "ca.crt")),
        TLSSettings(ca_data=(TLS / "ca.crt").read_text()),
    ],
)
def test_a_trusted_certificate_is_accepted(secure_server, tls):
    assert get(client_of(secure_server, tls=tls)) == b'{"items":[]}'


def test_a_server_name_other_than_the_host_can_be_expected(secure_server):
    tls = TLSSettings(ca_file=str(TLS / "ca.crt"), server_name="elsewhere")

    with pytest.raises(TLSError, match="elsewhere"):
        get(client_of(secure_server, tls=tls))


def test_a_client_certificate_that_was_replaced_is_used_after_a_second(tmp_path):
    clock = FakeClock()
    shown: list[Any] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
    context.load_verify_locations(TLS / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    files = [tmp_path / "tls.crt", tmp_path / "tls.key"]

    def put(name: str, at: float) -> None:
        for file in files:
            shutil.copy(TLS / f"{name}{file.suffix}", file)
            os.utime(file, (at, at))

    def note_certificate(sock: Any) -> None:
        shown.append(dict(part[0] for part in sock.getpeercert()["subject"])["commonName"])

    put("client-one", 1000.0)
    with ScriptedServer(tls=context) as server:
        server.on(PATH, [note_certificate, *answer_json({})])
        client = client_of(
            server,
            tls=TLSSettings(ca_file=str(TLS / "ca.crt")),
            credentials=client_certificate(*map(str, files)),
            clock=clock,
        )
        get(client)
        put("client-two", 2000.0)
        get(client)
        clock.step(1.0)
        get(client)

    assert shown == ["client-one", "client-one", "client-two"]
    assert server.connections == 2


def test_many_threads_share_the_transport(server):
    client = client_of(server, max_idle_connections=4)
    bodies: list[bytes] = []

    def work() -> None:
        for _ in range(20):
            bodies.append(get(client))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert bodies == [b'{"items":[]}'] * 160
    assert server.open_connections <= 8
    client.close()
    server.wait_for_open_connections(0)


@pytest.mark.parametrize(("idle", "rounds", "connections"), [(12, 5, 12), (4, 5, 12 + 4 * 8)])
def test_as_many_connections_as_there_are_threads_are_kept_for_them(
    server, idle, rounds, connections
):
    """With fewer, the others are opened anew each time; none waits for another."""
    threads = 12
    together = threading.Barrier(threads)

    def answer_all_at_once(_):
        together.wait(30)
        return answer_json({})

    server.on(PATH, answer_all_at_once)
    client = client_of(server, max_idle_connections=idle)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(rounds):
            list(pool.map(lambda _: get(client), range(threads)))

    assert server.connections == connections


def test_a_proxy_that_is_down_is_named(closed_port):
    proxy = f"http://127.0.0.1:{closed_port}"
    with pytest.raises(UnreachableError, match="proxy"):
        get(RestClient(RestConfig(server="http://cluster.example", proxy=proxy)))


def test_a_proxy_is_asked_for_the_whole_url(server):
    server.on("/api/v1/foos", answer_json({}))
    client = RestClient(
        RestConfig(server="http://cluster.example", proxy=server.url), api_path="/api/v1"
    )

    assert get(client) == b"{}"
    assert server.requests[0].headers["host"] == "cluster.example"


def test_static_credentials_have_nothing_to_renew():
    identity = Identity(authorization="Bearer t")

    assert not StaticCredentials(identity).renew(identity)
    assert "Bearer" not in repr(StaticCredentials(identity))
