"""What counts as the head of an answer: each table says what Go's `net/http` does."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from clientgo.rest import ConnectionLostError, RestClient, RestConfig, TransportError
from clientgo.rest.transport.response_head import Response
from clientgo.testing.scripted_server import ScriptedServer, answer_json, hang_up, send

PATH = "/api/v1/foos"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nContent-Length: 5\r\n\r\n"


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def client_of(server: ScriptedServer, warnings: list[str]) -> RestClient:
    config = RestConfig(server=server.url, warning_handler=warnings.append)
    return RestClient(config, api_path="/api/v1")


def get(server: ScriptedServer, warnings: list[str] | None = None) -> bytes:
    client = client_of(server, [] if warnings is None else warnings)
    return client.get().resource("foos").max_retries(0).do().body


@pytest.mark.parametrize(
    "interim",
    [
        HINTS,
        HINTS * 40,
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + HINTS,
        b"HTTP/1.1 199 Whatever\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_an_interim_answer_is_passed_over(server, interim):
    """FIELD-46."""
    server.on(PATH, send(interim + OK))

    client = client_of(server, [])
    assert client.get().resource("foos").do().body == b"{}"
    assert client.get().resource("foos").do().body == b"{}"
    assert server.connections == 1


def test_interim_answers_without_end_are_an_error(server):
    server.on(PATH, send(HINTS * 1000 + OK))

    with pytest.raises(TransportError, match=r"not HTTP .more than 1000 interim answers"):
        get(server)


def test_a_write_that_draws_thousands_of_warnings_is_carried_out(server):
    """FIELD-47: the answer says that the object was written, however much else it says."""
    drawn = [f"warning {number}" for number in range(5000)]
    headers = [("Warning", f'299 - "{text}"') for text in drawn]
    server.on(PATH, answer_json({"metadata": {"name": "a"}}, headers=headers))
    seen: list[str] = []

    assert client_of(server, seen).post().resource("foos").body(b"{}").do().status == 200
    assert seen == drawn


def test_a_header_may_be_longer_than_64_kib(server):
    """FIELD-47."""
    text = "x" * 300_000
    server.on(PATH, answer_json({}, headers=[("Warning", f'299 - "{text}"')]))
    seen: list[str] = []

    assert get(server, seen) == b"{}"
    assert seen == [text]


def test_ten_mebibytes_of_headers_are_too_many(server):
    line = b"X-Filler: " + b"x" * 1_000_000 + b"\r\n"
    server.on(PATH, send(b"HTTP/1.1 200 OK\r\n" + line * 11) + hang_up())

    with pytest.raises(TransportError, match=r"not HTTP .more than 10485760 bytes of headers"):
        get(server)


def test_headers_are_utf_8_and_else_latin_1(server):
    lines = 'Warning: 299 - "größer"\r\n'.encode() + 'Warning: 299 - "größer"\r\n'.encode("latin-1")
    server.on(PATH, send(OK.replace(b"\r\n\r\n", b"\r\n" + lines + b"\r\n")))
    seen: list[str] = []

    get(server, seen)

    assert seen == ["größer", "größer"]


def test_a_header_may_go_on_in_the_next_line(server):
    server.on(
        PATH, send(OK.replace(b"\r\n\r\n", b'\r\nWarning: 299 -\r\n\t "folded" \r\n \r\n\r\n'))
    )
    seen: list[str] = []

    get(server, seen)

    assert seen == ["folded"]


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Len",
        HINTS,
        HINTS[:40],
    ],
)
def test_a_head_that_is_cut_short_is_a_lost_connection(server, head):
    """FIELD-48: it was taken for an empty answer."""
    server.on(PATH, send(head) + hang_up())

    with pytest.raises(ConnectionLostError, match="the connection was lost"):
        get(server)


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        (b"Content-Length: two", "bad Content-Length 'two'"),
        (b"Content-Length: -2", "bad Content-Length '-2'"),
        (b"Content-Length: 1_0", "bad Content-Length '1_0'"),
        (b"Content-Length: 2\r\nContent-Length: 3", "bad Content-Length"),
        (b"Transfer-Encoding: gzip, chunked", "unknown Transfer-Encoding 'gzip, chunked'"),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "unknown Transfer-Encoding"),
        (b"what is this", "a header without a colon: 'what is this"),
    ],
)
def test_a_head_that_leaves_open_where_the_body_ends_is_an_error(server, headers, problem):
    server.on(PATH, send(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n{}") + hang_up())

    with pytest.raises(TransportError) as error:
        get(server)
    assert f"the answer is not HTTP ({problem}" in str(error.value)
    assert not isinstance(error.value, ConnectionLostError)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200\ncontent-length:2\n\n{}",
        b"HTTP/1.0 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n{}",
    ],
)
def test_a_body_ends_where_the_head_says(server, answer):
    server.on(PATH, send(answer) + hang_up())

    assert get(server) == b"{}"


def test_a_response_whose_stream_was_freed_first_closes() -> None:
    """The collector frees a connection that was left open in any order."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        response = Response(ours)
        response.fp.close()
        response.close()
        assert response.closed
