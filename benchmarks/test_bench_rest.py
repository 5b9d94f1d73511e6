"""Reading a watch: bulk cutting beside urllib3's own streams, over the same bytes.

A server thread sends EVENTS events of about a kilobyte, each a line in an HTTP chunk of its own as
an API server does. What differs between the rows is who takes the stream apart and into what the
lines are decoded. The peer is what a careful user of urllib3 writes by hand.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest
import urllib3

from clientgo.meta import Codec, Unstructured
from clientgo.rest import RestClient, RestConfig

EVENTS = 20_000
CODEC = Codec(Unstructured)


def event(number: int) -> bytes:
    foo = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {
            "name": f"foo-{number}",
            "namespace": "default",
            "uid": f"3f0e0c3a-3f3e-4a7e-9a6f-{number:012d}",
            "resourceVersion": str(100_000 + number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "foo", "tier": "backend"},
        },
        "spec": {"deploymentName": f"foo-{number}", "replicas": 3, "note": "x" * 500},
        "status": {"availableReplicas": 3},
    }
    return msgspec.json.encode({"type": "ADDED", "object": foo}) + b"\n"


@pytest.fixture(scope="module", name="url")
def _url() -> Iterator[str]:
    lines = [event(number) for number in range(EVENTS)]
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer += b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in lines) + b"0\r\n\r\n"
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def with_clientgo(url: str) -> int:
    stream = RestClient(RestConfig(server=url)).get().absolute_path("/").watch(CODEC)
    count = 0
    while events := stream.read():
        count += len(events)
    return count


def with_urllib3(url: str, decode: Callable[[bytes], object]) -> int:
    response = urllib3.PoolManager().request("GET", url, preload_content=False)
    count, rest = 0, b""
    for data in response.stream(64 * 1024):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            decode(line)
            count += 1
    return count


READERS: dict[str, Callable[[str], int]] = {
    "clientgo": with_clientgo,
    "urllib3 and our decoder": lambda url: with_urllib3(url, CODEC.decode_event),
    "urllib3 and msgspec to dict": lambda url: with_urllib3(url, msgspec.json.decode),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.benchmark(group=f"watch stream, {EVENTS} events")
def test_watch_stream(benchmark, url, reader):
    count = benchmark.pedantic(READERS[reader], args=(url,), rounds=5, warmup_rounds=1)

    assert count == EVENTS
    benchmark.extra_info["microseconds an event"] = round(benchmark.stats["min"] / EVENTS * 1e6, 2)
