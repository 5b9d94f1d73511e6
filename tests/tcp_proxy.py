"""A TCP proxy between client and server that a test can cut.

Promises that after :meth:`TCPProxy.cut` every connection through it is dead and new ones are
refused, and that after :meth:`TCPProxy.mend` the same address works again. Tests put it between a
component and an API server that continues to serve other clients. Does not delay, reorder or alter
bytes.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

from clientgo.util.process import SupervisedThread

_BLOCK = 64 * 1024


class TCPProxy:
    """Forwards connections on a loopback port to ``host:port``. A context manager; thread-safe."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Forward connections, from now on or again."""
        with self._lock:
            if self._listener is not None:
                return
            listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
            self._listener = listener
            self.port = listener.getsockname()[1]
            self._start_locked(self._accept, listener)

    def cut(self) -> None:
        """Kill every connection and refuse new ones; returns when none is left."""
        with self._lock:
            listener, self._listener = self._listener, None
            ends = {*self._open, *([listener] if listener else [])}
            threads, self._threads = self._threads, []
            for end in ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        if listener is not None:
            listener.close()

    def __enter__(self) -> Self:
        self.mend()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cut()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # it was cut
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            with self._lock:
                if self._listener is not listener:
                    client.close()
                    server.close()
                    return
                self._open |= {client, server}
                self._start_locked(self._forward, client, server)
                self._start_locked(self._forward, server, client)

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        # An end that fails or closes takes the other one with it, as a dead network does.
        with contextlib.suppress(OSError):
            while block := source.recv(_BLOCK):
                sink.sendall(block)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
        source.close()

    def _start_locked(self, run: object, *ends: socket.socket) -> None:
        assert callable(run)
        self._threads.append(
            SupervisedThread.started(run, args=ends, name="tcp-proxy", then="its connections end")
        )
