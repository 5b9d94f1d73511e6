"""Listening for TLS connections, each served by a thread of its own, up to a number.

Promises: an idle server uses no CPU; a handshake never holds up the next one; at the limit a new
connection replaces the one that has waited longest for a complete request, so that idle and slow
clients do not keep others out; ``stop`` lets requests in progress be answered, ends idle
connections immediately and returns with all threads ended, or tells which are not.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from clientgo.certificates import CertificateError
from clientgo.operator.errors import ConfigError
from clientgo.operator.webhooks.connection import Connection
from clientgo.operator.webhooks.endpoint import Answer, Call
from clientgo.process import SupervisedThread

_log = logging.getLogger("clientgo.operator.webhooks")

MAX_CONNECTIONS: Final = 128
"""API servers keep a few connections to a webhook each, and use them again."""

_HANDSHAKE_PATIENCE: Final = 10.0
_PAUSE: Final = 0.1
"""Seconds until the next try to accept, since what is wrong may be so for a while."""

_BACKLOG: Final = 128


@dataclass(eq=False, slots=True)
class _Client:
    """A connection as the server sees it."""

    sock: socket.socket
    waits_since: float = field(default_factory=time.monotonic)
    has_called: bool = False
    is_answered: bool = False
    """True from the end of a request until its answer is sent."""
    is_replaced: bool = False

    def may_be_replaced_after(self) -> tuple[bool, float]:
        """Sort key: first the clients that have never completed a request."""
        return self.has_called, self.waits_since


class HTTPSServer:
    """Gives the requests that come to ``host`` and ``port`` to ``answer``. Runs once.

    ``context`` is asked for the TLS settings of each handshake; it may raise ``CertificateError``,
    which ends the connection.
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
        self._connections: dict[threading.Thread, _Client] = {}
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
        self._acceptor = SupervisedThread(
            self._accept_all,
            args=(self._listener,),
            name="webhook-server",
            then="webhooks are not answered any more; restart this process",
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
        for client in connections.values():
            _end_reading(client.sock)
        deadline = time.monotonic() + timeout
        for thread in connections:
            thread.join(max(deadline - time.monotonic(), 0))
        return [thread for thread in connections if thread.is_alive()]

    def _accept_all(self, listener: socket.socket) -> None:
        with listener, self._woken, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while selector.select() and self._make_room():
                try:
                    self._begin(*listener.accept())
                except (OSError, RuntimeError) as error:
                    # The client has gone again, or there are no more files or threads to be had.
                    _log.warning("A connection to the webhook server was lost: %s", error)
                    self._stopping.wait(_PAUSE)

    def _make_room(self) -> bool:
        """Return True when one more connection may begin, False when the server stops.

        Blocks only while all connections are being answered.
        """
        with self._changed:
            while not self._stopping.is_set():
                if len(self._connections) < self._max_connections:
                    return True
                self._replace_one_locked()
                self._changed.wait()
        return False

    def _replace_one_locked(self) -> None:
        clients = self._connections.values()
        if any(client.is_replaced for client in clients):
            return
        waiting = [client for client in clients if not client.is_answered]
        if waiting:
            replaced = min(waiting, key=_Client.may_be_replaced_after)
            replaced.is_replaced = True
            _shut_down(replaced.sock, socket.SHUT_RDWR)

    def _begin(self, sock: socket.socket, client: Any) -> None:
        thread = SupervisedThread(
            self._serve,
            args=(sock, client),
            name=f"webhook-connection-{next(self._numbers)}",
            then="this connection ends; the others go on",
        )
        with self._changed:
            self._connections[thread] = _Client(sock)
        try:
            thread.start()
        except RuntimeError:
            self._forget(thread)
            sock.close()
            raise

    def _serve(self, sock: socket.socket, client: Any) -> None:
        try:
            with self._secured(sock) as secured:
                Connection(
                    secured,
                    client,
                    answer=self._answer,
                    answering=self._answering,
                    is_stopping=self._stopping.is_set,
                )
        except (OSError, CertificateError) as error:
            _log.debug("A connection from %s has ended: %s", client, error)
        finally:
            self._forget(threading.current_thread())

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Protect this thread's connection from being replaced while its request is answered.

        Raises ``ConnectionAbortedError`` if it is replaced already.
        """
        client = self._connections[threading.current_thread()]
        with self._changed:
            if client.is_replaced:
                raise ConnectionAbortedError("a new connection has replaced this one")
            client.is_answered = True
        try:
            yield
        finally:
            with self._changed:
                client.is_answered = False
                client.has_called = True
                client.waits_since = time.monotonic()
                self._changed.notify_all()

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
            client = self._connections[threading.current_thread()]
            client.sock = secured
            if client.is_replaced:
                _shut_down(secured, socket.SHUT_RDWR)
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
    _shut_down(sock, socket.SHUT_RD)


def _shut_down(sock: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        # Not the method of SSLSocket: that one drops the TLS state while a thread still reads.
        socket.socket.shutdown(sock, how)


def _listen(host: str, port: int) -> socket.socket:
    everywhere = not host and socket.has_dualstack_ipv6()
    if everywhere:
        return socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)
