"""A small HTTP proxy: plain requests and tunnels, with or without a password."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import threading
from typing import Any
from urllib.parse import urlsplit

_NEEDS_PASSWORD = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
    b"Content-Length: 0\r\n\r\n"
)


class HTTPProxy:
    """Forwards one request, or one tunnel, a connection; ``seen`` has their first lines.

    ``answer`` is sent instead of going anywhere; with ``dies_after`` a tunnel ends after so many
    bytes of what the server sends.
    """

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        password: str = "",
        answer: bytes = b"",
        dies_after: int | None = None,
    ) -> None:
        self._tls = tls
        self._wanted = f"Basic {base64.b64encode(password.encode()).decode()}" if password else ""
        self._answer = answer
        self._dies_after = dies_after
        self.seen: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, name="proxy")]
        self._threads[0].start()

    def __enter__(self) -> HTTPProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,), name="proxy connection")
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(sock)
            if self._tls is not None:
                sock = stack.enter_context(self._tls.wrap_socket(sock, server_side=True))
            head = b""
            while b"\r\n\r\n" not in head:
                received = sock.recv(65536)
                if not received:
                    return
                head += received
            line, _, rest = head.partition(b"\r\n")
            method, target, _ = line.decode().split(" ", 2)
            self.seen.append(f"{method} {target}")
            if self._wanted and f"Proxy-Authorization: {self._wanted}\r\n".encode() not in head:
                sock.sendall(_NEEDS_PASSWORD)
            elif self._answer:
                sock.sendall(self._answer)
            elif method == "CONNECT":
                host, _, port = target.rpartition(":")
                with socket.create_connection((host.strip("[]"), int(port))) as server:
                    sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    self._tunnel(sock, server)
            else:
                url = urlsplit(target)
                with socket.create_connection((url.hostname, url.port)) as server:
                    path = target.partition(url.netloc)[2]
                    server.sendall(f"{method} {path} HTTP/1.1\r\n".encode() + rest)
                    self._tunnel(sock, server)

    def _tunnel(self, client: Any, server: socket.socket) -> None:
        def to_server() -> None:
            with contextlib.suppress(OSError):
                while data := client.recv(65536):
                    server.sendall(data)
            with contextlib.suppress(OSError):  # the client may have broken off
                server.shutdown(socket.SHUT_WR)

        forward = threading.Thread(target=to_server, daemon=True)
        forward.start()
        left = self._dies_after
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data if left is None else data[:left])
                left = None if left is None else left - len(data)
                if left is not None and left <= 0:
                    break
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        forward.join()
