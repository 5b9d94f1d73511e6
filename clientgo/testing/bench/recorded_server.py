"""An API server that plays back what was rendered before: the other end of the benchmarks.

It runs in a process of its own, so that what it does is not measured, and does nothing while it is
measured but send. An event is a line in an HTTP chunk of its own, as an API server sends it. The
first segment of a request's path says what the server has to offer:

    /live   an empty collection, in which changes happen to objects
    /full   objects, in pages or as a streamed list, to which nothing happens any more
    /brief  one object; every watch ends after one event, and its connection with it
    /paced-RATE  an empty collection of Foos, of which RATE change each second, in a group each
                 millisecond; the label ``sent`` has the nanoseconds of the machine's monotonic
                 clock

The objects are of one shape, :data:`~clientgo.testing.bench.objects.SHAPES`.

Clients that ask which resources there are get an answer that has Foos.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import msgspec

from clientgo.testing.bench.objects import SHAPES, Shape
from clientgo.util.process import SupervisedThread

OBJECTS = 10_000
EVENTS = 20_000

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_END = b"0\r\n\r\n"
_GROUP = SHAPES["foo"].api_version
_SENT, _VERSION = 9 * 10**18, 7 * 10**11
"""Numbers of as many digits as the times and versions that replace them."""


@contextmanager
def recorded_server(
    objects: int = OBJECTS, events: int = EVENTS, shape: str = "foo"
) -> Iterator[str]:
    """Return the server's address, while the server runs in a process of its own."""
    program = f"from {__name__} import main; main()"
    command = [sys.executable, "-P", "-c", program, str(objects), str(events), shape]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def event_line(kind: str, obj: object) -> bytes:
    """A watch event."""
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


def event(kind: str, obj: object) -> bytes:
    """A watch event in its chunk."""
    line = event_line(kind, obj)
    return b"%x\r\n%s\r\n" % (len(line), line)


def bookmark(shape: Shape = SHAPES["foo"]) -> bytes:
    """The one that ends a streamed list."""
    header = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
    obj = {"apiVersion": shape.api_version, "kind": shape.kind, "metadata": header}
    return event("BOOKMARK", obj)


def page_body(objs: Sequence[object], token: str = "", shape: Shape = SHAPES["foo"]) -> bytes:
    """A list."""
    return msgspec.json.encode(
        {
            "apiVersion": shape.api_version,
            "kind": f"{shape.kind}List",
            "metadata": {"resourceVersion": "1", "continue": token},
            "items": objs,
        }
    )


def page(objs: Sequence[object], token: str = "", shape: Shape = SHAPES["foo"]) -> bytes:
    """A whole answer with a list."""
    return _plain(page_body(objs, token, shape))


def chunked(*bodies: bytes) -> bytes:
    """A whole answer in chunks; without its end if nothing closes it."""
    return b"".join((_HEAD, b"Transfer-Encoding: chunked\r\n\r\n", *bodies))


class Recordings:
    """Every answer, rendered."""

    def __init__(self, objects: int, events: int, shape: Shape) -> None:
        self._objects = objects
        self._shape = shape
        self.initial = [shape.make(number, number + 1) for number in range(objects)]
        added = b"".join(event("ADDED", obj) for obj in self.initial)
        modified = b"".join(
            event("MODIFIED", shape.make(number % objects, number + 1))
            for number in range(objects, events)
        )
        self.changes = chunked(bookmark(shape), added, modified)
        self.streamed_list = chunked(added, bookmark(shape))
        self.silence = chunked()
        self.pages: dict[tuple[int, int], bytes] = {}

    def answer(self, offer: str, query: dict[str, str]) -> tuple[bytes, bool]:
        """What is sent, and whether the connection stays open after it."""
        if "watch" not in query:
            return self._page(
                offer, int(query.get("limit", 0)), int(query.get("continue", 0))
            ), True
        if offer == "brief":
            head = _HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            return head + event("MODIFIED", self._shape.make(0, 2)) + _END, False
        if offer == "live":
            return self.changes, True
        return self.streamed_list if "sendInitialEvents" in query else self.silence, True

    def _page(self, offer: str, limit: int, start: int) -> bytes:
        if offer != "full":
            return page(self.initial[:1] if offer == "brief" else [], shape=self._shape)
        if (start, limit) not in self.pages:
            end = start + limit if limit else self._objects
            self.pages[start, limit] = page(
                self.initial[start:end], str(end) if end < self._objects else "", self._shape
            )
        return self.pages[start, limit]


