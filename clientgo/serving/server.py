"""A small HTTP server for what a program shows of itself.

Promises: between ``start`` and ``stop`` each path is answered by its handler, every request in a
thread of its own; an idle server uses no CPU; a client that says nothing, says it too slowly or
says more than a mebibyte is hung up on; ``stop`` returns when all threads have ended.

Does not promise authentication, or anything but GET and HEAD: it is for probes and scrapes inside
a cluster.

Differs from client-go, which leaves this to Go's own server; the paths and texts are those of
``k8s.io/apiserver/pkg/server/healthz``.
"""

from __future__ import annotations

import contextlib
import io
import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from clientgo.process import SupervisedThread
from clientgo.serving.limited_reader import CHUNK, HeaderTooLargeError, LimitedReader

_log = logging.getLogger("clientgo.serving")

_PATIENCE: Final = 5.0
"""Seconds that a client may take to send its request or to read its answer."""

_LINGER: Final = 1.0
"""Seconds for which the rest of a refused request is read and dropped."""


class ServingError(Exception):
    """The server cannot listen where it was told to."""


@dataclass(frozen=True, slots=True)
class Request:
    """``rest`` is what follows the handler's path, without slashes around it.

    Names of ``headers`` are in lower case.
    """

    path: str
    rest: str = ""
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


Handler: TypeAlias = Callable[[Request], Response]
"""Answers a request. It is called by many threads; what it raises is answered with a 500."""


class Server:
    """Serves ``handlers`` by path on ``address``, which is HOST:PORT, or :PORT for everywhere.

    A handler also gets what is below its path; the longest path wins. Port 0 takes a free one.
    ``name`` stands in logs and names of threads; ``tls`` gives what the next handshake uses,
    without it there is none. Raises :class:`ServingError` for an address that is none. As a context
    manager it starts and stops with the block.
    """

    def __init__(
        self,
        address: str,
        handlers: Mapping[str, Handler],
        *,
        name: str = "http",
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._address = address
        self._host, self._port = _parsed(address)
        self._handlers = dict(handlers)
        self._name = name
        self._tls = tls
        self._http: _HTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._bell: socket.socket | None = None

    def start(self) -> None:
        """Begin to listen; does not block. Raises :class:`ServingError` if that is impossible."""
        if self._http is not None:
            raise RuntimeError(f"{self._name}: this server runs already, at {self.url}")
        try:
            self._http = _HTTPServer(self._host, self._port, self._answer, self._name, self._tls)
        except OSError as error:
            raise ServingError(
                f"{self._name}: cannot listen on {self._address}: {error.strerror or error}; "
                "choose another address"
            ) from error
        woken, self._bell = socket.socketpair()
        self._thread = SupervisedThread(
            _serve,
            args=(self._http, woken),
            name=f"{self._name}-server",
            then=f"{self.url} does not answer any more; restart this process",
        )
        self._thread.start()
        _log.info("%s: serving %s at %s", self._name, ", ".join(self._handlers), self.url)

    def stop(self) -> None:
        """Stop listening and block until requests in progress are answered. Idempotent."""
        if self._http is None or self._thread is None or self._bell is None:
            return
        self._bell.close()
        self._thread.join()
        self._http.server_close()
        self._http = self._thread = self._bell = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it can be reached from this machine. Raises ``RuntimeError`` unless it runs."""
        if self._http is None:
            raise RuntimeError(f"{self._name}: this server does not run; start it first")
        host = self._host or "127.0.0.1"
        port = self._http.server_address[1]
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def _answer(self, path: str, query: str, headers: Mapping[str, str]) -> Response:
        path = "/" + unquote(path).strip("/")
        for prefix in sorted(self._handlers, key=len, reverse=True):
            if path == prefix or path.startswith(prefix + "/"):
                rest = path.removeprefix(prefix).strip("/")
                request = Request(path, rest, parse_qs(query, keep_blank_values=True), headers)
                return self._handlers[prefix](request)
        return Response(404, b"404 page not found\n")


def _parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ServingError(f"{address!r} is no address to listen on: write HOST:PORT or :PORT")
    return host.strip("[]"), int(port)


def _serve(http: _HTTPServer, woken: socket.socket) -> None:
    """Answer requests until the other end of ``woken`` is closed."""
    with selectors.DefaultSelector() as selector, woken:
        selector.register(http, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while all(key.fileobj is not woken for key, _ in selector.select()):
            http.handle_request()


def _read_the_rest(connection: socket.socket) -> None:
    """Let a refused client read its answer: closing a socket with unread data resets it."""
    deadline = time.monotonic() + _LINGER
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(CHUNK):
                return


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close() waits for them
    timeout = 0.0  # handle_request() is called when there is one

    def __init__(
        self,
        host: str,
        port: int,
        answer: Callable[[str, str, Mapping[str, str]], Response],
        name: str,
        tls: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        everywhere = not host and socket.has_dualstack_ipv6()
        if everywhere or ":" in host:
            self.address_family = socket.AF_INET6
        self._everywhere = everywhere
        self.answer = answer
        self.name = name
        self.tls = tls
        super().__init__((host, port), _RequestHandler)

    def server_bind(self) -> None:
        # Not that of the superclass, which looks the name of the host up.
        if self._everywhere:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if self.allow_reuse_address:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: object, client_address: object) -> None:
        _log.debug("%s: %s hung up", self.name, client_address, exc_info=True)


class _RequestHandler(BaseHTTPRequestHandler):
    server: _HTTPServer
    server_version = "clientgo"
    sys_version = ""

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request.settimeout(_PATIENCE)
            self.request = self.server.tls().wrap_socket(self.request, server_side=True)
        super().setup()
        reader = LimitedReader(self.connection)
        reader.expect_header(_PATIENCE, _PATIENCE)
        self.rfile = io.BufferedReader(reader, CHUNK)

    def finish(self) -> None:
        super().finish()
        if self.server.tls is not None:
            self.connection.close()

    def handle(self) -> None:
        try:
            super().handle()
        except HeaderTooLargeError:
            self.send_error(431)
            _read_the_rest(self.connection)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        try:
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = self.server.answer(url.path, url.query, headers)
        except BaseException:  # noqa: BLE001 - a page that fails must get an answer too
            _log.exception("%s: %s failed", self.server.name, url.path)
            response = Response(500, b"internal server error\n")
        self.connection.settimeout(_PATIENCE)
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("Cache-Control", "no-cache, private")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command == "GET":
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(response.body)

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        _log.debug("%s: %s: " + format, self.server.name, self.address_string(), *args)
