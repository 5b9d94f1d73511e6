"""One HTTP exchange: the request as the verbs read it, and what they answer.

Promises: a request is read whole, within a size limit, before anything happens; an answer is bytes
with a status, or a stream. Built directly on ASGI: the two messages it takes are shorter than an
adapter to a framework's classes, and a quarter faster per request.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qs

from clientgo.apiserver.resources.status_errors import StatusError, bad_request, body_too_large
from clientgo.apiserver.storage.storage import encode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_LIMIT = 3 * 1024 * 1024
"""Bytes of a request body; what a real API server accepts."""

COMPRESSED_FROM = 128 * 1024
"""Bytes from which on an answer is compressed, if the client accepts that."""

_PARAMETERS = 1000
"""How many parameters a query may have; no option of the API comes so often."""

_WARNINGS = 50
"""Warnings in an answer; Python's own client gives up at a hundred headers."""

_WARNING_CHARACTERS = 4096
"""How much an answer's warnings may say, together; as upstream."""

_COMPRESSION_LEVEL = 1
"""The fastest: on loopback, time matters more than size."""

CONNECTION = "clientgo.connection"
"""The ASGI extension in which a request tells the connection that it came by."""

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
"""What no header may hold."""

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(slots=True)
class Request:
    """A request, read to its end."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: bytes
    connection: asyncio.WriteTransport | None = None
    """What it came by; None under another HTTP server."""

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty if it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    @property
    def accepts_gzip(self) -> bool:
        """Whether a compressed answer is understood."""
        return "gzip" in self.headers.get("accept-encoding", "")

    def flag(self, name: str) -> bool:
        """A boolean query parameter: true unless it is absent, ``false`` or ``0``."""
        return name in self.query and self.parameter(name).lower() not in ("false", "0")


class Answer(Protocol):
    """Something that can be sent."""

    headers: list[tuple[str, str]]

    async def send(self, send: Send, receive: Receive) -> None:
        """Send it all; returns when done or when the client has gone."""


@dataclass(slots=True)
class Response:
    """A complete answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)

    async def compress(self) -> None:
        """Compress a large body, on a thread; others can be served meanwhile."""
        if len(self.body) < COMPRESSED_FROM or self.is_compressed:
            return
        self.body = await asyncio.to_thread(gzip.compress, self.body, _COMPRESSION_LEVEL)
        self.headers += [("content-encoding", "gzip"), ("vary", "Accept-Encoding")]

    @property
    def is_compressed(self) -> bool:
        """Whether the body is in a compressed form already."""
        return any(name == "content-encoding" for name, _ in self.headers)

    async def send(self, send: Send, receive: Receive) -> None:
        """Send head and body."""
        headers = head(self.content_type, self.headers)
        headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def warning(text: str) -> tuple[str, str]:
    """The header that warns a client."""
    text = _CONTROL_CHARACTER.sub(" ", text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "warning", f'299 - "{escaped}"'


def shown_warnings(texts: Sequence[str]) -> list[str]:
    """As many warnings as an answer's headers take."""
    left = _WARNING_CHARACTERS
    shown = []
    for text in texts[:_WARNINGS]:
        left -= len(text)
        if left < 0:
            break
        shown.append(text)
    return shown


def head(content_type: str, more: Iterable[tuple[str, str]] = ()) -> list[tuple[bytes, bytes]]:
    """Response headers as ASGI wants them."""
    return [
        (b"content-type", content_type.encode()),
        *((name.encode(), value.encode("latin-1", "replace")) for name, value in more),
    ]


def json_response(value: Any, status: int = 200) -> Response:
    """An answer that holds a JSON value."""
    return Response(status, encode(value))


def text_response(text: str, status: int = 200) -> Response:
    """An answer in plain text, as the paths outside of the API give."""
    return Response(status, text.encode(), TEXT)


def page_not_found() -> Response:
    """404 for a path that nothing serves."""
    return text_response("404 page not found\n", 404)


def failure(error: StatusError) -> Response:
    """The answer to a request that failed."""
    return Response(error.code, encode(error.status()), headers=list(error.headers))


async def read_request(scope: Mapping[str, Any], receive: Receive) -> Request | None:
    """Read a request to its end; None if the client hung up before.

    Raises:
        StatusError: 413, the body is larger than BODY_LIMIT; 400, the path or the query is not one.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > BODY_LIMIT:
            raise body_too_large(BODY_LIMIT)
        chunks.append(chunk)
        if not message.get("more_body"):
            break
    if "\0" in scope["path"]:
        raise bad_request("the path holds a NUL")
    return Request(
        scope["method"],
        scope["path"],
        _parse_headers(scope["headers"]),
        _parse_query(scope["query_string"]),
        b"".join(chunks),
        scope.get("extensions", {}).get(CONNECTION),
    )


def _parse_headers(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names; of one that comes more than once the first, as Go reads it."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(headers)}


def _parse_query(query: bytes) -> dict[str, list[str]]:
    if not query:
        return {}
    try:
        return parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_PARAMETERS)
    except ValueError:
        raise bad_request(f"the query has more than {_PARAMETERS} parameters") from None
