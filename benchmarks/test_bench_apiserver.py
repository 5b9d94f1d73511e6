"""The embedded API server: creates in memory and on disk, lists, watch fan-out, memory, start.

The server runs as a program of its own, as a demonstration would run it, so that the clients don't
share its interpreter. Targets: ready in under 0.5 s, 1,500 creates a second from six threads,
20,000 Foos listed in under 0.5 s, 1,000 events at 100 watchers each in under 3 s.
"""

from __future__ import annotations

import http.client
import json
import re
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.processes import memory, processor_time
from clientgo.testcluster.server import EmbeddedAPIServer

CLIENTS = 6
CREATES = 6_000
LISTED = 20_000
MANY = 100_000
MANY_EVENTS = 300
EVENTS = 1_000
IDLE = 10.0
"""Seconds without a request."""

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
CRD = json.dumps(
    {
        "metadata": {
            "name": "foos.samplecontroller.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a benchmark"},
        },
        "spec": {
            "group": "samplecontroller.k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "deploymentName": {"type": "string"},
                                        "replicas": {"type": "integer", "minimum": 0},
                                        "note": {"type": "string"},
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
)


class Server:
    """An embedded API server in a process of its own."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]
        command += ["--insecure-loopback", *options]
        self._program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._program.stdout is not None
        found = re.search(r":(\d+)", self._program.stdout.readline())
        assert found is not None
        self.port = int(found[1])

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port)

    @property
    def resident_bytes(self) -> int:
        return memory("VmRSS", self._program.pid)

    @property
    def cpu_seconds(self) -> float:
        return processor_time(self._program.pid)

    def stop(self) -> None:
        self._program.terminate()
        self._program.wait()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    serve_foos(server)
    yield server
    server.stop()


def serve_foos(server: Server) -> None:
    connection = server.connect()
    request(connection, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    while request(connection, "GET", FOOS, accept=range(200, 405)) == 404:
        pass


def request(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: str | None = None,
    accept: range = range(200, 300),
) -> int:
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status in accept, content
    return answer.status


def foo(name: str) -> str:
    """About a kilobyte as it is stored."""
    return (
        '{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"'
        f'{name}","labels":{{"app":"web"}}}},"spec":{{"deploymentName":"{name}","replicas":1,'
        f'"note":"{"x" * 500}"}}}}'
    )


def create_foos(server: Server, count: int, prefix: str) -> None:
    def work(worker: int) -> None:
        connection = server.connect()
        for index in range(count // CLIENTS):
            request(connection, "POST", FOOS, foo(f"{prefix}-{worker}-{index}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_start_to_ready(benchmark: Callable) -> None:
    def start() -> None:
        server = Server()
        request(server.connect(), "GET", "/api/v1/namespaces/default")
        server.stop()

    benchmark.pedantic(start, rounds=5)


def test_start_to_ready_in_process(benchmark: Callable) -> None:
    with EmbeddedAPIServer():
        pass  # whatever is loaded once has been

    def start() -> None:
        with EmbeddedAPIServer() as server:
            connection = http.client.HTTPConnection(server.host, server.port)
            request(connection, "GET", "/api/v1/namespaces/default")
            connection.close()
            ready.append(time.perf_counter() - began)

    ready: list[float] = []
    began = 0.0

    def setup() -> None:
        nonlocal began
        began = time.perf_counter()

    benchmark.pedantic(start, setup=setup, rounds=5)
    benchmark.extra_info["ms to the first answer"] = round(min(ready) * 1000)


def test_idle(benchmark: Callable, server: Server) -> None:
    """A cluster with objects, connections and watches, and nobody who does anything."""
    create_foos(server, 600, "foo")
    streams = [watch(server) for _ in range(10)]
    before = server.cpu_seconds

    benchmark.pedantic(time.sleep, args=(IDLE,), rounds=1)

    used = server.cpu_seconds - before
    benchmark.extra_info["% of a core"] = round(100 * used / IDLE, 2)
    for stream in streams:
        stream.close()


def test_creates_from_six_clients(benchmark: Callable, server: Server) -> None:
    create_foos(server, 600, "warm")
    before = server.resident_bytes

    benchmark.pedantic(create_foos, args=(server, CREATES, "foo"), rounds=1)

    grown = server.resident_bytes - before
    benchmark.extra_info["creates a second"] = round(CREATES / benchmark.stats["min"])
    benchmark.extra_info["bytes of memory an object of 1 KB"] = round(grown / CREATES)


def test_creates_that_are_kept_on_disk(benchmark: Callable, tmp_path: Path) -> None:
    """Beside a server in memory: batches take turns, so that both see the same machine."""
    servers = [Server(), Server("--data-dir", str(tmp_path))]
    for server in servers:
        serve_foos(server)
        create_foos(server, 600, "warm")
    seconds = [0.0, 0.0]

    def create_at_both() -> None:
        for batch in range(10):
            for index, server in enumerate(servers):
                begun = time.perf_counter()
                create_foos(server, 600, f"foo-{batch}")
                seconds[index] += time.perf_counter() - begun

    benchmark.pedantic(create_at_both, rounds=1)

    for server in servers:
        server.stop()
    in_memory, on_disk = (round(CREATES / spent) for spent in seconds)
    benchmark.extra_info["creates a second in memory"] = in_memory
    benchmark.extra_info["on disk"] = on_disk
    benchmark.extra_info["times as fast on disk"] = round(on_disk / in_memory, 2)


def test_start_with_20000_kept_foos(benchmark: Callable, tmp_path: Path) -> None:
    server = Server("--data-dir", str(tmp_path))
    serve_foos(server)
    create_foos(server, LISTED, "foo")
    server.stop()

    def start() -> None:
        Server("--data-dir", str(tmp_path)).stop()

    benchmark.pedantic(start, rounds=3)


def test_list_of_20000_foos(benchmark: Callable, server: Server) -> None:
    create_foos(server, LISTED, "foo")
    connection = server.connect()

    def list_all() -> int:
        connection.request("GET", FOOS)
        return len(connection.getresponse().read())

    size = benchmark.pedantic(list_all, rounds=5)

    benchmark.extra_info["objects a second"] = round(LISTED / benchmark.stats["min"])
    benchmark.extra_info["MB a second"] = round(size / benchmark.stats["min"] / 1e6)


@pytest.mark.parametrize("watchers", [1, 10, 100])
def test_watch_fan_out(benchmark: Callable, server: Server, watchers: int) -> None:
    def fan_out() -> None:
        streams = [watch(server) for _ in range(watchers)]
        writer = threading.Thread(target=write_events, args=(server,))
        writer.start()
        count_lines(streams, EVENTS)
        writer.join()
        for stream in streams:
            stream.close()

    benchmark.pedantic(fan_out, rounds=1)

    delivered = EVENTS * watchers
    benchmark.extra_info["events a second"] = round(delivered / benchmark.stats["min"])


def test_100000_foos_with_100_watchers(benchmark: Callable, server: Server) -> None:
    """The size that a server should still be usable at: about a minute to create."""
    before = server.resident_bytes
    create_foos(server, MANY, "foo")
    grown = server.resident_bytes - before
    connection = server.connect()
    connection.request("GET", f"{FOOS}?limit=1")
    version = json.loads(connection.getresponse().read())["metadata"]["resourceVersion"]
    streams = [watch(server, f"{FOOS}?watch=1&resourceVersion={version}") for _ in range(100)]

    def fan_out() -> None:
        writer = threading.Thread(target=create_foos, args=(server, MANY_EVENTS, "more"))
        writer.start()
        count_lines(streams, MANY_EVENTS)
        writer.join()

    benchmark.pedantic(fan_out, rounds=1)

    begun = time.perf_counter()
    connection.request("GET", FOOS)
    connection.getresponse().read()
    listed = time.perf_counter() - begun
    for stream in streams:
        stream.close()
    delivered = MANY_EVENTS * len(streams)
    benchmark.extra_info["events a second"] = round(delivered / benchmark.stats["min"])
    benchmark.extra_info["seconds to list all"] = round(listed, 2)
    benchmark.extra_info["MB of memory"] = round(grown / 1e6)


def test_a_large_object_and_other_clients(benchmark: Callable, server: Server) -> None:
    """A ConfigMap of 200,000 keys, and how long another client waits meanwhile."""
    data = {f"k{number}": "" for number in range(200_000)}
    body = json.dumps({"metadata": {"name": "large"}, "data": data})
    waits: list[float] = []
    over = threading.Event()

    def ask() -> None:
        connection = server.connect()
        while not over.is_set():
            begun = time.perf_counter()
            request(connection, "GET", "/api/v1/namespaces/default")
            waits.append(time.perf_counter() - begun)

    other = threading.Thread(target=ask)
    other.start()
    benchmark.pedantic(request, args=(server.connect(), "POST", CONFIGMAPS, body), rounds=1)
    over.set()
    other.join()

    benchmark.extra_info["ms that another client waited at most"] = round(max(waits) * 1000)


def watch(server: Server, path: str = f"{CONFIGMAPS}?watch=1") -> socket.socket:
    """An open watch, its headers read."""
    stream = socket.create_connection(("127.0.0.1", server.port))
    stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert stream.recv(1 << 16).startswith(b"HTTP/1.1 200")
    stream.setblocking(False)
    return stream


def write_events(server: Server) -> None:
    connection = server.connect()
    name = f"c{time.monotonic_ns()}"
    for index in range(EVENTS):
        body = f'{{"metadata":{{"name":"{name}-{index}"}},"data":{{"k":"{"x" * 300}"}}}}'
        request(connection, "POST", CONFIGMAPS, body)


def count_lines(streams: list[socket.socket], wanted: int) -> None:
    """Read until each stream has brought so many events."""
    missing = dict.fromkeys(streams, wanted)
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while missing:
            for key, _ in selector.select(timeout=30):
                stream = key.fileobj
                missing[stream] -= stream.recv(1 << 20).count(b'{"type":"ADDED"')
                if missing[stream] <= 0:
                    selector.unregister(stream)
                    del missing[stream]
