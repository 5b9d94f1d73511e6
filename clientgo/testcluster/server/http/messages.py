"""One HTTP exchange: the request as the verbs read it, and their responses.

Promises: a request is read completely, up to a size limit, before it is handled; a response is
bytes with a status, or a stream. Built on ASGI without a toolkit: its classes would take a quarter
more time for each request.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qs

import msgspec

from clientgo.testcluster.server.auth.users import ADMIN, User
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.http.protobuf.encoding import encode_protobuf
from clientgo.testcluster.server.http.protobuf.fields import UnknownKindError
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    body_too_large,
    not_in_protobuf,
)
from clientgo.testcluster.server.storage.deep_values import encode
from clientgo.util.text.percent_encoding import as_utf8, from_bytes, unescape

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_LIMIT = 3 * 1024 * 1024
"""Maximum bytes of a request body, as on a real API server."""

COMPRESSED_FROM = 128 * 1024
"""Bytes from which on a response is compressed, if the client accepts it."""

_PARAMETERS = 1000
"""Maximum number of parameters in a query."""

_WARNING_CHARACTERS = 4096
"""Characters of all warnings in a response, from which on each is cut; as upstream."""

_CUT_WARNING_CHARACTERS = 256
"""Characters that are left of a warning that is cut, as upstream."""

_COMPRESSION_LEVEL = 1
"""The fastest: on loopback, time matters more than size."""

CONNECTION = "clientgo.connection"
"""The ASGI extension that holds the connection of a request."""

SEND_WHOLE = "clientgo.send_whole"
"""The ASGI extension that sends status, headers and body of a response in one step."""

UPGRADE = "clientgo.upgrade"
"""The ASGI extension that answers 101 with some headers and gives the connection away."""

Upgrade = Callable[[Sequence[tuple[str, str]]], tuple[asyncio.StreamReader, asyncio.StreamWriter]]

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
"""Characters that a header must not have."""

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
NO_CONTENT = 204


class Request(msgspec.Struct):
    """A request, read completely."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: bytes
    connection: asyncio.WriteTransport | None = None
    """Its connection; None under another HTTP server."""
    upgrade: Upgrade | None = None
    """Switches protocols; None under another HTTP server."""
    user: User = ADMIN
    flow_headers: tuple[tuple[str, str], ...] = ()
    """What the response says of the flow schema of the request."""

    def parameter(self, name: str) -> str:
        """Return the first value of a query parameter; empty if it is missing."""
        values = self.query.get(name)
        return values[0] if values else ""

    @property
    def work_size(self) -> int:
        """Return the bytes of the object in the body, at most; aliases in YAML may repeat much."""
        may_repeat = b"*" in self.body and not self.body.lstrip().startswith(b"{")
        return BODY_LIMIT if may_repeat else len(self.body)

    @property
    def accepts_gzip(self) -> bool:
        """Return True if the client accepts a compressed response."""
        return "gzip" in self.headers.get("accept-encoding", "")

    def flag(self, name: str) -> bool:
        """Return a boolean parameter: True unless it is missing, ``false`` or ``0``."""
        return name in self.query and self.parameter(name).lower() not in ("false", "0")


class AnyResponse(Protocol):
    """A response, complete or a stream."""

    headers: list[tuple[str, str]]

    async def send(self, send: Send, receive: Receive) -> None:
        """Send everything; return at the end or when the client has disconnected."""


class Response(msgspec.Struct):
    """A complete response."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: list[tuple[str, str]] = msgspec.field(default_factory=list)

    async def compress(self) -> None:
        """Compress a large body on a thread; the event loop continues meanwhile."""
        if len(self.body) < COMPRESSED_FROM or self.is_compressed:
            return
        self.body = await asyncio.to_thread(gzip.compress, self.body, _COMPRESSION_LEVEL)
        self.headers += [("content-encoding", "gzip"), ("vary", "Accept-Encoding")]

    @property
    def is_compressed(self) -> bool:
        """Return True if the body is compressed already."""
        return any(name == "content-encoding" for name, _ in self.headers)

    def head(self) -> list[tuple[bytes, bytes]]:
        """Return the headers in the form of ASGI."""
        headers = head(self.content_type, self.headers)
        if self.status != NO_CONTENT:
            headers.append((b"content-length", b"%d" % len(self.body)))
        return headers

    async def send(self, send: Send, receive: Receive) -> None:
        """Send head and body."""
        headers = self.head()
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def warning_headers(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers that warn a client, as many as fit into a response."""
    return tuple(_warning(text) for text in _shown_warnings(texts))


