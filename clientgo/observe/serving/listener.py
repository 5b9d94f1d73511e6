"""Accepting connections, each served by a thread of its own, up to a number.

Promises: an idle server uses no CPU; a TLS handshake delays no other; at the limit a new connection
replaces the one that has waited longest for a complete request, so that idle and slow clients do
not keep others out; ``stop`` ends idle connections immediately and lets requests be answered.

Differs from ``http.server.ThreadingHTTPServer``, which polls twice a second, does handshakes in the
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

from clientgo.observe.serving.connection import Connection, Service
from clientgo.util.process import SupervisedThread, join_threads

_log = logging.getLogger("clientgo.observe.serving")

MAX_CONNECTIONS: Final = 128
"""API servers and Prometheus keep a few connections each, and use them again."""

_HANDSHAKE_TIMEOUT: Final = 10.0
"""Seconds."""

_PAUSE: Final = 0.1
"""Seconds until the next try to accept after an error, which may last."""

_BACKLOG: Final = 128


@dataclass(eq=False, slots=True)
class _Client:
    """A connection as the listener sees it."""

    sock: socket.socket
    waits_since: float = field(default_factory=time.monotonic)
    has_called: bool = False
    is_answered: bool = False
    """True from the end of a request until its answer is sent."""
    is_replaced: bool = False

    def replacement_order(self) -> tuple[bool, float]:
        """Return a sort key: clients that have never completed a request come first."""
        return self.has_called, self.waits_since


class Listener:
    """Serves the connections that come to ``host`` and ``port``, from its construction to ``stop``.

    ``tls`` gives the settings of each handshake; it may raise ``ValueError``, which ends the
    connection. Raises ``OSError`` if it cannot listen there.
    """

    def __init__(
        self,
        host: str,
        port: int,
        service: Service,
        tls: Callable[[], ssl.SSLContext] | None,
        *,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._service = service
        self._tls = tls
        self._max_connections = max_connections
        self._changed = threading.Condition()
        self._clients: dict[threading.Thread, _Client] = {}
        self._stopping = threading.Event()
        self._has_warned = False
        self._numbers = itertools.count(1)
        listener = _listen(host, port)
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self._wakeup, woken = socket.socketpair()
        try:
            self._acceptor = SupervisedThread.started(
                self._accept_all,
                args=(listener, woken),
                name=f"{service.name}-server",
                then="no more connections are accepted; restart the program",
            )
        except BaseException:
            for sock in (listener, woken, self._wakeup):
                sock.close()
            raise

    def stop(self, timeout: float | None = None) -> list[str]:
        """Stop; wait for requests in progress, ``timeout`` seconds at most. Idempotent.

        Returns the names of threads that still run.
        """
        self._stopping.set()
        self._wakeup.close()
        with self._changed:
            self._changed.notify_all()
        self._acceptor.join()
        with self._changed:
            clients = dict(self._clients)
        for client in clients.values():
            # Ends the wait for a request, and not the sending of an answer.
            _shut_down(client.sock, socket.SHUT_RD)
        return join_threads(clients, timeout)

    # In the thread that accepts

    def _accept_all(self, listener: socket.socket, woken: socket.socket) -> None:
        with listener, woken, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while selector.select() and self._make_room():
                try:
                    self._begin(*listener.accept())
                except (OSError, RuntimeError) as error:
                    # The client has gone, or no file or thread is left, which may last.
                    level = logging.DEBUG if self._has_warned else logging.WARNING
                    self._has_warned = True
                    _log.log(
                        level,
                        "%s: a connection was lost: %s; this is not logged again",
                        self._service.name,
                        error,
                    )
                    with self._changed:
                        self._replace_one_locked()
                    self._stopping.wait(_PAUSE)

    def _make_room(self) -> bool:
        """Return True when one more connection may begin, False when the server stops.

        Blocks only while all connections are being answered.
        """
        with self._changed:
            while not self._stopping.is_set():
                if len(self._clients) < self._max_connections:
                    return True
                self._replace_one_locked()
                self._changed.wait()
        return False

    def _replace_one_locked(self) -> None:
        clients = self._clients.values()
        if any(client.is_replaced for client in clients):
            return
        waiting = [client for client in clients if not client.is_answered]
        if waiting:
            replaced = min(waiting, key=_Client.replacement_order)
            replaced.is_replaced = True
            _shut_down(replaced.sock, socket.SHUT_RDWR)

    def _begin(self, sock: socket.socket, address: Any) -> None:
        thread = SupervisedThread(
            self._serve,
            args=(sock, address),
            name=f"{self._service.name}-connection-{next(self._numbers)}",
            then="its connection is closed",
        )
        with self._changed:
            self._clients[thread] = _Client(sock)
        try:
            thread.start()
        except RuntimeError:
            self._forget(thread)
            sock.close()
            raise

    # In the thread of a connection

    def _serve(self, sock: socket.socket, address: Any) -> None:
        try:
            with sock if self._tls is None else self._secured(sock, self._tls) as connection:
                Connection(
                    connection,
                    address,
                    self._service,
                    answering=self._answering,
                    is_stopping=self._stopping.is_set,
                )
        except OSError as error:
            _log.debug("%s: the connection of %s has ended: %s", self._service.name, address, error)
        finally:
            sock.close()
            self._forget(threading.current_thread())

    def _secured(self, sock: socket.socket, tls: Callable[[], ssl.SSLContext]) -> ssl.SSLSocket:
        """Return the connection after its handshake. Raises ``OSError``."""
        sock.settimeout(_HANDSHAKE_TIMEOUT)
        try:
            context = tls()
        except ValueError as error:
            raise ConnectionAbortedError(str(error)) from error
        secured = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        with self._changed:
            client = self._clients[threading.current_thread()]
            client.sock = secured
            if client.is_replaced:
                _shut_down(secured, socket.SHUT_RDWR)
        try:
            secured.do_handshake()
        except BaseException:
            secured.close()
            raise
        # If it stopped meanwhile, it may have shut down the old socket, which has no effect now.
        if self._stopping.is_set():
            _shut_down(secured, socket.SHUT_RD)
        return secured

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Protect this thread's connection from being replaced while its request is answered.

        Raises ``ConnectionAbortedError`` if it is replaced already.
        """
        with self._changed:
            client = self._clients[threading.current_thread()]
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
            del self._clients[thread]
            self._changed.notify_all()


def _shut_down(sock: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        # Not the method of SSLSocket: that one drops the TLS state while a thread still reads.
        socket.socket.shutdown(sock, how)


def _listen(host: str, port: int) -> socket.socket:
    if not host and socket.has_dualstack_ipv6():
        return socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)
