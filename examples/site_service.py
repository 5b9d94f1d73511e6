"""An asyncio program: an HTTP service that answers from a cache, and a controller beside it.

``GET /`` returns what is known of each ``Site``, without a request to the API server. The
controller asks each site for its status, up to 200 at the same time, and writes it. One SIGTERM
ends both.

``python -m examples.site_service`` runs on the cluster of your kubeconfig, on port 8080;
``python -m examples.site_service --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress

import msgspec

from clientgo.aio import AsyncClient, run_workers, running, wait_for_cache_sync, wait_for_event
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.informers import SharedInformerFactory
from clientgo.meta import ConflictError, ObjectMeta, ObjectName, deep_copy
from clientgo.tools.scaffold.installing import install_definitions
from clientgo.util.wait import stop_on_signals
from clientgo.workqueue import RateLimitingQueue
from examples.embedded import embedded
from examples.site_checks import (
    DemoServer,
    Site,
    SiteSpec,
    SiteStatus,
    first_line_of,
)

LIMIT = 10.0
"""Seconds that a site has to answer, and a client of the service to ask."""

NO_REQUEST = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, TimeoutError)


async def serve(
    client: Client,
    stop: threading.Event,
    port: int,
    listening: Callable[[int], object],
    period: float = 10.0,
) -> None:
    """Serve and control until ``stop`` is set; ``listening`` is called with the port."""
    queue: RateLimitingQueue[ObjectName] = RateLimitingQueue(name="sites")
    factory = SharedInformerFactory(client)
    sites = factory.lister_for(Site)

    def enqueue(site: Site) -> None:
        queue.add(ObjectName.of(site))

    factory.informer_for(Site).add_event_handler(on_add=enqueue)

    async def check(key: ObjectName) -> None:
        site = sites.namespace(key.namespace).find(key.name)
        if site is None:
            return
        try:
            async with asyncio.timeout(LIMIT):
                answer = await first_line_of(site.spec.url)
        except (OSError, TimeoutError) as error:
            answer = f"no answer: {type(error).__name__}"
        if site.status is None or site.status.answer != answer:
            site = deep_copy(site)
            site.status = SiteStatus(answer=answer)
            await requests.resource(Site).namespace(key.namespace).update_status(site)
        queue.add_after(key, period)

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(*NO_REQUEST):
            async with asyncio.timeout(LIMIT):
                await reader.readuntil(b"\r\n\r\n")
            answers = {
                str(ObjectName.of(site)): site.status.answer if site.status else "not asked yet"
                for site in sites.list()
            }
            head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + msgspec.json.encode(answers))

    async with running(factory, stop), AsyncClient(client) as requests:
        if not await wait_for_cache_sync(stop, factory.informer_for(Site)):
            return
        async with await asyncio.start_server(respond, "127.0.0.1", port) as server:
            listening(server.sockets[0].getsockname()[1])
            await run_workers(stop, queue, check, workers=200, expected=(ConflictError,))


async def demo(client: Client, stop: threading.Event, site: str) -> None:
    name = ObjectMeta(name="shop", namespace="default")
    client.create(Site(metadata=name, spec=SiteSpec(url=site)))
    ports: asyncio.Queue[int] = asyncio.Queue()
    service = asyncio.create_task(serve(client, stop, 0, ports.put_nowait, period=0.5))
    port = await ports.get()
    while "200 OK" not in (found := await ask(port)):
        await asyncio.sleep(0.1)
    print("the service has from its cache what the controller has written:", found)
    os.kill(os.getpid(), signal.SIGTERM)
    await wait_for_event(stop)
    await service
    print("one SIGTERM has ended the service, the controller and the informer")


async def ask(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer.partition("\r\n\r\n")[2]


def say_where(port: int) -> None:
    print(f"listening on port {port}", flush=True)


if __name__ == "__main__":
    with stop_on_signals() as stopped:
        if sys.argv[1:] == ["--demo"]:
            with DemoServer(1) as site, embedded(Site) as embedded_client:
                asyncio.run(demo(embedded_client, stopped, site.url))
        else:
            port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
            with Client() as your_client:
                install_definitions(your_client, definitions_of([Site]))
                asyncio.run(serve(your_client, stopped, port, say_where))
