"""One HTTPS request and its answer, on the event loop, which may be cancelled at any byte.

Promises: the answer is framed by its length, by chunks, or by the end of the connection; an answer
that ends early, is too long, or is no HTTP is an error. Nothing of a connection is left when the
call returns, fails or is cancelled.

Does not promise to follow redirects, to keep connections, or to undo compression, which it does not
accept.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import ssl
from collections.abc import Sequence
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

_HEAD_LIMIT: Final = 1024 * 1024
"""Bytes of the status line and headers of an answer."""

_READ_SIZE: Final = 64 * 1024
"""Bytes."""

_TLS_FAREWELL: Final = 1.0
"""Seconds that the other side gets to end TLS, after the call has returned."""


class Destination(msgspec.Struct, frozen=True):
    """Where a request goes."""

    host: str
    port: int
    authority: str
    target: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse an ``https`` URL with a path. Raises ``ValueError``."""
        parts = urlsplit(url)
        port = http.client.HTTPS_PORT if parts.port is None else parts.port
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return cls(parts.hostname or "", port, parts.netloc, target)


async def post(
    destination: Destination,
    addresses: Sequence[str],
    trust: ssl.SSLContext,
    body: bytes,
    max_answer: int,
) -> tuple[int, bytes]:
    """Post a JSON body to the first address that can be connected; return status and answer.

    Raises:
        OSError: no connection, no trust in the other side, or the connection broke.
        EOFError: the answer ends early.
        ValueError: the answer has more than ``max_answer`` bytes, or malformed chunks.
        http.client.HTTPException: the answer is no HTTP.
    """
    reader, writer = await _connect(destination, addresses, trust)
    try:
        writer.write(_head(destination, body))
        writer.write(body)
        await writer.drain()
        answer = await _read_head(reader)
        content = (
            b""
            if answer.status != http.HTTPStatus.OK
            else await _read_body(reader, answer, max_answer)
        )
    except BaseException:
        writer.transport.abort()
        raise
    writer.close()
    return answer.status, content


async def _connect(
    destination: Destination, addresses: Sequence[str], trust: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    failure = OSError(f"{destination.host} has no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address,
                destination.port,
                ssl=trust,
                server_hostname=destination.host,
                ssl_shutdown_timeout=_TLS_FAREWELL,
                limit=_HEAD_LIMIT,
            )
        except OSError as error:
            failure = error
    raise failure


def _head(destination: Destination, body: bytes) -> bytes:
    return (
        f"POST {destination.target} HTTP/1.1\r\n"
        f"Host: {destination.authority}\r\n"
        "Content-Type: application/json\r\n"
        "Accept: application/json\r\n"
        "Accept-Encoding: identity\r\n"
        "Connection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode("ascii")


class _ReadHead:
    """What ``HTTPResponse`` needs of a socket: a head that was read already."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._head)


async def _read_head(reader: asyncio.StreamReader) -> http.client.HTTPResponse:
    """Return an answer of which the head is parsed; it knows how the body is framed."""
    head = b""
    while True:
        line = await reader.readline()
        head += line
        if len(head) > _HEAD_LIMIT:
            raise ValueError(f"the headers of the answer have more than {_HEAD_LIMIT} bytes")
        if not line.endswith(b"\n"):
            raise EOFError("the connection was closed before the end of the headers")
        if line.strip():
            continue
        if not head.partition(b" ")[2].startswith(b"1"):  # 100 to 199 come before the answer
            break
        head = b""
    answer = http.client.HTTPResponse(_ReadHead(head), method="POST")  # type: ignore[arg-type]
    answer.begin()
    return answer


async def _read_body(
    reader: asyncio.StreamReader, answer: http.client.HTTPResponse, limit: int
) -> bytes:
    from clientgo.rest.transport.chunked import (
        ChunkedDecoder,
    )  # loads a client, few servers need it

    chunks = ChunkedDecoder() if answer.chunked else None
    length = None if chunks is not None else answer.length
    body = bytearray()
    while length is None or len(body) < length:
        if max(len(body), length or 0) > limit:
            break
        data = await reader.read(_READ_SIZE if length is None else length - len(body))
        if not data:
            if chunks is None and length is None:
                break
            raise EOFError("the connection was closed before the end of the answer")
        body += data if chunks is None else b"".join(chunks.feed(data))
        if chunks is not None and chunks.ended:
            break
    if max(len(body), length or 0) > limit:
        raise ValueError(f"the answer has more than {limit} bytes")
    return bytes(body)
