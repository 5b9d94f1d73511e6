"""Watchers that do not read, while a hundred thousand events happen."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

EVENTS, BURST = 100_000, 1000
SIZE = 1000
"""Bytes of an event, about."""

DEAF = 10
KEPT = 20_000
"""Events that the log holds; a watcher that is further behind is dropped."""

MARK = b'{"type":"MODIFIED"'


def watch(server: EmbeddedAPIServer, version: str, receive_buffer: int) -> socket.socket:
    """A watch whose answer has begun."""
    address = urlsplit(server.url)
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    stream.settimeout(20)
    stream.connect((address.hostname, address.port))
    target = f"{CONFIGMAPS}?watch=1&resourceVersion={version}"
    stream.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert stream.recv(15) == b"HTTP/1.1 200 OK"
    return stream


class CountingReader:
    """Reads a watch as fast as a thread can."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._read = 0
        self._progress = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="counting-reader", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        tail = b""
        with contextlib.suppress(OSError):
            while chunk := self._stream.recv(1 << 20):
                with self._progress:
                    self._read += (tail + chunk).count(MARK)
                    self._progress.notify()
                tail = chunk[-len(MARK) + 1 :]

    def wait_for(self, events: int) -> bool:
        with self._progress:
            return self._progress.wait_for(lambda: self._read >= events, timeout=60)

    def close(self) -> None:
        self._stream.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._stream.close()


def write_burst(server: EmbeddedAPIServer) -> None:
    """Change one object many times; requests would take a minute for as many events."""
    storage = server._cluster.state.storage
    collection = storage.collection(("", "configmaps"))
    stored = collection.get("default/busy")
    assert stored is not None
    obj = stored.decode() | {"data": {"k": "x" * (SIZE - 400)}}
    for _ in range(BURST):
        storage.put(collection, stored.key, obj, stored.fields)


def resident_bytes() -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def test_clients_that_do_not_read_cost_little_memory_and_block_no_client(
    server: EmbeddedAPIServer, api: Api
) -> None:
    version = api.create(CONFIGMAPS, configmap("busy"))["metadata"]["resourceVersion"]
    reader = CountingReader(watch(server, version, receive_buffer=1 << 20))
    deaf = [watch(server, version, receive_buffer=4096) for _ in range(DEAF)]
    before = resident_bytes()

    for written in range(0, EVENTS, BURST):
        server._call(lambda: write_burst(server))
        assert reader.wait_for(written - KEPT // 4)
    assert reader.wait_for(EVENTS)
    grown = resident_bytes() - before

    # Ten clients have not read a hundred megabytes each. What is kept is one log for all.
    assert grown < 4 * KEPT * SIZE
    watchers = server._cluster.state.storage.collection(("", "configmaps")).watchers
    assert len(watchers) == 1
    [event] = api.watch(CONFIGMAPS, resourceVersion=version)
    assert event["object"]["reason"] == "Expired"
    now = api.get(CONFIGMAPS)["metadata"]["resourceVersion"]
    resumed = api.watch(CONFIGMAPS, resourceVersion=now)
    api.create(CONFIGMAPS, configmap("next"))
    assert resumed.next()["object"]["metadata"]["name"] == "next"
    reader.close()
    resumed.close()
    for client in deaf:
        client.close()
