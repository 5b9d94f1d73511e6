"""One TLS connection: requests in, answers out, each within limits of size and time.

Promises: a header has at most 1 MiB and arrives within 32 s of its first byte, a body within 32 s
more; a connection without a request is closed after 90 s. A client that trickles bytes gains
nothing: the limits are on the whole, not on each read.

Source of the limits: controller-runtime ``pkg/internal/httpserver``.
"""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from clientgo.operator.durations import parse_duration
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks.endpoint import MAX_BODY, Answer, Call
from clientgo.serving.limited_reader import (
    CHUNK,
    HEADER_PATIENCE,
    IDLE_PATIENCE,
    HeaderTooLargeError,
    LimitedReader,
)

_log = logging.getLogger("clientgo.operator.webhooks")

BODY_PATIENCE: Final = 32.0
"""Seconds."""


class Connection(BaseHTTPRequestHandler):
    """Serves one connection; returns from its construction when it is over.

    ``answer`` gets the path and the call, and is called inside ``answering``; ``is_stopping`` says
    that the next answer is the last.
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
        *,
        answer: Callable[[str, Call], Answer],
        answering: Callable[[], AbstractContextManager[None]],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._answer = answer
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
            self._reader.expect_header(IDLE_PATIENCE, HEADER_PATIENCE)
            try:
                self.handle_one_request()
            except HeaderTooLargeError:
                self.send_error(431)
                self.wfile.flush()
                return

    def do_POST(self) -> None:
        declared = self.headers.get("Content-Length", "0")
        if not declared.isdecimal():
            self.send_error(400, "bad Content-Length")
            return
        length = int(declared)
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body without a length is left unread
        url = urlsplit(self.path)
        self._reader.expect_body(length, BODY_PATIENCE)
        too_large = length >= MAX_BODY
        body = b"" if too_large else self.rfile.read(length)
        if too_large:
            self._skip(length)
        elif len(body) < length:
            self.close_connection = True
            return
        call = Call(
            body,
            content_type=self.headers.get("Content-Type", ""),
            timeout=_timeout_in(url.query),
            is_too_large=too_large,
        )
        with self._answering():
            self._send(self._answered(url.path, call))

    do_GET = do_PUT = do_POST  # noqa: N815 - http.server's names; what is no review is refused

    def _answered(self, path: str, call: Call) -> Answer:
        try:
            return self._answer(path, call)
        except Exception:  # noqa: BLE001 - a call that fails must not end the connection silently
            _log.exception("%s: the call failed", path)
            self.close_connection = True
            return Answer(500, b"internal server error\n", "text/plain; charset=utf-8")

    def _skip(self, length: int) -> None:
        """Read a body without keeping it, so that its sender gets to read the answer."""
        while length > 0 and (chunk := self.rfile.read(min(length, CHUNK))):
            length -= len(chunk)
        self.close_connection = True

    def _send(self, answer: Answer) -> None:
        if self._is_stopping():
            self.close_connection = True
        self.connection.settimeout(BODY_PATIENCE)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        _log.debug("%s: " + format, self.address_string(), *args)


def _timeout_in(query: str) -> float | None:
    """How long the caller waits, which API servers say in the URL: ``?timeout=10s``."""
    for text in parse_qs(query).get("timeout", ()):
        try:
            return parse_duration(text) or None
        except ConfigError:
            _log.debug("the timeout %r of a call is no duration", text)
    return None
