"""The connection that is left after a switch of protocols (101): bytes both ways, non-blocking.

Promises: one thread may receive while others send. A lock guards the socket, because TLS of Python
before 3.13 must not be used by two threads at a time. No call but :meth:`UpgradedConnection.wait`
blocks, and an abort of the answer ends that too.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from typing import Any

from urllib3.util.ssltransport import SSLTransport
from urllib3.util.wait import wait_for_socket

from clientgo.rest.errors import (
    ConnectionLostError,
    RequestStoppedError,
    TransportError,
    transport_error,
)
from clientgo.rest.transport.body import READ_SIZE
from clientgo.rest.transport.in_flight import InFlight
from clientgo.util.copies import uncopyable

_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@uncopyable("it is a connection to a server; make one in each process")
class UpgradedConnection:
    """What an answer of 101 leaves; closed with its answer. Thread-safe.

    Its methods raise :class:`~clientgo.rest.errors.TransportError`.
    """

    def __init__(
        self, method: str, url: str, in_flight: InFlight, response: http.client.HTTPResponse
    ) -> None:
        self._request = method, url
        self._in_flight = in_flight
        self._lock = threading.Lock()
        self._sock: Any = in_flight.sock
        if isinstance(self._sock, SSLTransport):
            raise ConnectionLostError(
                method,
                url,
                "streams through an https:// proxy to an https:// server are not supported; "
                "use an http:// proxy",
            )
        self._sock.settimeout(0)
        self._early = _read_ahead(response)

    def receive(self) -> bytes | None:
        """Return what has arrived; None if nothing has, empty at the end of the connection."""
        try:
            with self._lock:
                data: bytes = self._early or self._sock.recv(READ_SIZE)
                self._early = b""
        except _NOT_NOW:
            return None
        except OSError as error:
            raise self._error(error) from error
        if not data and self._in_flight.aborted:
            raise self._error(EOFError())
        return data

    def send(self, data: bytes | memoryview) -> int:
        """Return how many bytes of ``data`` the system took."""
        try:
            with self._lock:
                return int(self._sock.send(data))
        except _NOT_NOW:
            return 0
        except OSError as error:
            raise self._error(error) from error

    def wait(self, *, read: bool, write: bool, timeout: float | None = None) -> bool:
        """Wait until something can be received or sent; return False after ``timeout`` seconds."""
        return wait_for_socket(self._sock, read, write, timeout)

    def _error(self, error: Exception) -> TransportError:
        if self._in_flight.aborted:
            return RequestStoppedError(*self._request, "stopped while it was open")
        return transport_error(*self._request, error)


def _read_ahead(response: http.client.HTTPResponse) -> bytes:
    """Return what came along with the head of the answer."""
    try:
        return bytes(response.fp.peek())
    except _NOT_NOW:
        return b""