def _warning(text: str) -> tuple[str, str]:
    text = _CONTROL_CHARACTER.sub(" ", text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "warning", f'299 - "{escaped}"'


def _shown_warnings(texts: Sequence[str]) -> list[str]:
    """Drop empty and repeated texts; if all are too long, cut each, and then drop the last ones.

    Upstream: apiserver ``filters.WithWarningRecorder``.
    """
    unique = list(dict.fromkeys(filter(None, texts)))
    totals = itertools.accumulate(map(len, unique))
    fitting = sum(total <= _WARNING_CHARACTERS for total in totals)
    if fitting == len(unique):
        return unique
    cut = [text[:_CUT_WARNING_CHARACTERS] for text in unique]
    shown = cut[: fitting + 1]  # upstream begins to cut when it meets the first that does not fit
    total = sum(map(len, shown))
    for text in cut[fitting + 1 :]:
        if total >= _WARNING_CHARACTERS:
            break
        shown.append(text)
        total += len(text)
    return shown


def head(content_type: str, more: Iterable[tuple[str, str]] = ()) -> list[tuple[bytes, bytes]]:
    """Return response headers in the form of ASGI."""
    return [
        (b"content-type", content_type.encode()),
        *((name.encode(), value.encode(errors="replace")) for name, value in more),
    ]


def json_response(value: Any, status: int = 200) -> Response:
    """Return a response with a JSON value."""
    return Response(status, encode(value) + b"\n")


def value_response(value: Any, media_type: str, status: int = 200) -> Response:
    """Return a response with a JSON value in a media type: JSON, YAML or protobuf.

    Raises:
        FailedRequestError: 406, the kind of the value has no form in protobuf.
    """
    try:
        return _value_response(value, media_type, status)
    except UnicodeEncodeError:  # a part of the path or query was no UTF-8
        return _value_response(_as_utf8(value), media_type, status)


def _as_utf8(value: Any) -> Any:
    if isinstance(value, str):
        return as_utf8(value)
    if isinstance(value, list):
        return [_as_utf8(item) for item in value]
    if isinstance(value, dict):
        return {_as_utf8(key): _as_utf8(item) for key, item in value.items()}
    return value


def _value_response(value: Any, media_type: str, status: int) -> Response:
    if media_type == JSON:
        return json_response(value, status)
    if media_type == PROTOBUF_TYPE:
        return Response(status, in_protobuf(encode_protobuf, value), media_type)
    import yaml  # slow to import, and rarely needed

    from clientgo.util.text.yaml_writer import yaml_text

    try:
        text = yaml_text(value, for_people=False)
    except (yaml.representer.RepresenterError, RecursionError):  # it is deep; JSON is YAML too
        return Response(status, encode(value) + b"\n", media_type)
    return Response(status, text.encode(), media_type)


def in_protobuf(encoder: Callable[[Any], bytes], value: Any) -> bytes:
    """Return an object as an encoder writes it.

    Raises:
        FailedRequestError: 406, its kind has no form in protobuf.
    """
    try:
        return encoder(value)
    except UnknownKindError:
        raise not_in_protobuf(value.get("kind", "")) from None


def text_response(text: str, status: int = 200) -> Response:
    """Return a response in plain text, as for paths outside of the API."""
    return Response(status, text.encode(), TEXT)


def page_not_found() -> Response:
    """Return a 404 for a path that is not served."""
    return text_response("404 page not found\n", 404)


def failure_response(error: FailedRequestError, media_type: str = JSON) -> Response:
    """Return the response to a request that failed."""
    response = value_response(error.status(), media_type, error.code)
    response.headers += error.headers
    return response


async def read_request(scope: Mapping[str, Any], receive: Receive) -> Request | None:
    """Read a request completely; None if the client disconnects before its end.

    Raises:
        FailedRequestError: 413, the body is larger than BODY_LIMIT; 400, the query can't be read.
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
    extensions = scope.get("extensions", {})
    return Request(
        scope["method"],
        unescape(scope["raw_path"]),
        _parse_headers(scope["headers"]),
        _parse_query(scope["query_string"]),
        b"".join(chunks),
        extensions.get(CONNECTION),
        extensions.get(UPGRADE),
    )


def _parse_headers(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name; the first of several of a name, as Go does."""
    return {
        name.decode("latin-1"): value.decode(errors="replace") for name, value in reversed(headers)
    }


def _parse_query(query: bytes) -> dict[str, list[str]]:
    if not query:
        return {}
    try:
        return parse_qs(
            from_bytes(query),
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=_PARAMETERS,
        )
    except ValueError:
        raise bad_request(f"the query has more than {_PARAMETERS} parameters") from None
