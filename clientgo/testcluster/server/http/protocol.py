"""A client's connection: HTTP/1.1 with limits on size and time.

Promises: a client that sends its request too slowly, or stops reading its response, is disconnected
and holds little memory until then; a client that reads slowly is not. TCP keep-alive finds a dead
peer. Malformed HTTP is answered with 400, a head that is too long with 431, a connection above the
limit with 503, in plain text. A request knows its connection, so that faults can cut a response; it
can also take it over (101).

Differs from Go's ``net/http`` (set up by apiserver ``server/secure_serving.go``): the time limit of
a response is for progress, not for the whole of it.
"""

from __future__ import annotations

import asyncio
import functools
import math
import re
import socket
from collections.abc import Sequence
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from clientgo.testcluster.server.http.messages import CONNECTION, SEND_WHOLE, UPGRADE
from clientgo.testcluster.server.http.response_transport import ResponseTransport, send_whole

HEAD_LIMIT = 1024 * 1024
"""Bytes of request line and headers; what Go accepts by default."""

HEAD_TIMEOUT = 32.0
"""Seconds from the start of a request or connection to the end of its headers."""

BODY_TIMEOUT = 60.0
"""Seconds from there to the end of the body; upstream's limit for a whole request."""

STALL_TIMEOUT = 60.0
"""Seconds that a client may read nothing of its response."""

KEEP_ALIVE_TIMEOUT = 90.0
"""Seconds that a connection is kept between requests."""

_PARSED_URL = 2**16 - 1
"""Bytes of the longest URL that the parser takes apart."""

