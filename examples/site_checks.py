"""Coroutines: 200 web sites are checked at the same time, without 200 threads.

The operator asks each ``Site`` for its status, and asks again a few seconds later. A check waits
for the network nearly all of its time, so the reconciler is ``async def``.

``python -m examples.site_checks`` runs on the cluster of your kubeconfig;
``python -m examples.site_checks --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Self
from urllib.parse import urlsplit

from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.status import ObservedGeneration
from examples.embedded import embedded, manager_of, run_on_your_cluster, see

SITES = 200


class SiteSpec(Model):
    """What is checked: ``http://host:port/path``."""

    url: str = ""


class SiteStatus(ObservedGeneration):
    """What it answers."""

    answer: str = ""


@resource(group="example.com", version="v1", plural="sites")
class Site(Resource):
    """A web site."""

    spec: SiteSpec = SiteSpec()
    status: SiteStatus | None = None


Check = Callable[[str], Awaitable[str]]


async def first_line_of(url: str) -> str:
    """Ask a web server; return the first line of its answer, as ``HTTP/1.1 200 OK``."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        writer.write(f"HEAD {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        return (await reader.readline()).decode().strip()
    finally:
        writer.close()


@controller(Site, workers=SITES, reconcile_timeout=60.0)
class SiteReconciler:
    """Writes what a site answers into its status, again and again."""

    def __init__(self, check: Check = first_line_of, period: float = 10.0) -> None:
        self._check = check
        self._period = period

    async def reconcile(self, ctx: Context[Site], site: Site) -> Result:
        try:
            async with asyncio.timeout(30):
                answer = await self._check(site.spec.url)
        except (OSError, TimeoutError) as error:
            answer = f"no answer: {type(error).__name__}"
        site.status = SiteStatus(answer=answer)
        return Result.status(site).after(self._period)


def new_manager(client: Client, period: float = 10.0) -> Manager:
    manager = manager_of(client, "sites")
    manager.register(SiteReconciler(period=period))
    return manager


class DemoServer:
    """Answers when all of so many clients wait for it, and then whenever it is asked."""

    def __init__(self, clients: int) -> None:
        self.status = "200 OK"
        self._clients = clients
        self._waiting = 0
        self._all = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        serving = asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=self._clients)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        self._all.set()
        while answers := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(answers)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()  # the check was cancelled
            return
        self._waiting += 1
        if self._waiting >= self._clients:
            self._all.set()
        await self._all.wait()
        writer.write(f"HTTP/1.1 {self.status}\r\nConnection: close\r\n\r\n".encode())
        writer.close()


def demo() -> None:
    from clientgo.testing.observer import Observer

    with DemoServer(SITES) as server, embedded(Site) as client, Observer(client, Site) as seen:
        sites = client.resource(Site).namespace("default")
        for number in range(SITES):
            name = ObjectMeta(name=f"site-{number}")
            sites.create(Site(metadata=name, spec=SiteSpec(url=f"{server.url}/{number}")))

        def all_say(text: str) -> bool:
            found = seen.lister(Site).list()
            return all(site.status and text in site.status.answer for site in found)

        before = threading.active_count()
        with new_manager(client, period=0.5):
            see(
                seen, f"{SITES} sites answer, each while all others wait", lambda: all_say("200 OK")
            )
            few = threading.active_count() - before < 60
            print("and that took less than 60 threads" if few else "?!")
            server.status = "503 Service Unavailable"
            see(seen, "they fail, and their statuses say so", lambda: all_say("503"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--demo"]:
        demo()
    else:
        run_on_your_cluster(new_manager, Site)
