"""Listening for TLS connections, each served by a thread of its own, up to a number.

Promises: an idle server uses no CPU; a handshake never holds up the next one; at the limit new
connections wait to be accepted; ``stop`` lets requests in progress be answered, ends idle
connections at once and returns with all threads ended, or tells which are not.

Differs from ``http.server.ThreadingHTTPServer``, which polls twice a second, shakes hands in the
thread that accepts, and starts any number of threads.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks.connection import Connection
from clientgo.operator.webhooks.endpoint import Answer, Call

_log = logging.getLogger("clientgo.operator.webhooks")

MAX_CONNECTIONS: Final = 128
"""API servers keep a few connections to a webhook each, and use them again."""

_HANDSHAKE_PATIENCE: Final = 10.0
_PAUSE: Final = 0.1
"""Seconds until the next try to accept, since what is wrong may be so for a while."""

_BACKLOG: Final = 128


class HTTPSServer:
    """Gives the requests that come to ``host`` and ``port`` to ``answer``. Runs once.

    ``context`` is asked for the TLS settings of each handshake; it may raise ``ConfigError``, which
    ends the connection.
    """

    def __init__(
        self,
        host: str,
        port: int,
        answer: Callable[[str, Call], Answer],
        context: Callable[[], ssl.SSLContext],
        *,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._host = host
        self._port = port
        self._answer = answer
        self._context = context
        self._max_connections = max_connections
        self._changed = threading.Condition()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._stopping = threading.Event()
        self._numbers = itertools.count(1)
        self._bell, self._woken = socket.socketpair()
        self._listener: socket.socket | None = None
        self._acceptor: threading.Thread | None = None

    def start(self) -> tuple[str, int]:
        """Begin to listen and return where. Raises ``ConfigError`` if that is impossible."""
        try:
            self._listener = _listen(self._host, self._port)
        except OSError as error:
            self._bell.close()
            self._woken.close()
            raise ConfigError(
                f"webhooks cannot be served at {self._host}:{self._port}: "
                f"{error.strerror or error}; choose another port"
            ) from error
        self._acceptor = threading.Thread(
            target=self._accept_all, args=(self._listener,), name="webhook-server", daemon=True
        )
        self._acceptor.start()
        host, port = self._listener.getsockname()[:2]
        return host, port

    def stop(self, timeout: float) -> list[threading.Thread]:
        """Stop listening; wait ``timeout`` seconds at most. Returns threads that still run."""
        self._stopping.set()
        self._bell.close()
        with self._changed:
            self._changed.notify_all()
        if self._acceptor is None:
            return []
        self._acceptor.join()
        with self._changed:
            connections = dict(self._connections)
        for sock in connections.values():
            _end_reading(sock)
        deadline = time.monotonic() + timeout
        for thread in connections:
            thread.join(max(deadline - time.monotonic(), 0))
        return [thread for thread in connections if thread.is_alive()]

    def _accept_all(self, listener: socket.socket) -> None:
        with listener, self._woken, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while self._wait_for_room():
                selector.select()
                if self._stopping.is_set():
                    return
                try:
                    self._begin(*listener.accept())
                except (OSError, RuntimeError) as error:
                    # The client has gone again, or there are no more files or threads to be had.
                    _log.warning("A connection to the webhook server was lost: %s", error)
                    self._stopping.wait(_PAUSE)

    def _wait_for_room(self) -> bool:
        """Block while there are too many connections; whether to go on at all."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopping.is_set() or len(self._connections) < self._max_connections
            )
        return not self._stopping.is_set()

    def _begin(self, sock: socket.socket, client: Any) -> None:
        thread = threading.Thread(
            target=self._serve,
            args=(sock, client),
            name=f"webhook-connection-{next(self._numbers)}",
            daemon=True,
        )
        with self._changed:
            self._connections[thread] = sock
        try:
            thread.start()
        except RuntimeError:
            self._forget(thread)
            sock.close()
            raise

    def _serve(self, sock: socket.socket, client: Any) -> None:
        try:
            with self._secured(sock) as secured:
                Connection(secured, client, answer=self._answer, is_stopping=self._stopping.is_set)
        except (OSError, ConfigError) as error:
            _log.debug("A connection from %s has ended: %s", client, error)
        finally:
            self._forget(threading.current_thread())

    def _forget(self, thread: threading.Thread) -> None:
        with self._changed:
            del self._connections[thread]
            self._changed.notify_all()

    def _secured(self, sock: socket.socket) -> ssl.SSLSocket:
        """The connection after its handshake; ``sock`` is closed if there is none."""
        try:
            sock.settimeout(_HANDSHAKE_PATIENCE)
            secured = self._context().wrap_socket(
                sock, server_side=True, do_handshake_on_connect=False
            )
        except BaseException:
            sock.close()
            raise
        with self._changed:
            self._connections[threading.current_thread()] = secured
        try:
            secured.do_handshake()
        except BaseException:
            secured.close()
            raise
        # A stop meanwhile may have shut down the old socket, which does nothing any more.
        if self._stopping.is_set():
            _end_reading(secured)
        return secured


def _end_reading(sock: socket.socket) -> None:
    """End the waiting for a request, and not the writing of an answer."""
    with contextlib.suppress(OSError):
        # Not the method of an SSLSocket, which takes its TLS state away under the reader's feet.
        socket.socket.shutdown(sock, socket.SHUT_RD)


def _listen(host: str, port: int) -> socket.socket:
    everywhere = not host and socket.has_dualstack_ipv6()
    if everywhere:
        return socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)