_FOOS = {"name": "foos", "singularName": "foo", "namespaced": True, "kind": "Foo"}
_AGGREGATED = {"resource": "foos", "responseKind": {"kind": "Foo"}, "scope": "Namespaced"}
_DISCOVERY = {
    "": {"kind": "APIVersions", "versions": ["v1"]},
    "/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "s": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": _GROUP.partition("/")[0],
                "versions": [{"groupVersion": _GROUP, "version": "v1alpha1"}],
                "preferredVersion": {"groupVersion": _GROUP, "version": "v1alpha1"},
            }
        ],
        # Aggregated discovery, which some clients take without a look at the answer's type.
        "items": [
            {
                "metadata": {"name": _GROUP.partition("/")[0]},
                "versions": [{"version": "v1alpha1", "resources": [_AGGREGATED]}],
            }
        ],
    },
    f"s/{_GROUP}": {
        "kind": "APIResourceList",
        "groupVersion": _GROUP,
        "resources": [{**_FOOS, "verbs": ["get", "list", "watch", "create", "patch", "delete"]}],
    },
}
"""What discovery answers, by what follows ``/api`` in the path."""


def _discovery(path: str) -> object:
    """Return the answer to a question about what there is; None if it is none."""
    path = path.rstrip("/")
    if path.endswith("/version"):
        return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
    _, separator, rest = path.partition("/api")
    return _DISCOVERY.get(rest) if separator else None


def _plain(body: bytes) -> bytes:
    return _HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _send_paced(connection: socket.socket, rate: int) -> None:
    """Send events at a steady rate, those of a millisecond together, until the client goes."""
    parts = [_timed_event(number) for number in range(1000)]
    began, sent = time.monotonic(), 0
    try:
        connection.sendall(chunked(bookmark()))
        while True:
            due = max(int((time.monotonic() - began) * rate), sent + 1)
            # In parts, so that the time in an event is that of its sending.
            for start in range(sent, due, 200):
                now = (b"%d" % time.monotonic_ns()).zfill(19)
                group = []
                for number in range(start, min(start + 200, due)):
                    head, middle, tail = parts[number % len(parts)]
                    group.append(b"%b%d%b%b%b" % (head, _VERSION + number, middle, now, tail))
                connection.sendall(b"".join(group))
            sent = due
            time.sleep(max(began + (sent + 1) / rate - time.monotonic(), 0.001))
    except OSError:
        return


def _timed_event(number: int) -> list[bytes]:
    """Return an event in three parts: before the version, before the time, after it."""
    obj = SHAPES["foo"].make(number, _VERSION)
    obj["metadata"]["labels"]["sent"] = str(_SENT)
    return re.split(b"%d|%d" % (_VERSION, _SENT), event("MODIFIED", obj))


def _serve(connection: socket.socket, recordings: Recordings) -> None:
    # A client that ends may leave its connections as they are.
    with suppress(ConnectionError), connection, connection.makefile("rb") as requests:
        while request_line := requests.readline():
            while requests.readline() not in (b"\r\n", b""):
                pass
            target = urlsplit(request_line.split()[1].decode())
            if (known := _discovery(target.path)) is not None:
                connection.sendall(_plain(msgspec.json.encode(known)))
                continue
            query = {name: values[0] for name, values in parse_qs(target.query).items()}
            offer = target.path.split("/")[1]
            if offer.startswith("paced-") and "watch" in query:
                _send_paced(connection, int(offer.removeprefix("paced-")))
                return
            answer, stays_open = recordings.answer(offer, query)
            try:
                connection.sendall(answer)
            except OSError:
                return
            if not stays_open:
                return


def main() -> None:
    """Serve until the process is ended; the arguments are objects, events and their shape."""
    recordings = Recordings(int(sys.argv[1]), int(sys.argv[2]), SHAPES[sys.argv[3]])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        SupervisedThread(
            _serve, args=(connection, recordings), name="recorded", then="its client gets no more"
        ).start()
