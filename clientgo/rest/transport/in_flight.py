"""Requests that another thread can abort.

Promises that :meth:`InFlight.abort` ends within milliseconds whatever its request is blocked in:
connecting, the TLS handshake, sending, waiting, reading. The connection is not used again.

Does not interrupt the resolution of a host name: the C library does not allow it.

Go cancels a request through its context. Here a request holds a duplicate of its socket's
descriptor: the socket object may be wrapped for TLS, replaced or closed in the meantime. Between
requests the connection keeps the duplicate.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from clientgo.rest.transport.response_head import Response
from clientgo.util.process import renew_in_child
from clientgo.util.wait import call_when_set


class InFlight:
    """One request on the wire, aborted by itself when ``stop`` is set; thread-safe."""

    __slots__ = (
        "__weakref__",
        "_aborted",
        "_handle",
        "_lock",
        "_registration",
        "sock",
        "timeout",
    )

    def __init__(self, stop: threading.Event | None = None, timeout: float | None = None) -> None:
        self._lock = threading.Lock()
        self.timeout = timeout
        """How long each send and read on an open connection may block."""
        self.sock: Any = None
        """The socket of the request, with TLS if there is."""
        self._handle: socket.socket | None = None
        self._aborted = False
        self._registration = call_when_set(stop, self.abort) if stop is not None else None
        renew_in_child(self, "_lock", renew=InFlight._leave_to_parent)

    @property
    def aborted(self) -> bool:
        return self._aborted

    def abort(self) -> None:
        """Abort the request. Idempotent; does not block."""
        with self._lock:
            self._aborted = True
            if self._handle is not None:
                _shut_down(self._handle)

    def attach(self, sock: Any, handle: socket.socket | None = None) -> None:
        """Set the socket of the request; shut it down if the request was aborted already.

        ``handle`` is a duplicate of it that the request may keep until its release.
        """
        if handle is None:
            handle = socket.socket(fileno=os.dup(sock.fileno()))
        with self._lock:
            self._close_handle_locked()
            self.sock = sock
            self._handle = handle
            if self._aborted:
                _shut_down(handle)

    def set_timeout(self, seconds: float | None) -> None:
        """How long the next read may block."""
        if self.sock is not None:
            self.sock.settimeout(seconds)

    def release(self, connection: _Abortable | None = None) -> bool:
        """The request is over, an abort touches nothing any more; whether this call ended it.

        ``connection`` gets the duplicate of its socket back, for its next request.
        """
        if self._registration is not None:
            self._registration.cancel()
        with self._lock:
            self.sock = None
            if self._handle is None or self._aborted or connection is None:
                return self._close_handle_locked()
            connection.keep(self._handle)
            self._handle = None
            return True

    def _leave_to_parent(self) -> None:
        """In a forked child: close its descriptors, so that the parent's close ends the connection.

        The connection itself must not be shut down, nor spoken to: the parent goes on with it.
        """
        for sock in (self.sock, self._handle):
            if sock is not None and (descriptor := sock.detach()) >= 0:
                os.close(descriptor)

    def _close_handle_locked(self) -> bool:
        if self._handle is None:
            return False
        self._handle.close()
        self._handle = None
        return True


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # not connected any more: nothing to abort
        sock.shutdown(socket.SHUT_RDWR)


class _Current(threading.local):
    request: InFlight | None = None


_current = _Current()


@contextlib.contextmanager
def carrying(request: InFlight) -> Iterator[None]:
    """Connections that this thread uses in the block attach themselves to ``request``.

    urllib3 has no way to hand a connection something along with a request; that both run in one
    thread is what connects them.
    """
    _current.request = request
    try:
        yield
    finally:
        _current.request = None


class PooledResponse(Response):
    """A response that gives its connection back; urllib3's own would decode and read the body.

    The pool sets the first three attributes, and logs the others.
    """

    retries: Any = None
    _connection: _Abortable | None = None
    _pool: Any = None
    version_string = "HTTP/1.1"
    length_remaining: int | None = None

    def end(self, request: InFlight) -> None:
        """Release the request, close the response, and give the connection back. Idempotent."""
        if not request.release(self._connection):
            return
        self.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            if request.aborted:
                connection.close()
            self._pool._put_conn(connection)


class FewTimeouts:
    """A socket that sets its timeout only if it changes.

    urllib3 sets it several times for a request. Each is a system call in which another thread takes
    the interpreter.
    """

    def settimeout(self, value: float | None) -> None:
        if value != self.gettimeout():  # type: ignore[attr-defined]
            super().settimeout(value)  # type: ignore[misc]


class PlainSocket(FewTimeouts, socket.socket):
    """A socket without TLS."""


class TLSSocket(FewTimeouts, ssl.SSLSocket):
    """A socket with TLS."""


class _Abortable(HTTPConnection):
    response_class = PooledResponse

    def __init__(self, host: str, *args: Any, **options: Any) -> None:
        super().__init__(host, *args, **options)
        self._given_host = host  # with the dot at its end, if it has one: then it is absolute
        self._held: list[bytes] | None = None
        self._handle: socket.socket | None = None

    def keep(self, handle: socket.socket) -> None:
        """Keep a duplicate of the socket until the next request."""
        if self.sock is None:  # the response had the socket to itself
            handle.close()
        else:
            self._handle = handle

    def close(self) -> None:
        super().close()
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def _new_conn(self) -> socket.socket:
        """Connect, abortable from the first packet on; raises as urllib3's own method does."""
        try:
            addresses = socket.getaddrinfo(self._given_host, self.port, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        for position, (family, kind, protocol, _, address) in enumerate(addresses, 1):
            try:
                return self._connect_to(PlainSocket(family, kind, protocol), address)
            except OSError as error:
                if position < len(addresses):
                    continue
                if isinstance(error, TimeoutError):
                    raise ConnectTimeoutError(self, f"no connection to {self.host}") from error
                raise NewConnectionError(self, f"no connection: {error}") from error
        raise NewConnectionError(self, f"no address for {self.host}")

    def _connect_to(self, sock: socket.socket, address: Any) -> socket.socket:
        try:
            for option in self.socket_options or ():
                sock.setsockopt(*option)
            sock.settimeout(self.timeout)
            if _current.request is not None:
                _current.request.attach(sock)
            sock.connect(address)
        except BaseException:
            sock.close()
            raise
        return sock

    def request(self, method: str, url: str, body: Any = None, *args: Any, **options: Any) -> None:
        if self.sock is not None and _current.request is not None:
            handle, self._handle = self._handle, None
            _current.request.attach(self.sock, handle)
            self.timeout = _current.request.timeout  # that to connect has been kept
        if not isinstance(body, bytes | None):
            super().request(method, url, body, *args, **options)
            return
        # In one piece: http.client sends a body apart from its headers.
        held: list[bytes] = []
        self._held = held
        try:
            super().request(method, url, body, *args, **options)
        finally:
            self._held = None
        super().send(b"".join(held))

    def getresponse(self) -> Any:
        self.sock.settimeout(self.timeout)
        return http.client.HTTPConnection.getresponse(self)

    def send(self, data: Any) -> None:
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)


class AbortableHTTPConnection(_Abortable):
    """A connection whose requests can be aborted."""


class AbortableHTTPSConnection(_Abortable, HTTPSConnection):
    """A TLS connection whose requests can be aborted."""


class AbortableHTTPPool(HTTPConnectionPool):
    ConnectionCls = AbortableHTTPConnection


class AbortableHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = AbortableHTTPSConnection
