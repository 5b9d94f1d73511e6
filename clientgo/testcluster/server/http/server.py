"""One HTTP server on one socket, in the running event loop.

Promises: an idle server does nothing: no timer runs. ``serve`` returns when every connection is
closed, or after the grace period, whatever clients do.

Differs from ``uvicorn.Server``, which wakes ten times a second, handles signals, and sleeps a tenth
of a second when it ends. Of uvicorn this uses the configuration and the protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from clientgo.testcluster.server.http.acceptor import Acceptor, connection_limit
from clientgo.testcluster.server.http.protocol import Connections, HttpProtocol

_SHUTDOWN_GRACE = 1.0
"""Seconds that requests get to end when the server stops, and again responses to be read."""

_FAREWELL_GRACE = 0.1
"""Seconds that clients with nothing left to read get to end TLS; idle ones never do."""


class HttpServer:
    """Serves one ASGI application. On the event loop."""

    def __init__(
        self,
        application: Any,
        certificate: Path | None = None,
        key: Path | None = None,
        client_authorities: Path | None = None,
    ) -> None:
        """Prepare to serve; over TLS if there is a certificate.

        Clients may then show a certificate of one of the ``client_authorities``.
        """
        self._config = uvicorn.Config(
            application,
            loop="asyncio",
            http=HttpProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            date_header=False,
            server_header=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            ssl_ca_certs=None if client_authorities is None else str(client_authorities),
            ssl_cert_reqs=ssl.CERT_NONE if client_authorities is None else ssl.CERT_OPTIONAL,
        )
        self._connections = Connections(connection_limit())
        self._stopped = asyncio.Event()

    async def serve(self, listener: socket.socket, started: Callable[[], None]) -> None:
        """Serve until ``stop`` is called; ``started`` is called when connections are accepted."""
        config = self._config
        config.load()
        listener.setblocking(False)
        listener.listen(config.backlog)
        acceptor = Acceptor(self._connections, self._make_protocol, config.ssl)
        with listener:
            async with asyncio.TaskGroup() as group:
                accepting = group.create_task(acceptor.run(listener))
                started()
                await self._stopped.wait()
                accepting.cancel()
        await self._close_connections()

    def _make_protocol(self) -> HttpProtocol:
        return HttpProtocol(self._config, self._connections)

    def stop(self) -> None:
        """Make ``serve`` return."""
        self._stopped.set()

    async def _close_connections(self) -> None:
        """Let requests end for a while, cancel the others, close the connections."""
        open_connections = self._connections.connections
        for connection in list(open_connections):
            connection.shutdown()
        if tasks := set(self._connections.tasks):
            _, unfinished = await asyncio.wait(tasks, timeout=_SHUTDOWN_GRACE)
            for task in unfinished:
                task.cancel()
        if open_connections:
            is_sending = any(
                isinstance(connection, HttpProtocol) and connection.is_sending
                for connection in open_connections
            )
            grace = _SHUTDOWN_GRACE if is_sending else _FAREWELL_GRACE
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._connections.all_closed.wait(), grace)
