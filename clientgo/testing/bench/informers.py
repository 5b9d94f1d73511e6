"""An informer and bare loops that read the same bytes from a recorded server.

A clock runs from before anything is connected until the last object is decoded (the loops) or the
handler was called for it (the informer). Stopping and forgetting is left out. The loops read with
urllib3 and decode with msgspec, and do nothing else: no cache, no index, no handler.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import urllib3

from clientgo.cache import SharedIndexInformer, meta_namespace_index
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import Model, Resource, Unstructured, resource
from clientgo.rest import RestConfig

LIST = "/apis/samplecontroller.k8s.io/v1alpha1/foos"
WATCH = f"{LIST}?watch=true&sendInitialEvents=true"


class FooSpec(Model):
    """What a Foo wants."""

    deployment_name: str = ""
    replicas: int = 1
    note: str = ""


@resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
class Foo(Resource):
    """The kind that the recorded server has."""

    spec: FooSpec = FooSpec()


class Stopwatch:
    """Seconds, and seconds of processor time, from when it is made until it is stopped."""

    def __init__(self) -> None:
        gc.collect()
        self._started = time.perf_counter(), time.process_time()
        self.wall = self.cpu = 0.0

    def stop(self) -> None:
        """Note both."""
        self.wall = time.perf_counter() - self._started[0]
        self.cpu = time.process_time() - self._started[1]


def sync_informer(
    url: str,
    count: int,
    *,
    typed: bool = True,
    read: Callable[[Any], object] = lambda _obj: None,
    **options: Any,
) -> Stopwatch:
    """Run an informer with two indexes and a handler until that was called ``count`` times.

    ``read`` is called with each object, as a handler that looks at it.
    """
    stop, called = threading.Event(), 0
    watch = Stopwatch()

    def handle(*objects: Any) -> None:
        nonlocal called
        read(objects[-1])
        called += 1
        if called == count:
            watch.stop()
            stop.set()

    with Client(RestConfig(server=url)) as client:
        kind: Any = Foo
        objects: Any = client.resource(Foo)
        if not typed:
            kind, objects = Unstructured, client.resource(client_kind())
        informer: SharedIndexInformer[Any] = SharedIndexInformer(
            ResourceListWatch(objects),
            kind,
            indexers={"namespace": meta_namespace_index, "app": _by_app},
            **options,
        )
        informer.add_event_handler(on_add=handle, on_update=handle)
        informer.run(stop)
    return watch


def client_kind() -> Any:
    """Return the kind of the recorded server without its type."""
    from clientgo.meta import resource_of

    return resource_of(Foo)


def _by_app(obj: Any) -> list[str]:
    return [obj.metadata.labels["app"]]


def read_watch(url: str, count: int, decode: Callable[[bytes], Any] | None = None) -> Stopwatch:
    """Read and decode ``count`` events in a bare loop."""
    decode = decode or msgspec.json.Decoder().decode
    watch = Stopwatch()
    with urllib3.PoolManager() as pool:
        answer = pool.request("GET", url + WATCH, preload_content=False)
        rest = b""
        for chunk in answer.read_chunked():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if decode(line)["type"] != "BOOKMARK":
                    count -= 1
            if count <= 0:
                break
        watch.stop()
        answer.close()
    return watch


def read_list(url: str) -> Stopwatch:
    """Read and decode all pages of a list in a bare loop."""
    token = "0"
    watch = Stopwatch()
    with urllib3.PoolManager() as pool:
        while token:
            answer = pool.request("GET", f"{url}{LIST}?limit=500&continue={token}")
            token = msgspec.json.decode(answer.data)["metadata"]["continue"]
        watch.stop()
    return watch
