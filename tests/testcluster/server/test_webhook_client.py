"""How the server calls webhooks: whom it trusts, which address it asks for, and how long."""

from __future__ import annotations

import asyncio
import base64
import itertools
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server.http.webhook_client import WebhookCallError, WebhookClient
from clientgo.testing.scripted_server import (
    Script,
    answer,
    answer_json,
    chunk,
    hang_up,
    send,
    stay_silent,
    watch_begin,
    watch_end,
)
from clientgo.util.certificates import KeyPair, make_authority, split_certificates
from tests.tls_server import AUTHORITY, DAY, NOW, SERVER, TLSServer

_LIMIT = 1 << 20


def leaf_of(pair: KeyPair) -> bytes:
    """Return the first certificate of a chain."""
    return split_certificates(pair.certificate)[0]


def call(
    url: str, ca: bytes = AUTHORITY.certificate, *, timeout: float = 30.0, limit: int = _LIMIT
) -> Any:
    """Call a webhook with a bundle of certificates that are trusted."""
    client = WebhookClient("test")
    config = {"url": url, "caBundle": base64.b64encode(ca).decode()}
    called = client.post(config, {"kind": "AdmissionReview"}, timeout, limit)
    try:
        return asyncio.run(asyncio.wait_for(called, 60.0))
    finally:
        client.close()


def test_the_scheme_of_an_address_is_in_any_case(tmp_path: Path) -> None:
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({"kind": "AdmissionReview"}))

        assert call(server.url.replace("https", "HTTPS")) == {"kind": "AdmissionReview"}


def drip(data: bytes) -> Script:
    """Send the bytes one by one, again and again, until the client closes the connection."""

    def drips(sock: socket.socket) -> None:
        never = threading.Event()
        for byte in itertools.cycle(data):
            sock.sendall(bytes([byte]))
            never.wait(0.01)

    return [drips]


def assert_ends_in_time(url: str) -> None:
    with pytest.raises(WebhookCallError) as failure:
        call(url, timeout=0.3)
    assert str(failure.value) == f'Post "{url}/?timeout=0.3s": context deadline exceeded'


@pytest.mark.parametrize("ca", [AUTHORITY.certificate, leaf_of(SERVER)])
def test_each_certificate_of_a_bundle_ends_a_chain(tmp_path: Path, ca: bytes) -> None:
    """envtest puts the webhook's own certificate into the bundle."""
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({"kind": "AdmissionReview"}))

        assert call(server.url, ca) == {"kind": "AdmissionReview"}


def test_another_authority_is_not_trusted(tmp_path: Path) -> None:
    another = make_authority("another", now=NOW, lifetime=DAY)
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({}))

        with pytest.raises(WebhookCallError) as failure:
            call(server.url, another.certificate)

    assert "certificate verify failed" in str(failure.value)


@pytest.mark.parametrize(
    ("path", "called"),
    [
        ("", "/"),
        ("/", "/"),
        ("/validate", "/validate"),
        ("//failing", "/failing"),
        ("/a//b/", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../../a", "/a"),
        ("/a%20b/%C3%A9", "/a%20b/%C3%A9"),
        ("/%ff", "/%FF"),
        ("/a!(b)", "/a%21%28b%29"),
        ("/x:y@z=1,2;3&4+5$6", "/x:y@z=1,2;3&4+5$6"),
    ],
)
def test_the_path_is_cleaned_as_by_a_real_server(tmp_path: Path, path: str, called: str) -> None:
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({}))

        call(server.url + path, AUTHORITY.certificate)

        [request] = server.requests
        assert (request.path, dict(request.query)) == (called, {"timeout": "30s"})


_HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "script",
    [
        stay_silent(),
        drip(b"x"),
        send(_HEAD) + drip(b"X-Header: a\r\n"),
        drip(b"HTTP/1.1 100 Continue\r\n\r\n"),
        send(_HEAD + b"Content-Length: 100000\r\n\r\n") + drip(b" "),
        send(_HEAD + b"\r\n") + drip(b" "),
        watch_begin() + drip(chunk(b" ")),
        watch_begin() + drip(b"0"),
        send(_HEAD + b"Content-Length: 10\r\n\r\n{") + stay_silent(),
    ],
    ids=[
        "silence",
        "status",
        "headers",
        "continue",
        "body",
        "body without a length",
        "chunks",
        "size of a chunk",
        "rest",
    ],
)
def test_a_call_ends_in_time_whatever_the_webhook_sends(tmp_path: Path, script: Script) -> None:
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", script)

        assert_ends_in_time(server.url)

        server.wait_for_open_connections(0)


@pytest.mark.parametrize("first", [b"", b"\x16\x03\x03\x40\x00"], ids=["silence", "record"])
def test_a_call_ends_in_time_during_the_tls_handshake(first: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def converse() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.sendall(first)
                while sock.recv(65536):
                    pass

        thread = threading.Thread(target=converse)
        thread.start()
        assert_ends_in_time(f"https://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()


def test_a_call_ends_in_time_while_its_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: looked_up.wait(60) and [])
    try:
        assert_ends_in_time("https://webhook.example")
    finally:
        looked_up.set()


def test_a_name_has_several_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 0)) for ip in _TWO_ADDRESSES]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", answer_json({"kind": "AdmissionReview"}))

        assert call(f"https://one.example:{server.port}") == {"kind": "AdmissionReview"}

        assert server.requests[0].headers["host"] == f"one.example:{server.port}"


_TWO_ADDRESSES = ("127.0.0.2", "127.0.0.1")
"""No server listens on the first."""

_ANSWER = b'{"kind":"AdmissionReview"}'


@pytest.mark.parametrize(
    "script",
    [
        answer(body=_ANSWER),
        watch_begin() + send(chunk(_ANSWER[:5]), chunk(_ANSWER[5:])) + watch_end() + stay_silent(),
        send(_HEAD + b"\r\n" + _ANSWER) + hang_up(),
        send(b"HTTP/1.1 100 Continue\r\n\r\n") + answer(body=_ANSWER),
        send(b"HTTP/1.0 200 OK\nContent-Length: %d\n\n%b" % (len(_ANSWER), _ANSWER)),
    ],
    ids=["length", "chunks", "end of the connection", "continue", "bare line ends"],
)
def test_an_answer_is_read_however_it_is_framed(tmp_path: Path, script: Script) -> None:
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", script)

        assert call(server.url) == {"kind": "AdmissionReview"}


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (hang_up(), "closed before the end of the headers"),
        (send(_HEAD) + hang_up(), "closed before the end of the headers"),
        (send(b"nonsense\r\n\r\n"), "nonsense"),
        (send(_HEAD, *[b"X: " + b"x" * 60_000 + b"\r\n"] * 20), "more than 1048576 bytes"),
        (send(_HEAD, b"X: " + b"x" * 70_000 + b"\r\n\r\n"), "more than 65536 bytes"),
        (send(_HEAD + b"Content-Length: 9\r\n\r\n{") + hang_up(), "before the end of the answer"),
        (watch_begin() + send(chunk(b"{")) + hang_up(), "before the end of the answer"),
        (watch_begin() + send(b"nonsense\r\n"), "not a chunk size"),
        (answer(body=b" " * 101), "more than 100 bytes"),
        (watch_begin() + send(chunk(b" " * 101)) + stay_silent(), "more than 100 bytes"),
        (watch_begin() + send(chunk(b" " * 101) + b"0\r\n\r\n"), "more than 100 bytes"),
        (send(_HEAD + b"\r\n" + b" " * 101) + stay_silent(), "more than 100 bytes"),
        (answer(500, _ANSWER), "it answered with status 500"),
        (answer(302, headers=[("Location", "/other")]), "it answered with status 302"),
        (answer(body=b"[]"), "its answer is no JSON object"),
    ],
)
def test_an_answer_that_cannot_be_read_fails(tmp_path: Path, script: Script, problem: str) -> None:
    with TLSServer(SERVER, tmp_path) as server:
        server.on("*", script)

        with pytest.raises(WebhookCallError) as failure:
            call(server.url, limit=100)

        assert problem in str(failure.value)
