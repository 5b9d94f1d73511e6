"""An HTTP server that follows the script of a test, faults included.

Promises that bytes go out in the pieces, and the connection breaks at the point, that the script
says; that every request is recorded before it is answered; and that nothing sleeps: a script
waits for a gate that the test opens, a test waits for requests that arrive::

    with ScriptedServer() as server:
        server.on("/api/v1/pods", answer_json({"items": []}), hang_up())
        server.on("/api/v1/watched", watch_begin() + watch_events(event) + stay_silent())
        ...
        server.wait_for_requests(2)

Does not promise to be an API server; :mod:`clientgo.testcluster.server` is one. There is nothing
like this in client-go, whose tests script the HTTP round trip inside the process.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import msgspec

from clientgo.util.process import SupervisedThread


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came in. Header names are lower case; ``query`` holds the last of each."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    header_lines: tuple[tuple[str, str], ...]
    body: bytes
    connection: int

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


Step: TypeAlias = Callable[[socket.socket], None]
"""One thing to do with the connection; raising ``OSError`` or ``_HungUpError`` ends it."""

Script: TypeAlias = Sequence[Step]
Answer: TypeAlias = Script | Callable[[RecordedRequest], Script]
"""What to do about a request; scripts are joined with ``+``."""


class _HungUpError(Exception):
    """The script has closed the connection."""


class _NotHTTPError(Exception):
    """What came in is no request; it may be TLS."""


class Gate:
    """Holds a script back until the test opens it; made by :meth:`ScriptedServer.gate`."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._reached = threading.Event()

    def open(self) -> None:
        self._opened.set()

    def wait_until_reached(self, timeout: float = 60.0) -> None:
        """Block until a script stands before the gate; ``TimeoutError`` if none does."""
        if not self._reached.wait(timeout):
            raise TimeoutError(f"no script came to the gate within {timeout} s")

    def hold(self) -> Script:
        """The step of waiting here."""
        return [self._hold]

    def _hold(self, _: socket.socket) -> None:
        self._reached.set()
        self._opened.wait()


def send(*pieces: bytes) -> Script:
    """Send these bytes, each piece in a packet of its own as far as TCP allows."""
    return [lambda sock, piece=piece: sock.sendall(piece) for piece in pieces]  # type: ignore[misc]


def stay_silent() -> Script:
    """Say nothing until the client closes the connection, or the server is closed."""
    return [_wait_for_end]


def hang_up() -> Script:
    """Close the connection in the regular way."""
    return [_hang_up]


def reset() -> Script:
    """Break the connection, so that the client sees a reset."""
    return [_reset]


def answer(
    status: int = 200,
    body: bytes = b"",
    *,
    headers: Iterable[tuple[str, str]] = (),
    content_type: str = "application/json",
    pieces: Callable[[bytes], Iterable[bytes]] = lambda whole: (whole,),
) -> Script:
    """Answer with a body of known length; ``pieces`` cuts the whole message for the wire."""
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return send(*pieces("\r\n".join(lines).encode() + body))


def answer_json(
    content: Any, status: int = 200, *, headers: Iterable[tuple[str, str]] = ()
) -> Script:
    """Answer with this as JSON."""
    return answer(status, msgspec.json.encode(content), headers=headers)


def answer_status(
    code: int, reason: str, message: str = "scripted", *, headers: Iterable[tuple[str, str]] = ()
) -> Script:
    """Answer with a Status that refuses the request."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return answer_json(
        {**status, "reason": reason, "message": message, "code": code}, code, headers=headers
    )


def watch_begin(headers: Iterable[tuple[str, str]] = ()) -> Script:
    """Begin the answer to a watch: headers, no event yet."""
    lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in headers]
    return send("\r\n".join([*lines, "", ""]).encode())


def watch_events(*events: Any) -> Script:
    """Send events as an API server does, each a line in a chunk of its own."""
    return send(*(chunk(msgspec.json.encode(event) + b"\n") for event in events))


def watch_end() -> Script:
    """End the answer to a watch in the regular way."""
    return send(b"0\r\n\r\n")


def chunk(data: bytes) -> bytes:
    """Bytes as one HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


