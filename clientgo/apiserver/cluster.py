"""The state of one API server: storage, resources, the controllers that tend them.

Promises: everything here lives on the server's event loop. That is the whole concurrency model: a
request handler or controller runs undisturbed until it awaits, so a write needs no lock, and
nothing can come between taking a resource version and telling the watchers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from clientgo.apiserver.admission.webhooks import Webhooks
from clientgo.apiserver.controllers.definitions import CrdController
from clientgo.apiserver.controllers.garbage_collector import GarbageCollector
from clientgo.apiserver.controllers.namespaces import NamespaceController
from clientgo.apiserver.kinds.builtin_resources import builtin_resources
from clientgo.apiserver.objects.ownership import Ownership
from clientgo.apiserver.requests.options import FieldValidation, WriteOptions
from clientgo.apiserver.requests.watching import WatchStream
from clientgo.apiserver.resources.resource import Resource, ResourceRegistry
from clientgo.apiserver.storage.journal import Journal
from clientgo.apiserver.storage.storage import Collection, Storage
from clientgo.meta.timestamps import format_time


class Cluster:
    """One cluster's API, without the HTTP in front of it."""

    own_options = WriteOptions(
        field_manager="clientgo-apiserver", field_validation=FieldValidation.IGNORE
    )
    """Options of writes that the server makes on its own."""

    audience = "https://kubernetes.default.svc"
    """Whom service account tokens are for, unless they say otherwise."""

    def __init__(
        self, now: Callable[[], float] = time.time, journal: Journal | None = None
    ) -> None:
        """Take up what a journal has kept; without one, the cluster lives in memory.

        Raises:
            DataDirectoryError: what was kept is damaged.
        """
        self.log = logging.getLogger("clientgo.apiserver")
        self.storage = Storage(journal)
        self.registry = ResourceRegistry(builtin_resources())
        self.builtin_groups = frozenset(group.name for group in self.registry.groups())
        self.watches: set[WatchStream] = set()
        self.webhooks = Webhooks(self)
        self.ownership = Ownership(now, self.timestamp)
        self._now = now
        self._last_timestamp = (0, "")
        """The second that was formatted last; many writes fall into one."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.namespaces = NamespaceController(self, self._builtin("", "v1", "namespaces"))
        self.crds = CrdController(
            self, self._builtin("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        )
        self.garbage_collector = GarbageCollector(self)

    async def begin(self) -> None:
        """Go on with what is stored, or make what every cluster begins with."""
        restored = self.storage.take_restored()
        restored.sort(key=lambda collection: collection is not self.crds.collection)
        for collection in restored:
            self.storage.announce(collection)
            if collection is self.crds.collection:
                await self.settle()  # what follows may be about custom resources
        await self.namespaces.create_initial()

    def _builtin(self, group: str, version: str, plural: str) -> Resource:
        resource = self.registry.find(group, version, plural)
        if resource is None:
            raise LookupError(f"{plural}.{group} is not built in")
        return resource

    def timestamp(self, later: float = 0) -> str:
        """The time now, or some seconds later, as metadata tells it."""
        second = int(self._now() + later)
        if second != self._last_timestamp[0]:
            self._last_timestamp = (second, format_time(second))
        return self._last_timestamp[1]

    # -- resources

    def stored_resources(self) -> Iterator[Resource]:
        """One resource for each collection that objects are stored in."""
        seen = set()
        for resource in list(self.registry):
            if "create" in resource.verbs and resource.collection_key not in seen:
                seen.add(resource.collection_key)
                yield resource

    def resource_of(self, collection: Collection) -> Resource | None:
        """The resource under which the server itself writes to a collection."""
        key = (collection.group, collection.plural)
        return next((item for item in self.registry if item.collection_key == key), None)

    def why_not_create(self, resource: Resource) -> str:
        """Why nothing of a resource can be created now; empty if it can."""
        if self.crds.is_terminating(resource):
            return "create not allowed while custom resource definition is terminating"
        return ""

    # -- watches

    def end_watches(self) -> None:
        """End every watch cleanly."""
        for stream in list(self.watches):
            stream.end()

    def end_watches_of(self, group: str, plural: str, *, replaced: bool) -> None:
        """End the watches of a resource whose definition was replaced."""
        if replaced:
            for stream in list(self.watches):
                if (stream.resource.group, stream.resource.plural) == (group, plural):
                    stream.end()

    # -- work that follows a write

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run what follows from a change after the request that made it has been answered."""
        task = asyncio.get_running_loop().create_task(self._keep(work))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        await work
        await self.storage.durable()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.error("background work failed", exc_info=error)

    async def settle(self) -> None:
        """Wait until the work that earlier writes have started is done."""
        while self._tasks:
            await asyncio.wait(self._tasks)