_KEEP_ALIVE_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A dead peer is noticed after two minutes."""

_METHOD = re.compile(rb"\r?\n?([!#$%&'*+.^_`|~0-9A-Za-z-]+) ")

_PARSED_METHODS = frozenset(
    (
        b"ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY "
        b"MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT REBIND "
        b"REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE"
    ).split()
)
"""Methods that the parser knows."""

_UNKNOWN_METHOD = b"SOURCE"
"""What the parser is given instead of a method that it does not know. Nothing serves either."""

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Connections(ServerState):
    """The open connections of a server and the tasks that answer their requests."""

    def __init__(self, limit: int) -> None:
        """Take connections up to a ``limit``; those above it get a 503."""
        super().__init__()
        self.limit = limit
        self.all_closed = asyncio.Event()
        self.all_closed.set()


class HttpProtocol(HttpToolsProtocol):
    """Reads requests, gives them to the application, writes responses. On the event loop.

    One timer serves all deadlines. When it fires, it checks whether they have moved meanwhile, so
    that most requests need no timer of their own.
    """

    def __init__(self, config: Config, connections: Connections) -> None:
        super().__init__(config, connections, app_state={})
        self._open = connections
        self._read_deadline = math.inf
        self._write_deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._responses: ResponseTransport
        self._unsent = 0
        self._outside_body = 0
        """Bytes received since the last byte of a body."""
        self._in_head = False
        self._between_requests = True
        self._has_called = False
        self._waits_since = self.loop.time()
        self.is_replaced = False
        """Set by the acceptor, which closes the connection."""
        self._extensions: dict[str, Any] = {}
        self._stream: asyncio.StreamReaderProtocol | None = None
        """What reads and writes once HTTP is over."""

    # -- called by the acceptor

    @property
    def is_waiting(self) -> bool:
        """Return True while no complete request waits for its response."""
        cycle = self.cycle
        is_answering = cycle is not None and not (cycle.response_complete or cycle.more_body)
        is_busy = is_answering or self.pipeline or self._stream is not None
        return not (is_busy or self.is_replaced)

    def replacement_order(self) -> tuple[bool, float]:
        """Return a sort key: clients that have never completed a request come first."""
        return self._has_called, self._waits_since

    # -- called by the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request of a client."""
        super().connection_made(transport)
        self._open.all_closed.clear()
        # What the kernel does not take immediately counts as not read. (With 0, TLS never writes.)
        transport.set_write_buffer_limits(high=1)
        self._raw = transport
        self.transport = self._responses = ResponseTransport(transport, self.loop)
        if len(self.connections) > self._open.limit:
            self._refuse(503, f"too many connections: the limit is {self._open.limit}")
            return
        _enable_keep_alive(transport.get_extra_info("socket"))
        self._expect_within(HEAD_TIMEOUT)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        if self._stream is not None:
            self._stream.connection_lost(exc)
        if not self.connections:
            self._open.all_closed.set()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read more of a request."""
        if self._stream is not None:
            self._stream.data_received(data)
            return
        self._outside_body += len(data)
        if self._between_requests:
            data = _with_parsed_method(data)
        super().data_received(data)
        if self._outside_body > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse(431, "Request Header Fields Too Large")

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Close the connection; a stream may still have something to send."""
        return None if self._stream is None else self._stream.eof_received()

    def pause_writing(self) -> None:
        """Begin to wait for a client that reads too slowly."""
        if self._stream is not None:
            self._stream.pause_writing()
            return
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._write_deadline = self.loop.time() + STALL_TIMEOUT
        self._set_timer()

    def resume_writing(self) -> None:
        """End the wait: the client has read everything."""
        if self._stream is not None:
            self._stream.resume_writing()
        super().resume_writing()
        self._write_deadline = math.inf

    @property
    def is_sending(self) -> bool:
        """Return True if the client has not yet read all that was written."""
        return self.flow.write_paused

    # -- called by the parser

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._extensions = {CONNECTION: self.transport}
        self.scope["extensions"] = self._extensions
        self._in_head = True
        self._between_requests = False
        self._expect_within(HEAD_TIMEOUT)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; ignore a trailer."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the head and begin to answer; the body may follow."""
        self._in_head = False
        self._check_head()
        self._expect_within(BODY_TIMEOUT)
        query = self._cut_long_query()
        self._responses.hold_next()
        super().on_headers_complete()
        self._extensions[SEND_WHOLE] = functools.partial(send_whole, self.cycle, self._responses)
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False  # the parser reads no other request after this one
            self._extensions[UPGRADE] = self._upgrade
        if query:
            self.scope["query_string"] = query

    def on_body(self, body: bytes) -> None:
        """Read more of a body."""
        self._outside_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the wait for the request."""
        self._between_requests = True
        self._has_called = True
        self._outside_body = 0
        self._read_deadline = math.inf
        super().on_message_complete()
        if self.cycle.response_complete:
            self._expect_within(KEEP_ALIVE_TIMEOUT)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, or answer it if it has come already."""
        self._waits_since = self.loop.time()
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._between_requests:
            self._expect_within(KEEP_ALIVE_TIMEOUT)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(400, msg)

    def _upgrade(
        self, headers: Sequence[tuple[str, str]]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Answer 101, and give the connection to the request; it has no time limits any more."""
        lines = [STATUS_LINE[101], *(f"{name}: {value}\r\n".encode() for name, value in headers)]
        self._responses.write_whole(b"".join([*lines, b"\r\n"]), b"")
        self.cycle.response_started = self.cycle.response_complete = True
        self._read_deadline = self._write_deadline = math.inf
        reader = asyncio.StreamReader(loop=self.loop)
        self._stream = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        self._stream.connection_made(self._raw)
        return reader, asyncio.StreamWriter(self._raw, self._stream, reader, self.loop)

    # -- checks

    def _check_head(self) -> None:
        """Check what the parser does not.

        Raises:
            ValueError: the request is malformed; the parser turns it into its own error.
        """
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise ValueError(f"{hosts} Host headers")
        if _BAD_ESCAPE.search(self.url.partition(b"?")[0]):
            raise ValueError("bad percent-encoding")

    def _cut_long_query(self) -> bytes:
        """Return the query and cut it off, if the URL is longer than the parser takes."""
        if len(self.url) <= _PARSED_URL:
            return b""
        self.url, _, query = self.url.partition(b"?")
        return query

    def _refuse(self, status: int, message: str) -> None:
        """Answer in plain text and close; only close if another response is due."""
        if self._may_answer():
            head = (
                b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n"
            ) % len(message)
            self.transport.write(STATUS_LINE[status] + head + message.encode("ascii"))
        self.transport.close()

    def _may_answer(self) -> bool:
        """Return True if a client would read what is written now as the response."""
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
        self._timer = self.loop.call_at(due, self._check_deadlines) if due < math.inf else None

    def _check_deadlines(self) -> None:
        """Close the connection if a deadline has passed."""
        self._timer = None
        now = self.loop.time()
        if now >= self._write_deadline and (left := self.transport.get_write_buffer_size()):
            if left >= self._unsent:
                self.transport.abort()
                return
            self._unsent = left
            self._write_deadline = now + STALL_TIMEOUT
        if now >= self._read_deadline:
            if self._between_requests:
                self.transport.close()
            else:
                self.transport.abort()
            return
        self._set_timer()


def _with_parsed_method(data: bytes) -> bytes:
    """Return the begin of a request with a method that the parser does not refuse.

    A real API server answers any method: with 405, or where methods do not matter.
    """
    found = _METHOD.match(data)
    if found is None or found[1] in _PARSED_METHODS:
        return data
    return data[: found.start(1)] + _UNKNOWN_METHOD + data[found.end(1) :]


def _enable_keep_alive(connection: socket.socket) -> None:
    """Let the kernel find out that the other end is dead."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE_PROBES.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
