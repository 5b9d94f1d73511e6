"""Requests as bytes, and a client that sends them."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

PATIENCE = 30.0
"""Seconds without an answer that count as a hang."""

_LARGE_PATIENCE = 5
"""Times as long may the answer to a large request take."""


@dataclass(frozen=True, slots=True)
class FuzzedRequest:
    """A request, as bytes on a connection."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def encode(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + self.body


class Wire:
    """Sends bytes and reads answers, over one connection as long as it holds."""

    def __init__(
        self,
        url: str,
        patience: float = PATIENCE,
        context: ssl.SSLContext | None = None,
        token: str | None = None,
    ) -> None:
        """Use TLS with a ``context``, and send the ``token`` with requests that have none."""
        address = urlsplit(url)
        self._address = (address.hostname, address.port)
        self._patience = patience
        self._context = context
        self._token = token
        self._connection: socket.socket | None = None

    def ask(self, request: FuzzedRequest) -> tuple[int, bytes]:
        """Status and body of the answer; of a watch, its first bytes.

        Raises:
            TimeoutError: the server hangs.
        """
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        if self._token and "Authorization" not in dict(request.headers):
            authorization = ("Authorization", f"Bearer {self._token}")
            request = replace(request, headers=(*request.headers, authorization))
        is_large = len(request.body) > 100_000 or "/large" in request.target
        connection.settimeout(self._patience * (_LARGE_PATIENCE if is_large else 1))
        connection.sendall(request.encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += _some(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        sizes = [line.partition(b":")[2] for line in lines if line.startswith(b"content-length:")]
        if not sizes or b"connection: close" in lines:
            self.close()
        elif request.method != "HEAD":
            while len(body) < int(sizes[0]):
                body += _some(connection)
        return int(head.split(b" ", 2)[1]), body

    def babble(self, stream: bytes) -> bytes:
        """Return what the server answers to bytes before it closes the connection."""
        with self._connect() as connection:
            connection.sendall(stream)
            connection.shutdown(socket.SHUT_WR)
            received = b""
            try:
                while chunk := connection.recv(1 << 16):
                    received += chunk
            except (ConnectionResetError, ssl.SSLEOFError):
                pass  # closed before everything was read
        return received

    def _connect(self) -> socket.socket:
        plain = socket.create_connection(self._address, self._patience)
        if self._context is None:
            return plain
        return self._context.wrap_socket(plain, server_hostname=self._address[0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _some(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    if not received:
        raise ConnectionError("the server has hung up without an answer")
    return received
