"""A small HTTP server for pages that a program shows of itself, and for webhooks.

Promises: between ``start`` and ``stop`` each path is answered by its handler, every connection in a
thread of its own, within the limits of ``connection.py`` and ``listener.py``.

Does not promise authentication, HTTP/2, or to be fast: it is for probes, scrapes and API servers.

Differs from client-go, which leaves this to Go's own server.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from clientgo.observe.serving.connection import Service
from clientgo.observe.serving.listener import MAX_CONNECTIONS, Listener
from clientgo.observe.serving.messages import NOT_FOUND, Handler, Request, Response
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import ForkAwareContext

_log = logging.getLogger("clientgo.observe.serving")

_MAX_BODY: Final = 64 * 1024
"""Bytes. Requests for pages have no body."""

_LOCAL: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""How this machine reaches a server that listens everywhere."""


class ServingError(CopyableError):
    """The server cannot listen on its address."""


@uncopyable("it has threads; make one in each process")
class Server(ForkAwareContext):
    """Serves ``handlers`` by path on ``address``: HOST:PORT, or :PORT for all addresses.

    A handler also gets what is below its path; the longest path wins. Port 0 takes a free one.
    ``name`` stands in logs and names of threads; ``tls`` gives the settings of each handshake and
    may raise ``ValueError`` while it has none. A body of ``max_body`` bytes or more is not kept.
    Raises :class:`ServingError` for a bad address. As a context manager it starts and stops.
    """

    def __init__(
        self,
        address: str,
        handlers: Mapping[str, Handler],
        *,
        name: str = "http",
        tls: Callable[[], ssl.SSLContext] | None = None,
        methods: Collection[str] = ("GET", "HEAD"),
        max_body: int = _MAX_BODY,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._address = address
        self._host, self._port = _parsed(address)
        self._handlers = dict(sorted(handlers.items(), key=lambda item: -len(item[0])))
        self._name = name
        self._tls = tls
        self._service = Service(name, self._respond, frozenset(methods), max_body)
        self._max_connections = max_connections
        self._listener: Listener | None = None

    def start(self) -> None:
        """Begin to listen; does not block. Raises :class:`ServingError` if that is impossible."""
        if self._listener is not None:
            raise RuntimeError(f"{self._name}: this server runs already, at {self.url}")
        try:
            self._listener = Listener(
                self._host,
                self._port,
                self._service,
                self._tls,
                max_connections=self._max_connections,
            )
        except OSError as error:
            raise ServingError(
                f"{self._name}: cannot listen on {self._address}: {error.strerror or error}; "
                "choose another address"
            ) from error
        _log.info("%s: serving %s at %s", self._name, ", ".join(sorted(self._handlers)), self.url)

    def stop(self, timeout: float | None = None) -> list[str]:
        """Stop listening and block until requests in progress are answered. Idempotent.

        Returns the names of threads that still run after ``timeout`` seconds.
        """
        listener, self._listener = self._listener, None
        return [] if listener is None else listener.stop(timeout)

    def _begin_block(self) -> None:
        self.start()

    def _end_block(self) -> None:
        self.stop()

    @property
    def bound(self) -> tuple[str, int]:
        """The host and port where this machine reaches it. Raises ``RuntimeError`` if stopped."""
        if self._listener is None:
            raise RuntimeError(f"{self._name}: this server does not run; start it first")
        return _LOCAL.get(self._host, self._host), self._listener.address[1]

    @property
    def url(self) -> str:
        """The same as a URL."""
        host, port = self.bound
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def _respond(self, request: Request) -> Response:
        for prefix, handler in self._handlers.items():
            if request.path == prefix or request.path.startswith(f"{prefix}/"):
                rest = request.path.removeprefix(prefix).strip("/")
                return handler(replace(request, rest=rest))
        return NOT_FOUND


def _parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ServingError(f"{address!r} is not an address to listen on: write HOST:PORT or :PORT")
    return host.strip("[]"), int(port)
