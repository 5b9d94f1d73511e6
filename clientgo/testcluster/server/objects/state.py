"""What the parts of one API server share: storage, resources, users, watches, the clock.

Promises: everything here is used on the server's event loop only. A request handler or controller
runs without interruption until it awaits, so a write needs no lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from clientgo.meta.timestamps import format_time
from clientgo.testcluster.server.auth.authentication.authenticator import Authenticator
from clientgo.testcluster.server.auth.authorization.authorizer import Authorizer
from clientgo.testcluster.server.containers.programs import PodPrograms
from clientgo.testcluster.server.containers.written_logs import WrittenLogs
from clientgo.testcluster.server.objects.large_work import LargeWork
from clientgo.testcluster.server.objects.ownership import Ownership
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object, Storage

OLDEST: Final = 36
NEWEST: Final = 37
"""The minor versions of Kubernetes that a server can be."""

PodLogs: TypeAlias = Callable[[Object, str], str]
"""Returns what a container of a pod has written. It is called on the event loop."""


class ServedWatch(Protocol):
    """A watch that is being served."""

    @property
    def resource(self) -> Resource:
        """The resource that is watched."""

    def end(self) -> None:
        """End the stream cleanly, after what is already in the log."""


class OpenWatches:
    """The watches that are being served."""

    def __init__(self) -> None:
        self._open: set[ServedWatch] = set()

    def add(self, watch: ServedWatch) -> None:
        """Add a watch that begins."""
        self._open.add(watch)

    def discard(self, watch: ServedWatch) -> None:
        """Remove a watch that has ended."""
        self._open.discard(watch)

    def end_all(self) -> None:
        """End every watch."""
        for watch in list(self._open):
            watch.end()

    def end_of(self, group: str, plural: str) -> None:
        """End the watches of a resource."""
        for watch in list(self._open):
            if (watch.resource.group, watch.resource.plural) == (group, plural):
                watch.end()


class State:
    """The state of one API server."""

    def __init__(
        self,
        storage: Storage,
        registry: ResourceRegistry,
        now: Callable[[], float],
        authenticator: Authenticator,
        authorizer: Authorizer,
    ) -> None:
        self.storage = storage
        self.registry = registry
        self.authenticator = authenticator
        self.authorizer = authorizer
        self.ownership = Ownership(now, self.timestamp)
        self.large_work = LargeWork()
        self.watches = OpenWatches()
        self.pod_logs: PodLogs | None = None
        self.pod_programs = PodPrograms()
        self.written_logs = WrittenLogs()
        self.minor_version = OLDEST
        self.now = now

    def timestamp(self, later: float = 0) -> str:
        """Return the time now, or some seconds later, as metadata has it."""
        return format_time(self.now() + later)
