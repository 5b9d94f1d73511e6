"""One connection: requests in, answers out, each within limits of size and time.

Promises: a header has at most 1 MiB and arrives within 32 s of its first byte, a body within 32 s
more; a connection without a request is closed after 90 s. The limits are on the whole, so that a
client gains nothing by sending slowly.

Source of the limits: controller-runtime ``pkg/internal/httpserver``.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import socket
from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from clientgo.observe.serving.limited_reader import (
    CHUNK,
    HEADER_TIMEOUT,
    IDLE_TIMEOUT,
    HeaderTooLargeError,
    LimitedReader,
)
from clientgo.observe.serving.messages import Handler, Request, Response

_log = logging.getLogger("clientgo.observe.serving")

_LENGTH: Final = re.compile(r"[0-9]{1,18}")
"""As many digits as 64 bits hold; an int of thousands of digits is an error of its own."""

BODY_TIMEOUT: Final = 32.0
"""Seconds, for a body to arrive and for an answer to be sent."""


@dataclass(frozen=True, slots=True)
class Service:
    """What the connections of a server have in common.

    ``max_body``: a body of so many bytes is read and not kept.
    """

    name: str
    respond: Handler
    methods: Collection[str]
    max_body: int


class Connection(BaseHTTPRequestHandler):
    """Serves one connection; its construction returns when the connection has ended.

    Each request is answered inside ``answering()``; after ``is_stopping()`` the next answer is the
    last.
    """

    protocol_version = "HTTP/1.1"
    server_version = "clientgo"
    sys_version = ""
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(
        self,
        sock: socket.socket,
        client: Any,
        service: Service,
        *,
        answering: Callable[[], AbstractContextManager[None]],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._service = service
        self._answering = answering
        self._is_stopping = is_stopping
        super().__init__(sock, client, None)  # type: ignore[arg-type]  # no socketserver is used

    def setup(self) -> None:
        super().setup()
        self._reader = LimitedReader(self.connection)
        self.rfile = io.BufferedReader(self._reader, CHUNK)

    def handle(self) -> None:
        self.close_connection = False
        while not self.close_connection:
            self._reader.expect_header(IDLE_TIMEOUT, HEADER_TIMEOUT)
            try:
                self.handle_one_request()
            except HeaderTooLargeError:
                self.send_error(431)
                self.wfile.flush()
                return

    def handle_expect_100(self) -> bool:
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def do_POST(self) -> None:
        if self.command not in self._service.methods:
            self.send_error(405)
            return
        if self.headers.defects:
            self.send_error(400, "malformed headers")
            return
        length = self._declared_length()
        if length is None:
            self.send_error(400, "bad Content-Length")
            return
        body = self._body(length)
        if body is not None:
            with self._answering():
                self._send(self._answer(body, is_too_large=length >= self._service.max_body))

    do_GET = do_HEAD = do_PUT = do_POST  # noqa: N815 - http.server's names

    def _declared_length(self) -> int | None:
        """Return the length of the body; None if a proxy could read it in another way."""
        declared = self.headers.get_all("Content-Length", ["0"])
        is_ambiguous = len(declared) > 1 or (
            "Content-Length" in self.headers and "Transfer-Encoding" in self.headers
        )
        if is_ambiguous or not _LENGTH.fullmatch(declared[0].strip(" \t")):
            return None
        return int(declared[0])

    def _body(self, length: int) -> bytes | None:
        """Read a body, and keep it if it is not too large; None if the client stops sending."""
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body without a length is left unread
        self._reader.expect_body(length, BODY_TIMEOUT)
        if length < self._service.max_body:
            body = self.rfile.read(length)
            self.close_connection = self.close_connection or len(body) < length
            return None if len(body) < length else body
        # Read to the end without keeping it, so that the client gets to read the answer.
        while length > 0 and (chunk := self.rfile.read(min(length, CHUNK))):
            length -= len(chunk)
        self.close_connection = True
        return b""

    def _answer(self, body: bytes, *, is_too_large: bool) -> Response:
        try:
            url = urlsplit(self.path)
        except ValueError as error:
            return Response(400, f"{error}\n".encode())
        request = Request(
            path="/" + unquote(url.path).strip("/"),
            query=parse_qs(url.query, keep_blank_values=True),
            headers={name.lower(): value for name, value in self.headers.items()},
            method=self.command,
            body=body,
            is_too_large=is_too_large,
        )
        try:
            return self._service.respond(request)
        except BaseException:  # noqa: BLE001 - the client is answered, even after SystemExit
            _log.exception("%s: %s %s failed", self._service.name, self.command, request.path)
            return Response(500, b"internal server error\n")

    def _send(self, response: Response) -> None:
        if self._is_stopping() or response.stream is not None:
            self.close_connection = True
        self.connection.settimeout(BODY_TIMEOUT)
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        if response.stream is None:  # else it ends with the connection
            self.send_header("Content-Length", str(len(response.body)))
        self.send_header("Cache-Control", "no-cache, private")
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        self.wfile.flush()
        if response.stream is not None:
            self._send_stream(response.stream)

    def _send_stream(self, stream: Generator[bytes, None, None]) -> None:
        with contextlib.closing(stream):
            for part in stream:
                if self.command == "HEAD" or self._is_stopping():
                    return
                self.wfile.write(part)
                self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        _log.debug("%s: %s: " + format, self._service.name, self.address_string(), *args)
