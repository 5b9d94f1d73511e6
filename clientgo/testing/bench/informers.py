"""An informer and bare loops that read the same bytes from a recorded server.

A clock runs from before anything is connected until the last object is decoded (the loops) or the
handler was called for it (the informer). Stopping and forgetting is left out. The loops read with
urllib3 and decode with msgspec, and do nothing else: no cache, no index, no handler.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import msgspec
import urllib3

from clientgo.cache import SharedIndexInformer, meta_namespace_index
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import Model, Resource, Unstructured, resource, resource_of
from clientgo.testing.bench.measure import Stopwatch
from clientgo.testing.bench.objects import FOOS

_TO_DICTS: Final = msgspec.json.Decoder().decode
_BOOKMARK: Final = b'{"type":"BOOKMARK"'


class FooSpec(Model):
    """What a Foo wants."""

    deployment_name: str = ""
    replicas: int = 1
    note: str = ""


class FooStatus(Model):
    """What there is."""

    available_replicas: int = 0


@resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
class Foo(Resource):
    """The kind that the recorded server has."""

    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()


def sync_informer(
    url: str,
    count: int,
    *,
    kind: Any = Foo,
    typed: bool = True,
    read: Callable[[Any], object] = lambda _obj: None,
    **options: Any,
) -> Stopwatch:
    """Run an informer with two indexes and a handler until that was called ``count`` times.

    ``url`` may be the path of a kubeconfig. ``read`` is called with each object, as a handler that
    looks at it.
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

    with Client(url) as client:
        objects: Any = client.resource(kind if typed else resource_of(kind))
        informer: SharedIndexInformer[Any] = SharedIndexInformer(
            ResourceListWatch(objects),
            kind if typed else Unstructured,
            indexers={"namespace": meta_namespace_index, "app": _by_app},
            **options,
        )
        informer.add_event_handler(on_add=handle, on_update=handle)
        informer.run(stop)
    return watch


def _by_app(obj: Any) -> list[str]:
    return [obj.metadata.labels["app"]]


def read_watch(
    url: str,
    count: int,
    *,
    path: str = FOOS,
    decode: Callable[[bytes], Any] = _TO_DICTS,
) -> Stopwatch:
    """Read and decode ``count`` events in a bare loop; ``decode`` returns a dict by default."""
    watch = Stopwatch()
    with urllib3.PoolManager() as pool:
        target = f"{url}{path}?watch=true&sendInitialEvents=true"
        answer = pool.request("GET", target, preload_content=False)
        rest = b""
        for chunk in answer.read_chunked():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if not line.startswith(_BOOKMARK):
                    decode(line)
                    count -= 1
            if count <= 0:
                break
        watch.stop()
        answer.close()
    return watch


def read_list(
    url: str,
    *,
    path: str = FOOS,
    token_of: Callable[[bytes], str] = lambda body: _next_page(_TO_DICTS(body)),
) -> Stopwatch:
    """Read and decode all pages of a list in a bare loop.

    ``token_of`` decodes a page, by default to dicts, and returns where the next one begins.
    """
    token = "0"
    watch = Stopwatch()
    with urllib3.PoolManager() as pool:
        while token:
            answer = pool.request("GET", f"{url}{path}?limit=500&continue={token}")
            token = token_of(answer.data)
        watch.stop()
    return watch


def _next_page(page: Any) -> str:
    return str(page["metadata"]["continue"])
