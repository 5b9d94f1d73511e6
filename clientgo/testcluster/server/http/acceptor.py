"""Accepting connections on the event loop, up to a number.

Promises: idle and slow clients do not keep others out: at the limit a new connection replaces the
one that has waited longest for a complete request, or for TLS. If all are being answered, the new
one gets a 503. The number is below the limit of open files; if no file is left all the same, the
server accepts later. The first time is logged, and no other.

Differs from ``asyncio.Server``, which does not count connections, and logs thousands of tracebacks
a second if no file is left.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Final

from clientgo.testcluster.server.http.protocol import Connections, HttpProtocol
from clientgo.util.process import files_left

LOG = logging.getLogger("clientgo.testcluster.server")

CONNECTION_LIMIT: Final = 1000
"""Connections of a server that may have so many files open."""

_OTHER_FILES: Final = 64
"""Open files that are left for data, webhooks, and what else is in the process."""

_LEAST_CONNECTIONS: Final = 16

_REFUSED_TOGETHER: Final = 16
"""Connections above the limit that are answered with 503; more are closed without an answer."""

_HANDSHAKE_TIMEOUT: Final = 60.0
"""Seconds that a client has for TLS."""

_PAUSE: Final = 0.1
"""Seconds until the next try to accept after an error, which may last."""


def connection_limit() -> int:
    """Return how many connections a server may have, with the files that the process may open."""
    return max(_LEAST_CONNECTIONS, min(CONNECTION_LIMIT, files_left() - _OTHER_FILES))


class Acceptor:
    """Accepts the connections of one server. On the event loop."""

    def __init__(
        self,
        connections: Connections,
        make_protocol: Callable[[], HttpProtocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._connections = connections
        self._make_protocol = make_protocol
        self._tls = tls
        self._beginning: dict[HttpProtocol, asyncio.Task[None]] = {}
        """Connections that are not with their protocol yet; with TLS, after the handshake."""
        self._is_reported = False

    async def run(self, listener: socket.socket) -> None:
        """Accept until cancelled; then end the handshakes."""
        loop = asyncio.get_running_loop()
        pause = asyncio.Event()

        def accept() -> None:
            try:
                sock, _ = listener.accept()
            except (BlockingIOError, ConnectionError):
                return  # the client has gone
            except OSError as error:
                self._report(f"no connection can be accepted: {error.strerror}")
                self._replace_one()
                loop.remove_reader(listener)
                pause.set()
            else:
                sock.setblocking(False)
                self._begin(sock)

        try:
            while True:
                pause.clear()
                loop.add_reader(listener, accept)
                await pause.wait()
                await asyncio.sleep(_PAUSE)
        finally:
            loop.remove_reader(listener)
            for task in self._beginning.values():
                task.cancel()

    def _begin(self, sock: socket.socket) -> None:
        limit, served = self._connections.limit, self._connections.connections
        above = len(served) + len(self._beginning) - limit
        if above >= 0:  # if so, count those only once that are in both
            above = len(served | self._beginning.keys()) - limit
        if above >= 0:
            self._report(f"the limit of {limit} connections is reached")
            if not self._replace_one() and above >= _REFUSED_TOGETHER:
                sock.close()
                return
        protocol = self._make_protocol()
        task = asyncio.get_running_loop().create_task(self._connect(protocol, sock))
        self._beginning[protocol] = task
        task.add_done_callback(lambda _: self._beginning.pop(protocol))

    async def _connect(self, protocol: HttpProtocol, sock: socket.socket) -> None:
        """Pass a connection to its protocol, after the TLS handshake."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                sock,
                ssl=self._tls,
                ssl_handshake_timeout=_HANDSHAKE_TIMEOUT if self._tls else None,
            )
        except OSError as error:
            LOG.debug("a TLS handshake failed: %s", error)

    def _replace_one(self) -> bool:
        """Close the connection that has waited longest for a complete request, if one waits."""
        protocols = self._connections.connections | self._beginning.keys()
        waiting = [
            protocol
            for protocol in protocols
            if isinstance(protocol, HttpProtocol) and protocol.is_waiting
        ]
        if not waiting:
            return False
        replaced = min(waiting, key=HttpProtocol.replacement_order)
        replaced.is_replaced = True
        if replaced in self._connections.connections:
            replaced.transport.abort()
        else:
            self._beginning[replaced].cancel()
        return True

    def _report(self, problem: str) -> None:
        if not self._is_reported:
            self._is_reported = True
            LOG.warning(
                "%s; connections that wait for a request are closed for new ones, and if there are "
                "none, new ones are refused. This is not logged again",
                problem,
            )