class ScriptedServer:
    """Listens on a port of 127.0.0.1; a context manager. Thread-safe.

    A path without a script is answered with 404. Requests on one connection are answered in turn.
    With ``tls`` it speaks HTTPS, for the name ``localhost``.
    """

    def __init__(self, port: int = 0, *, tls: ssl.SSLContext | None = None) -> None:
        self._changed = threading.Condition()
        self._scripts: dict[str, list[Answer]] = {}
        self._requests: list[RecordedRequest] = []
        self._gates: list[Gate] = []
        self._open: set[socket.socket] = set()
        self._accepted = 0
        self._closed = False
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._tls = tls
        self.url = f"https://localhost:{self.port}" if tls else f"http://127.0.0.1:{self.port}"
        acceptor = SupervisedThread(
            self._accept, name="scripted-server", then="the server accepts no more connections"
        )
        self._threads.append(acceptor)
        acceptor.start()

    def on(self, path: str, *answers: Answer) -> None:
        """Answer requests for this path with these in turn; the last one stays.

        The path is compared without its query; ``*`` stands for every path without a script.
        """
        with self._changed:
            self._scripts[path] = list(answers)

    def gate(self) -> Gate:
        """A gate that is opened at the latest when the server is closed."""
        gate = Gate()
        with self._changed:
            self._gates.append(gate)
        return gate

    @property
    def requests(self) -> list[RecordedRequest]:
        """All requests so far, in the order in which they came in."""
        with self._changed:
            return list(self._requests)

    @property
    def connections(self) -> int:
        """How many connections were accepted so far."""
        with self._changed:
            return self._accepted

    @property
    def open_connections(self) -> int:
        """How many connections neither side has closed."""
        with self._changed:
            return len(self._open)

    def wait_for_requests(self, count: int, timeout: float = 60.0) -> list[RecordedRequest]:
        """Block until so many requests came in, and return them; ``TimeoutError`` otherwise."""
        self._wait(lambda: len(self._requests) >= count, timeout, f"{count} requests")
        return self.requests

    def wait_for_open_connections(self, count: int, timeout: float = 60.0) -> None:
        """Block until exactly so many connections are open; ``TimeoutError`` otherwise."""
        self._wait(lambda: len(self._open) == count, timeout, f"{count} open connections")

    def close(self) -> None:
        """Close the port and every connection, and wait for all threads."""
        with self._changed:
            self._closed = True
            gates, connections = list(self._gates), list(self._open)
        for gate in gates:
            gate.open()
        for sock in [self._listener, *connections]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                last = [f"{request.method} {request.path}" for request in self._requests[-10:]]
                raise TimeoutError(
                    f"expected {what} within {timeout} s; there were {len(self._open)} open "
                    f"connections and {len(self._requests)} requests, the last: {last}"
                )

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                if self._closed:
                    sock.close()
                    return
                self._accepted += 1
                self._open.add(sock)
                number = self._accepted
                thread = SupervisedThread(
                    self._converse,
                    args=(sock, number),
                    name=f"scripted-server-{number}",
                    then="this connection ends",
                )
                self._threads.append(thread)
                self._changed.notify_all()
            thread.start()

    def _converse(self, sock: socket.socket, number: int) -> None:
        try:
            with contextlib.suppress(OSError, _HungUpError):
                self._answer_all(self._secured(sock), number)
        finally:
            with self._changed:
                self._open.discard(sock)
                sock.close()
                self._changed.notify_all()

    def _secured(self, sock: socket.socket) -> socket.socket:
        if self._tls is None:
            return sock
        # A duplicate is wrapped, because the original has to stay usable for closing.
        return self._tls.wrap_socket(sock.dup(), server_side=True)

    def _answer_all(self, sock: socket.socket, number: int) -> None:
        with sock, sock.makefile("rb") as incoming:
            try:
                while (request := _read_request(incoming, number)) is not None:
                    for step in self._script_for(request):
                        step(sock)
            except _NotHTTPError:
                sock.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

    def _script_for(self, request: RecordedRequest) -> Script:
        with self._changed:
            self._requests.append(request)
            answers = self._scripts.get(request.path) or self._scripts.get("*")
            if answers:
                chosen = answers.pop(0) if len(answers) > 1 else answers[0]
            else:
                chosen = answer_status(404, "NotFound", f"no script for {request.path}")
            self._changed.notify_all()
        return chosen(request) if callable(chosen) else chosen


def _read_request(incoming: Any, connection: int) -> RecordedRequest | None:
    first = incoming.readline()
    if not first:
        return None
    try:
        method, target, _ = first.decode().split()
    except ValueError as error:
        raise _NotHTTPError from error
    lines = []
    while (line := incoming.readline().decode().rstrip("\r\n")) != "":
        name, _, value = line.partition(":")
        lines.append((name.lower(), value.strip()))
    headers = dict(lines)
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join(iter(lambda: _read_chunk(incoming), b""))
    else:
        body = incoming.read(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    query = {name: values[-1] for name, values in parse_qs(parts.query, True).items()}
    return RecordedRequest(method, parts.path, query, headers, tuple(lines), body, connection)


def _read_chunk(incoming: Any) -> bytes:
    size = int(incoming.readline(), 16)
    data: bytes = incoming.read(size)
    incoming.readline()
    return data


def _wait_for_end(sock: socket.socket) -> None:
    while sock.recv(4096):
        pass
    raise _HungUpError


def _hang_up(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    raise _HungUpError


def _reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    raise _HungUpError
