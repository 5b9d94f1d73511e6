"""Compressed bodies: what is undone, and what is an error."""

from __future__ import annotations

import functools
import gzip
import zlib
from collections.abc import Iterator

import pytest

from clientgo.meta import StatusError
from clientgo.rest import (
    ConnectionLostError,
    RestClient,
    RestConfig,
    UnreadableAnswerError,
)
from clientgo.testing.scripted_server import ScriptedServer, answer, chunk, hang_up, send

PATH = "/api/v1/foos"
BODY = b'{"kind": "FooList", "items": [1, 2, 3]}' * 50
compressed = functools.partial(gzip.compress, mtime=0)
PACKED = compressed(BODY)


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def get(server: ScriptedServer) -> bytes:
    client = RestClient(RestConfig(server=server.url), api_path="/api/v1")
    return client.get().resource("foos").do().body


def coded(body: bytes, coding: str, status: int = 200):
    return answer(status, body=body, headers=[("Content-Encoding", coding)])


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip", " Gzip "])
def test_gzip_is_undone_however_it_is_written(server, coding):
    server.on(PATH, coded(PACKED, coding))

    assert get(server) == BODY


@pytest.mark.parametrize(
    "body",
    [
        compressed(BODY[:100]) + compressed(BODY[100:]),
        compressed(BODY) + compressed(b""),
        b"".join(compressed(BODY[at : at + 7]) for at in range(0, len(BODY), 7)),
    ],
    ids=["two", "an empty one", "many"],
)
def test_members_that_follow_each_other_are_one_body(server, body):
    """FIELD-48."""
    server.on(PATH, coded(body, "gzip"))
    assert get(server) == BODY

    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = b"".join(chunk(body[at : at + 3]) for at in range(0, len(body), 3))
    server.on(PATH, send(head, pieces, b"0\r\n\r\n"))
    assert get(server) == BODY


def test_a_body_of_no_bytes_is_empty(server):
    server.on(PATH, coded(b"", "gzip"))

    assert get(server) == b""


@pytest.mark.parametrize("left", [1, 5, 15, 40, len(PACKED) - 8, len(PACKED) - 1])
def test_gzip_that_is_cut_short_is_a_lost_connection(server, left):
    """FIELD-48: it was taken for the whole body, and an informer for a shorter list."""
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
    framed = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(PACKED[:left]) + b"0\r\n\r\n"
    for script in (
        coded(PACKED[:left], "gzip"),
        send(framed),
        send(head + b"\r\n" + PACKED[:left]) + hang_up(),
    ):
        server.on(PATH, script)
        with pytest.raises(ConnectionLostError, match="its gzip is cut short; try again"):
            get(server)


@pytest.mark.parametrize(
    "body",
    [
        PACKED + b"garbage",
        PACKED + b"\0\0",
        BODY,
        PACKED[:20] + b"\0" * 20 + PACKED[40:],
        PACKED[:-8] + b"\0" * 8,
    ],
    ids=["text after it", "zeros after it", "plain", "zeros in it", "wrong checksum"],
)
def test_what_is_no_gzip_is_an_error(server, body):
    """Go's gzip reader refuses each of them."""
    server.on(PATH, coded(body, "gzip"))

    with pytest.raises(ConnectionLostError, match=r"the answer is garbled: .*is a proxy between"):
        get(server)


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, gzip", "compress"])
def test_a_coding_that_was_not_asked_for_is_an_error(server, coding):
    server.on(PATH, coded(zlib.compress(BODY), coding))

    with pytest.raises(UnreadableAnswerError) as error:
        get(server)
    assert str(error.value) == (
        f"GET {server.url}{PATH}: the answer has Content-Encoding '{coding}', "
        "which was not asked for; is a proxy between?"
    )


def test_a_refusal_in_a_coding_that_was_not_asked_for_is_a_refusal(server):
    server.on(PATH, coded(b"\x0b\x02\x80garbage", "br", status=503))

    with pytest.raises(StatusError, match="the server is not ready to serve") as error:
        get(server)
    assert error.value.code == 503


def test_identity_is_no_coding(server):
    server.on(PATH, coded(BODY, "Identity"))

    assert get(server) == BODY
