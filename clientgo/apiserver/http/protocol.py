"""A client's connection: HTTP/1.1 as the parser reads it, with limits on size and patience.

Promises: a client that sends its request slowly, stops in the middle, or does not read its answer
is hung up on after a while, and holds little memory until then; a client that goes on reading, if
slowly, is not. A dead machine at the other end is found by TCP keep-alive. What is no HTTP is a
400, what has too long a head a 431, in plain text, as by a real API server.

A request can be followed to the connection it came by, which is where an answer can be cut between
any two bytes. There are so many connections at most; one more is told so, and hung up on.

Differs from Go's ``net/http``, which apiserver ``server/secure_serving.go`` sets up, in that the
patience with an answer is for progress and not for the whole of it.
"""

from __future__ import annotations

import asyncio
import math
import re
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from clientgo.apiserver.http.messages import CONNECTION

CONNECTION_LIMIT = 1000
"""Clients at a time: fewer than the files that a process may usually have open."""

HEAD_LIMIT = 1024 * 1024
"""Bytes of request line and headers; what Go accepts by default."""

HEAD_TIMEOUT = 32.0
"""Seconds from the first byte of a request, or the connection, to the end of its headers."""

BODY_TIMEOUT = 60.0
"""Seconds from there to the end of the body: what a whole request may take upstream."""

STALL_TIMEOUT = 60.0
"""Seconds that a client may go without reading anything of what is sent to it."""

KEEP_ALIVE_TIMEOUT = 90
"""Seconds that a connection is kept between requests."""

_KEEP_ALIVE_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""Two minutes until a dead peer is noticed."""

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class HttpProtocol(HttpToolsProtocol):
    """Reads requests, hands them to the application, writes answers. On the event loop.

    One timer serves all deadlines. When it goes off, it looks whether they have moved meanwhile, so
    that most requests need no timer of their own.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read_deadline = math.inf
        self._write_deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._outside_body = 0
        """Bytes that have come since the last that was part of a body."""
        self._in_head = False

    # -- what the event loop tells

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; its first request is awaited."""
        super().connection_made(transport)
        # What the kernel does not take at once counts as not read. (With 0, TLS never writes.)
        transport.set_write_buffer_limits(high=1)
        if len(self.connections) > CONNECTION_LIMIT:
            self._refuse(503, f"too many connections: the limit is {CONNECTION_LIMIT}")
            return
        _probe(transport.get_extra_info("socket"))
        self._expect_within(HEAD_TIMEOUT)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        self._outside_body += len(data)
        super().data_received(data)
        if self._outside_body > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse(431, "Request Header Fields Too Large")

    def pause_writing(self) -> None:
        """The client reads more slowly than it is written to."""
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._write_deadline = self.loop.time() + STALL_TIMEOUT
        self._set_timer()

    def resume_writing(self) -> None:
        """The client has read everything."""
        super().resume_writing()
        self._write_deadline = math.inf

    # -- what the parser tells

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self.scope["extensions"] = {CONNECTION: self.transport}  # type: ignore[dict-item]
        self._in_head = True
        self._expect_within(HEAD_TIMEOUT)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which must not pass for one."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The request can be answered; its body may follow."""
        self._in_head = False
        self._check_head()
        self._expect_within(BODY_TIMEOUT)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """More of a body."""
        self._outside_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has been read to its end."""
        self._outside_body = 0
        self._read_deadline = math.inf
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(400, msg)

    # -- checks

    def _check_head(self) -> None:
        """Look at what the parser lets pass.

        Raises:
            ValueError: the request is malformed; the parser makes a parser's error of it.
        """
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise ValueError(f"{hosts} Host headers")
        if _BAD_ESCAPE.search(self.url.partition(b"?")[0]):
            raise ValueError("bad percent-encoding")

    def _refuse(self, status: int, message: str) -> None:
        """Answer in plain text and hang up; only hang up while another answer is due."""
        if self._may_answer():
            head = (
                b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n"
            ) % len(message)
            self.transport.write(STATUS_LINE[status] + head + message.encode("ascii"))
        self.transport.close()

    def _may_answer(self) -> bool:
        """Whether what is written now is read as the answer to what has just come."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return True
        return cycle.more_body and not cycle.response_started

    # -- deadlines

    def _expect_within(self, seconds: float) -> None:
        self._read_deadline = self.loop.time() + seconds
        self._set_timer()

    def _set_timer(self) -> None:
        due = min(self._read_deadline, self._write_deadline)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self.loop.call_at(due, self._look) if due < math.inf else None

    def _look(self) -> None:
        """Hang up if a deadline has passed."""
        self._timer = None
        now = self.loop.time()
        if now >= self._write_deadline and (left := self.transport.get_write_buffer_size()):
            if left >= self._unsent:
                self.transport.abort()
                return
            self._unsent = left
            self._write_deadline = now + STALL_TIMEOUT
        if now >= self._read_deadline:
            self.transport.abort()
            return
        self._set_timer()


def _probe(connection: socket.socket) -> None:
    """Have the kernel look now and then whether the other end is still there."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE_PROBES.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
