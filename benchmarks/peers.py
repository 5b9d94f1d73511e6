"""Watch Foos with one client until so many events were handled: ``peers NAME URL COUNT``.

For clientgo the URL may be the path of a kubeconfig, as for the program in ``benchmarks/go``.
Runs in a process of its own and prints seconds (from before anything is connected, when all modules
are loaded), seconds of processor time and the most memory, as JSON. What each client does is said
beside it.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

from benchmarks.processes import memory

GROUP, VERSION, PLURAL = "samplecontroller.k8s.io", "v1alpha1", "foos"


Run = Callable[[], object]


def clientgo(url: str, count: int) -> Run:
    """Return an informer with two indexes and a handler."""
    from clientgo.testing.bench import sync_informer

    return lambda: sync_informer(url, count)


def kubernetes(url: str, count: int) -> Run:
    """Return the official client's informer: a cache, handlers, no index."""
    from kubernetes import client
    from kubernetes.informer import SharedInformer

    configuration = client.Configuration()
    configuration.host = url
    api = client.CustomObjectsApi(client.ApiClient(configuration))

    def list_foos(**options: Any) -> Any:
        answer = api.list_cluster_custom_object(GROUP, VERSION, PLURAL, **options)
        if options.get("watch"):
            return answer
        # The informer reads attributes, and a list of custom objects is a dict.
        version = SimpleNamespace(resource_version=answer["metadata"]["resourceVersion"])
        return SimpleNamespace(items=answer["items"], metadata=version)

    list_foos.__doc__ = api.list_cluster_custom_object.__doc__
    done, handle = _countdown(count)
    informer = SharedInformer(list_func=list_foos)
    for event in ("ADDED", "MODIFIED"):
        informer.add_event_handler(event, handle)

    def run() -> None:
        informer.start()
        done.wait()

    return run


def lightkube(url: str, count: int) -> Run:
    """Return a watch in a loop: there is no cache."""
    import lightkube as library
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.generic_resource import create_namespaced_resource

    foo = create_namespaced_resource(GROUP, VERSION, "Foo", PLURAL)
    config = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    client = library.Client(config=KubeConfig.from_dict(config))

    def run() -> None:
        left = count
        for _ in client.watch(foo, namespace="*"):
            left -= 1
            if not left:
                return

    return run


def kr8s(url: str, count: int) -> Run:
    """Return a watch in a loop: there is no cache."""
    import kr8s as library
    from kr8s.asyncio.objects import new_class

    async def follow(left: int) -> None:
        api = await library.asyncio.api(url=url)
        foo = new_class("Foo", f"{GROUP}/{VERSION}", namespaced=True, plural=PLURAL)
        async for _ in api.async_watch(foo, namespace=library.ALL):
            left -= 1
            if not left:
                return

    return lambda: asyncio.run(follow(count))


def cloudcoil(url: str, count: int) -> Run:
    """Return an informer with a cache, two indexes and handlers, on an event loop."""
    from cloudcoil import client as library
    from cloudcoil.caching import Cache
    from cloudcoil.resources import Resource

    class Foo(Resource):
        api_version: str = f"{GROUP}/{VERSION}"
        kind: str = "Foo"
        spec: dict[str, Any] = {}
        status: dict[str, Any] = {}

    async def follow() -> None:
        done, handle = _countdown(count)
        ended = asyncio.Event()

        def handle_one(*objects: Any) -> None:
            handle()
            if done.is_set():
                ended.set()

        config = library.Config(server=url).with_cache(Cache(enabled=True))
        async with config:
            informer: Any = config.cache.get_informer(Foo)
            informer.on_add(handle_one)
            informer.on_update(handle_one)
            await ended.wait()

    return lambda: asyncio.run(follow())


def kubernetes_aio(url: str, count: int) -> Run:
    """Return a watch in a loop, with dicts: there is no cache."""
    from kubernetes.aio import client, watch

    return lambda: asyncio.run(_take(events_as_dicts(client, watch, url), count))


def kubex(url: str, count: int) -> Run:
    """Return a watch in a loop, with models: there is no cache."""
    return lambda: asyncio.run(_take(kubex_events(url), count))


def new_pykube(url: str, count: int) -> Run:
    """Return a watch in a loop, with dicts: there is no cache."""
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_url(url))
    foos = pykube.object_factory(api, f"{GROUP}/{VERSION}", "Foo")

    def run() -> None:
        left = count
        for event in foos.objects(api, namespace=pykube.all).watch():
            left -= event.type != "BOOKMARK"
            if not left:
                return

    return run


async def events_as_dicts(client: Any, watch: Any, url: str) -> AsyncGenerator[Any]:
    """Watch with kubernetes_asyncio, or with what the official client made of it."""
    configuration = client.Configuration()
    configuration.host = url
    async with client.ApiClient(configuration) as api:
        foos = client.CustomObjectsApi(api).list_cluster_custom_object
        async with watch.Watch().stream(foos, GROUP, VERSION, PLURAL) as stream:
            async for event in stream:
                if event["type"] != "BOOKMARK":
                    yield event["object"]


async def kubex_events(url: str) -> AsyncGenerator[Any]:
    """Watch with kubex."""
    from kubex.api import Api
    from kubex.client import create_client
    from kubex.configuration import ClientConfiguration
    from kubex_core.models.interfaces import NamespaceScopedEntity
    from kubex_core.models.resource_config import ResourceConfig, Scope

    class Foo(NamespaceScopedEntity):
        __RESOURCE_CONFIG__ = ResourceConfig["Foo"](
            version=VERSION, kind="Foo", group=GROUP, plural=PLURAL, scope=Scope.NAMESPACE
        )
        spec: dict[str, Any] | None = None
        status: dict[str, Any] | None = None

    async with await create_client(ClientConfiguration(url=url)) as client:
        async for event in Api(Foo, client, namespace=None).watch():
            if event.type != "BOOKMARK":
                yield event.object


async def _take(events: AsyncGenerator[Any], left: int) -> None:
    async with aclosing(events) as all_of_them:
        async for _ in all_of_them:
            left -= 1
            if not left:
                return


PEERS: dict[str, Callable[[str, int], Run]] = {
    "clientgo": clientgo,
    "kubernetes": kubernetes,
    "kubernetes.aio": kubernetes_aio,
    "lightkube": lightkube,
    "kr8s": kr8s,
    "kubex": kubex,
    "new-pykube": new_pykube,
    "cloudcoil": cloudcoil,
}


def _countdown(count: int) -> tuple[threading.Event, Callable[..., None]]:
    done, left = threading.Event(), count

    def handle(*_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    return done, handle


def main(name: str, url: str, count: str) -> None:
    """Run one client."""
    run = PEERS[name](url, int(count))
    started = time.perf_counter(), time.process_time()
    run()
    seconds, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    found = {"seconds": seconds, "cpu": cpu, "megabytes": _most_memory()}
    print(json.dumps(found), flush=True)


def _most_memory() -> float:
    """Return the most megabytes that this process had; getrusage counts those of its parent too."""
    own = memory("VmHWM") / 2**20
    return own or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(*sys.argv[1:4])
