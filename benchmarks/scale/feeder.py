"""An API server that makes up Foos while it sends them, so that it can send a million.

It runs in a process of its own. The request's path says how many Foos there are and how long their
notes are: ``/COUNT-NOTE/apis/...``. A line on its standard input makes things happen:

    events COUNT         COUNT changes on the open watch, as fast as the client reads
    paced COUNT RATE     the same, RATE of them a second
    expire               the watch ends with 410 Gone, so that the client lists again
"""

from __future__ import annotations

import itertools
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO
from urllib.parse import parse_qs, urlsplit

from clientgo.testing.bench.objects import foo
from clientgo.testing.bench.recorded_server import bookmark, chunked, event, page

SEND = 64
"""Events in one write, where the rate does not matter."""

GONE = {
    "apiVersion": "v1",
    "kind": "Status",
    "status": "Failure",
    "reason": "Expired",
    "code": 410,
    "metadata": {},
}


@dataclass
class Feeder:
    """The server, from outside."""

    url: str
    _orders: IO[str]

    def order(self, *words: object) -> None:
        """Let something happen on the watch."""
        self._orders.write(" ".join(map(str, words)) + "\n")
        self._orders.flush()


@contextmanager
def feeder(count: int, note: int) -> Iterator[Feeder]:
    """Serve Foos from another process until the block ends."""
    program = f"from {__name__} import main; main()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Feeder(f"{process.stdout.readline().strip()}/{count}-{note}", process.stdin)
        finally:
            process.terminate()


def _changes(count: int, note: int) -> Iterator[bytes]:
    """Return changes of one Foo after the other, in steps, so that none follows its neighbour."""
    version = count + 1
    for number in itertools.count():
        # 7919 is prime: every Foo has its turn unless the count is a multiple of it.
        yield event("MODIFIED", foo(number * 7919 % count, version + number, note))


def _send(connection: socket.socket, orders: queue.SimpleQueue[str], count: int, note: int) -> None:
    """Carry out what is ordered, until the watch ends."""
    changes = _changes(count, note)
    while True:
        what, *numbers = orders.get().split()
        if what == "expire":
            connection.sendall(event("ERROR", GONE) + b"0\r\n\r\n")
            return
        if what == "events":
            left = int(numbers[0])
            while left:
                part = min(left, SEND)
                connection.sendall(b"".join(itertools.islice(changes, part)))
                left -= part
            continue
        began, rate = time.monotonic(), float(numbers[1])
        for sent in range(int(numbers[0])):
            time.sleep(max(began + sent / rate - time.monotonic(), 0.0))
            connection.sendall(next(changes))


def _serve(connection: socket.socket, orders: queue.SimpleQueue[str]) -> None:
    # A client that ends may leave its connections as they are.
    with suppress(ConnectionError), connection, connection.makefile("rb") as requests:
        while request_line := requests.readline():
            while requests.readline() not in (b"\r\n", b""):
                pass
            target = urlsplit(request_line.split()[1].decode())
            query = {name: values[0] for name, values in parse_qs(target.query).items()}
            count, note = map(int, target.path.split("/")[1].split("-"))
            if "watch" not in query:
                start = int(query.get("continue", 0))
                end = min(start + int(query.get("limit", count)), count)
                foos = [foo(number, number + 1, note) for number in range(start, end)]
                connection.sendall(page(foos, str(end) if end < count else ""))
                continue
            connection.sendall(chunked())
            if "sendInitialEvents" in query:
                for start in range(0, count, SEND):
                    numbers = range(start, min(start + SEND, count))
                    added = (event("ADDED", foo(number, number + 1, note)) for number in numbers)
                    connection.sendall(b"".join(added))
                connection.sendall(bookmark())
            _send(connection, orders, count, note)


def main() -> None:
    """Serve until the process is ended. One watch is open at a time."""
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve, args=(connection, orders), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    for line in sys.stdin:
        orders.put(line)
